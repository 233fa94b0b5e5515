package web

import (
	"fmt"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// decider is who is signed in, as the rules see a person.
func decider(c echo.Context) dispatch.Person {
	who := personOf(c)
	return dispatch.Person{ID: who.ID, Email: who.Email, Role: string(who.Role)}
}

// notificationID is the notification that an address names. The error is dispatch.ErrNotFound.
func notificationID(c echo.Context) (dispatch.NotificationID, error) {
	return dispatch.ParseNotificationID(c.Param("id"))
}

// decisionPart puts into the page of a notification what the person who is signed in can do about it: claim, ask, decide, answer a proposal,
// close an incident, withdraw, reveal. Whoever may not act sees what there is, without the forms.
func (s *Server) decisionPart(c echo.Context, id dispatch.NotificationID, m *views.Notification) error {
	v, err := s.deps.Staff.DecisionView(c.Request().Context(), id)
	if err != nil {
		return fmt.Errorf("decision part: %w", err)
	}
	d := deciding{view: v, who: decider(c), name: personOf(c).Name, now: v.Circumstances.Terms.Now}
	m.Incidents = d.incidents()
	m.Proposal = d.proposal()
	m.MayReveal = d.who.MayDecide()
	m.MayWithdraw = d.who.MayDecide() && !v.Record.State.Stopped() && v.Record.WithdrawnAt.IsZero()
	a, ok := v.Undecided()
	if !ok {
		return nil
	}
	m.Evidence = d.evidence(a)
	m.Claim = d.claim()
	if d.who.MayDecide() {
		m.Ask = &views.AskNow{Provider: a.Provider, Why: s.cannotAsk()}
		m.Verdict = d.form(a)
	}
	return nil
}

// cannotAsk says why nobody can be asked; "" when somebody can.
func (s *Server) cannotAsk() string {
	if s.deps.Reconciler == nil {
		return "This process asks no providers."
	}
	return ""
}

// deciding builds the parts of one page.
type deciding struct {
	view store.DecisionView
	who  dispatch.Person
	name string
	now  time.Time
}

func (d deciding) incidents() (all []views.Incident) {
	for _, i := range d.view.Record.Incidents {
		by := string(i.ClosedBy.Kind)
		if id, err := dispatch.ParseStaffID(i.ClosedBy.ID); err == nil {
			by = d.view.Names[id]
		}
		all = append(all, views.Incident{ID: i.ID.String(), Kind: i.Kind, OpenedAt: i.OpenedAt, ClosedAt: i.ClosedAt, ClosedBy: by, Why: i.Why,
			MayClose: d.who.MayDecide()})
	}
	return all
}

func (d deciding) claim() *views.Claim {
	held := d.view.Claim
	return &views.Claim{By: held.Name, Mine: held.Staff == d.who.ID && !held.Staff.IsZero(), Until: held.Until, MayClaim: d.who.MayDecide()}
}

// proposal is the one that waits; nil when there is none, or when it has ended meanwhile.
func (d deciding) proposal() *views.Proposal {
	r, terms, p := d.view.Record, d.view.Circumstances.Terms, d.view.Circumstances.Open
	if p == nil || p.Status(r, terms) != dispatch.ProposalOpen {
		return nil
	}
	m := &views.Proposal{ID: p.ID.String(), Notification: r.ID.String(), Version: r.Version, By: d.view.ProposedBy, At: p.At,
		LapsesAt: p.LapsesAt, Reason: p.Reason, Evidence: p.EvidenceKind, EvidenceRef: p.EvidenceRef, Note: p.Note}
	switch {
	case d.who.Is(p.By):
		m.WhyNot = "It is your own proposal. Another person has to decide it."
	case !d.view.Circumstances.Policy.MayApprove(d.who):
		m.WhyNot = "Your role does not approve proposals."
	default:
		m.MayDecide = true
	}
	return m
}

// form is the empty form of a verdict on an attempt.
func (d deciding) form(a dispatch.Attempt) *views.VerdictForm {
	r, c := d.view.Record, d.view.Circumstances
	f := &views.VerdictForm{Notification: r.ID.String(), Attempt: a.ID.String(), Number: a.Number, Version: r.Version, Late: r.State.Stopped(),
		SendAgainUntil: r.ExpiresAt, SendAgainOff: r.SendAgainOff(a, c), SecondPerson: c.Policy.FourEyes, Person: d.name}
	if c.Open != nil && f.SendAgainOff == "" && c.Open.Status(r, c.Terms) == dispatch.ProposalOpen {
		f.SendAgainOff = "a proposal to send it again waits already"
	}
	return f
}

// evidence lists what is known about an attempt.
func (d deciding) evidence(a dispatch.Attempt) []views.EvidenceLine {
	all := []views.EvidenceLine{{Glyph: views.GlyphSending, Text: "How far the call got: " + views.PhaseWords(a.Phase) + ".", At: a.StartedAt},
		{Glyph: views.GlyphInfo, Text: views.RuleWords(a.Rule), At: a.FinishedAt}}
	if a.MessageID != "" {
		all = append(all, views.EvidenceLine{Glyph: views.GlyphSent, Text: "The provider's id of the message: " + a.MessageID + "."})
	}
	for i, l := range d.view.Lookups {
		if more := len(d.view.Lookups) - shownLookups; i < more {
			if i == 0 {
				all = append(all, views.EvidenceLine{Glyph: views.GlyphQuestion, Text: views.Plural(more, "earlier question", "earlier questions") +
					" to the provider."})
			}
			continue
		}
		all = append(all, views.EvidenceLine{Glyph: views.GlyphQuestion, Text: "Asked: the provider " + views.LookupWords(l.Result) + ".",
			At: l.AskedAt})
	}
	if len(d.view.Lookups) == 0 {
		all = append(all, views.EvidenceLine{Glyph: views.GlyphQuestion, Text: "The provider has not been asked yet."})
	}
	if d.view.Receipts == 0 {
		all = append(all, views.EvidenceLine{Glyph: views.GlyphInfo, Text: "No delivery report has come."})
	} else {
		all = append(all, views.EvidenceLine{Glyph: views.GlyphDelivered, Text: views.Plural(d.view.Receipts, "delivery report", "delivery reports") +
			" came."})
	}
	if !d.view.Record.WithdrawnAt.IsZero() {
		all = append(all, views.EvidenceLine{Glyph: views.GlyphCancelled, Text: "It is withdrawn: no further call is possible.",
			At: d.view.Record.WithdrawnAt})
	}
	return all
}

// shownLookups is how many questions the page shows one by one; the latest ones count.
const shownLookups = 8
