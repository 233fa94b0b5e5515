package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// verdict takes a person's decision: 303 when it is recorded or waits as a proposal, 422 with the form when it is not complete, 409 when the
// record does not allow it (any more).
func (s *Server) verdict(c echo.Context) error {
	id, err := notificationID(c)
	if err != nil {
		return err
	}
	form, err := formOf(c)
	if err != nil {
		return err
	}
	order := store.PersonDecides{Notification: id, Decision: decisionOf(form), By: decider(c), RequestID: callOf(c).id}
	out, err := s.deps.Staff.Decide(c.Request().Context(), order)
	var incomplete *dispatch.FormError
	switch {
	case errors.As(err, &incomplete):
		return s.verdictAgain(c, id, order.Decision, fieldErrors(incomplete))
	case err != nil:
		return s.decisionFailed(c, id, err, order.Decision.Note)
	}
	s.flash(c, decidedWords(out))
	return seeOther(c, views.NotificationPath(id.String()))
}

func decidedWords(out store.Decided) string {
	if !out.Proposal.IsZero() {
		return "Your proposal is recorded. Another person has to approve it; until then nothing is sent."
	}
	return "Your verdict is recorded."
}

// decisionOf reads the form of a verdict. What is missing or cannot be read is zero, and the rules say what is wrong with that.
func decisionOf(form url.Values) dispatch.Decision {
	attempt, err := dispatch.ParseAttemptID(form.Get("attempt"))
	if err != nil {
		attempt = dispatch.AttemptID{}
	}
	return dispatch.Decision{Attempt: attempt, Version: wholeNumber(form.Get("version")), Ruling: dispatch.Ruling(form.Get("verdict")),
		Next: dispatch.Next(form.Get("next")), Reason: form.Get("reason"), EvidenceKind: form.Get("evidence_kind"),
		EvidenceRef: form.Get("evidence_ref"), Note: form.Get("note")}
}

// wholeNumber is a number of a form, 0 when it is none.
func wholeNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

func fieldErrors(e *dispatch.FormError) (all views.FieldErrors) {
	for _, f := range e.Faults {
		all = append(all, views.FieldError{Field: f.Field, Text: f.Text})
	}
	return all
}

// verdictAgain shows the page with the form as it was typed, and what is wrong with it.
func (s *Server) verdictAgain(c echo.Context, id dispatch.NotificationID, d dispatch.Decision, faults views.FieldErrors) error {
	m, err := s.notificationPage(c, id)
	if err != nil {
		return err
	}
	if m.Verdict == nil {
		return s.conflict(c, id, "it is settled", d.Note)
	}
	m.Verdict.Verdict, m.Verdict.Next, m.Verdict.Reason, m.Verdict.EvidenceKind = string(d.Ruling), string(d.Next), d.Reason, d.EvidenceKind
	m.Verdict.EvidenceRef, m.Verdict.Note, m.Verdict.Errors = safeText(d.EvidenceRef), safeText(d.Note), faults
	return render(c, http.StatusUnprocessableEntity, views.NotificationPage(s.shell(c), m))
}

// safeText is what a person typed, as it goes back into the form: a text that must not be kept is not repeated, not even into the page, which
// browsers keep for the back button and people print.
func safeText(typed string) string {
	if dispatch.TextFault(typed, len(typed)) != "" {
		return ""
	}
	return typed
}

// decisionFailed turns the error of a decision into its page.
func (s *Server) decisionFailed(c echo.Context, id dispatch.NotificationID, err error, note string) error {
	var notNow *dispatch.NotNowError
	switch {
	case errors.Is(err, dispatch.ErrForbidden):
		return pageFail(http.StatusForbidden, "You may not decide this. Nobody approves a proposal of his own, and each role has its own part. "+
			"Nothing was changed.").because(err)
	case errors.As(err, &notNow):
		return s.conflict(c, id, notNow.Why, note)
	case errors.Is(err, dispatch.ErrStale):
		return s.conflict(c, id, "the record has changed", note)
	}
	return err
}

// conflict is the page of a decision that came too late: what is so now, and the note that the person had typed.
func (s *Server) conflict(c echo.Context, id dispatch.NotificationID, why, note string) error {
	now, err := s.situation(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return pageFail(http.StatusConflict, "This was not carried out: "+why+". Nothing was changed.").keeping(safeText(note)).now(now...).
		leading(views.Link{Text: "Open the notification as it is now", Path: views.NotificationPath(id.String())},
			views.Link{Text: "Go to the list of unknown outcomes", Path: views.PathUnknown})
}

// situation says in facts where a notification stands.
func (s *Server) situation(ctx context.Context, id dispatch.NotificationID) ([]views.Fact, error) {
	v, err := s.deps.Staff.DecisionView(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("situation: %w", err)
	}
	r := v.Record
	facts := []views.Fact{{Name: "Status", State: r.State}, {Name: "Version", Text: strconv.Itoa(r.Version)}}
	if n := len(r.Attempts); n > 0 {
		facts = append(facts, views.Fact{Name: "Last attempt", Text: views.OutcomeOf(r.Attempts[n-1].Outcome).Word})
	}
	if !r.StoppedAt.IsZero() {
		facts = append(facts, views.Fact{Name: "Stopped", Time: r.StoppedAt}, views.Fact{Name: "Why", Text: views.ReasonWords(r.Reason)},
			views.Fact{Name: "By", Text: actorWords(r.StoppedBy, v.Names)})
	}
	if v.Claim.Name != "" {
		facts = append(facts, views.Fact{Name: "Claimed by", Text: v.Claim.Name})
	}
	return facts, nil
}

// actorWords says who did something.
func actorWords(a dispatch.Actor, names map[dispatch.StaffID]string) string {
	if id, err := dispatch.ParseStaffID(a.ID); err == nil && names[id] != "" {
		return names[id]
	}
	switch a.Kind {
	case dispatch.ActorClient:
		return "the storefront"
	case dispatch.ActorProvider:
		return "the provider " + a.ID
	case dispatch.ActorWorker:
		return "this service"
	case dispatch.ActorOperator:
		return "an operator"
	}
	return "a member of staff"
}
