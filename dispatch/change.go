package dispatch

import (
	"slices"
	"time"
)

// Change is what one fact does to a record: a list of effects, each announced by one event. The store applies a change in one transaction,
// in order; Record.Apply does the same in memory. An empty change means that the fact changes nothing.
type Change struct{ Effects []Effect }

// Effect is one event and the rows that it announces. The store fills Event.Seq and the ids of new rows.
type Effect struct {
	Event    Event
	Verdict  *Verdict
	Lookup   *Lookup
	Receipt  *Receipt
	Attempt  *AttemptPatch
	Withdraw Reason    // not "": the notification is withdrawn for this reason
	DueAt    time.Time // not zero: the next try
	Start    *Attempt  // a claim: the attempt that spends the open permit
	Grant    *Permit   // the next permit
	Incident *Incident
}

// Result is what is stored, once, when an attempt's call has ended.
type Result struct {
	FinishedAt time.Time
	Phase      Phase
	Rule       Rule
	HTTPStatus int
	Code       string
	MessageID  string // the id that the answer named, even where the attempt is bound to another one by then
	RequestID  string
	AnswerSHA  [32]byte
}

// AttemptPatch is what an effect changes in an attempt; zero members change nothing.
type AttemptPatch struct {
	Number       int
	Result       *Result
	Outcome      Outcome
	MessageID    string
	UnknownSince time.Time
	LookupAt     *time.Time // points to the zero time: no further lookup
	Asked        bool       // one more lookup was made
	Receipt      ReceiptStatus
	ReceiptCode  string
}

// Apply returns the record after the change. It is the definition that the store's triggers and statements must agree with; a test runs
// both over random histories and compares.
func (r Record) Apply(c Change) Record {
	r.Permits, r.Attempts, r.Incidents = slices.Clone(r.Permits), slices.Clone(r.Attempts), slices.Clone(r.Incidents)
	for _, e := range c.Effects {
		r.applyEffect(e)
	}
	return r
}

func (r *Record) applyEffect(e Effect) {
	if p := e.Attempt; p != nil {
		r.Attempts[p.Number-1].patch(*p)
	}
	r.applyEvent(e.Event)
	if e.Withdraw != "" && r.WithdrawnAt.IsZero() {
		r.WithdrawnAt, r.WithdrawnReason = e.Event.At, e.Withdraw
	}
	if !e.DueAt.IsZero() {
		r.DueAt = e.DueAt
	}
	if e.Start != nil {
		r.Permits[e.Start.Number-1].SpentAt = e.Start.StartedAt
		r.Attempts = append(r.Attempts, *e.Start)
	}
	if e.Grant != nil {
		r.Permits = append(r.Permits, *e.Grant)
	}
	if e.Incident != nil {
		r.Incidents = append(r.Incidents, *e.Incident)
	}
}

// applyEvent is what the schema's trigger on events does to the notification.
func (r *Record) applyEvent(ev Event) {
	if ev.Version == 0 {
		return
	}
	r.Version = ev.Version
	r.Final = r.Final || ev.Final
	if ev.To == "" {
		return
	}
	stops := ev.To.Stopped() && !r.State.Stopped()
	r.State = ev.To
	if stops {
		r.Reason, r.StoppedAt, r.StoppedBy = ev.Reason, ev.At, ev.By
		for i := range r.Permits {
			if r.Permits[i].Open() {
				r.Permits[i].VoidAt = ev.At
			}
		}
	}
}

func (a *Attempt) patch(p AttemptPatch) {
	if res := p.Result; res != nil {
		a.FinishedAt, a.Phase, a.Rule, a.HTTPStatus = res.FinishedAt, res.Phase, res.Rule, res.HTTPStatus
		a.Code, a.AnswerID, a.RequestID, a.AnswerSHA = res.Code, res.MessageID, res.RequestID, res.AnswerSHA
	}
	if p.Outcome != "" {
		a.Outcome = p.Outcome
	}
	if p.MessageID != "" && a.MessageID == "" {
		a.MessageID = p.MessageID
	}
	if !p.UnknownSince.IsZero() {
		a.UnknownSince = p.UnknownSince
	}
	if p.LookupAt != nil {
		a.LookupAt = *p.LookupAt
	}
	if p.Asked {
		a.Lookups++
	}
	if p.Receipt != "" {
		a.Receipt, a.ReceiptCode = p.Receipt, p.ReceiptCode
	}
}

// draft builds a change: each effect is applied to its record as it is added, so that the next step sees what the last one did.
type draft struct {
	rec     Record
	now     time.Time
	by      Actor
	effects []Effect
}

func (r Record) draft(now time.Time, by Actor) *draft {
	r.Permits, r.Attempts, r.Incidents = slices.Clone(r.Permits), slices.Clone(r.Attempts), slices.Clone(r.Incidents)
	return &draft{rec: r, now: now, by: by}
}

// add completes the event's common members and appends the effect.
func (d *draft) add(e Effect) {
	e.Event.At, e.Event.Notification, e.Event.Client = d.now, d.rec.ID, d.rec.Client
	if e.Event.By == (Actor{}) {
		e.Event.By = d.by
	}
	if e.Event.To != "" && e.Event.To != d.rec.State {
		e.Event.From = d.rec.State
	}
	d.effects = append(d.effects, e)
	d.rec.applyEffect(e)
}

// moving is the version after a step that counts as news for the storefront.
func (d *draft) moving() int { return d.rec.Version + 1 }

// to fills the members of an event that change the state; a stop carries its reason.
func (d *draft) to(ev Event, s State, why Reason) Event {
	ev.Version, ev.To = d.moving(), s
	if s.Stopped() {
		ev.Reason = why
		ev.Final = s.AlwaysFinal()
	}
	return ev
}

func (d *draft) change() Change { return Change{d.effects} }

// incident opens one of the kind for the attempt unless such a one exists.
func (d *draft) incident(kind IncidentKind, attempt int) {
	for _, i := range d.rec.Incidents {
		if i.Kind == kind && i.Attempt == attempt {
			return
		}
	}
	d.add(Effect{
		Event:    Event{Action: ActionIncidentOpened, Attempt: attempt, Cause: string(kind), Version: d.moving()},
		Incident: &Incident{Kind: kind, Attempt: attempt, OpenedAt: d.now},
	})
}
