// Package dispatchtest has fakes of what the engine stands between, and suites that hold real things to the same contracts.
package dispatchtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"sentonce/dispatch"
)

// Ops that a fault can hit, as told to MemoryStore.SetFault.
const (
	OpDue          = "due"
	OpClaim        = "claim"
	OpMayStillSend = "may_still_send"
	OpFinish       = "finish"
	OpLookup       = "record_lookup"
	OpNote         = "note"
	OpEnd          = "end_lives"
)

// MemoryStore is a store in memory that draws its conclusions by the rules of the domain: what the engine does to it, it would do to the
// real one. It implements Queue, Doubts, Lives and Journal, works inside a synctest bubble, and is safe for concurrent use.
type MemoryStore struct {
	Clock        dispatch.Clock
	MinRemaining time.Duration
	MaxAttempts  int

	mu      sync.Mutex
	fault   func(op string) error
	records map[dispatch.NotificationID]*dispatch.Record
	order   []dispatch.NotificationID
	claims  []Claim
	lookups []dispatch.LookupReport
	notes   []dispatch.Event
	ops     map[string]int
}

// Claim is one claim that was granted.
type Claim struct {
	ID       dispatch.NotificationID
	Client   dispatch.ClientID
	Provider string
	At       time.Time
}

// NewMemoryStore makes an empty store.
func NewMemoryStore(clock dispatch.Clock) *MemoryStore {
	return &MemoryStore{Clock: clock, MinRemaining: time.Millisecond, MaxAttempts: 3, ops: map[string]int{},
		records: map[dispatch.NotificationID]*dispatch.Record{}}
}

// SetFault makes f decide, outside any lock, what hits each operation before it is done: nil lets it go on, an error is returned as it is,
// a panic is the store's own. f may block.
func (s *MemoryStore) SetFault(f func(op string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Client is the n-th client's id.
func Client(n byte) dispatch.ClientID { return dispatch.ClientID{15: n} }

// Admit stores one notification that is due at once.
func (s *MemoryStore) Admit(client dispatch.ClientID, life time.Duration) dispatch.NotificationID {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	id := newID[dispatch.NotificationID](now)
	s.records[id] = &dispatch.Record{
		Notification: dispatch.Notification{ID: id, Client: client, EventID: id.String(), State: dispatch.StateAccepted, Version: 1,
			AcceptedAt: now, DueAt: now, ExpiresAt: now.Add(life)},
		Permits: []dispatch.Permit{{Number: 1, GrantedAt: now}},
	}
	s.order = append(s.order, id)
	return id
}

// Withdraw withdraws a notification as its client would.
func (s *MemoryStore) Withdraw(id dispatch.NotificationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[id]
	*r = r.Apply(r.Withdraw(dispatch.ReasonWithdrawnByClient, "", dispatch.Actor{Kind: dispatch.ActorClient}, s.Clock.Now()))
}

// Recover does what a start does: each pending attempt becomes unknown.
func (s *MemoryStore) Recover(schedule []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.order {
		r := s.records[id]
		if c, err := r.Interrupt(dispatch.Terms{Now: s.Clock.Now(), Schedule: schedule}); err == nil {
			*r = r.Apply(c)
		}
	}
}

// Record is a copy of a notification as it is.
func (s *MemoryStore) Record(id dispatch.NotificationID) dispatch.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[id].Apply(dispatch.Change{})
}

// Count is how many notifications are in a state.
func (s *MemoryStore) Count(state dispatch.State) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.records {
		if r.State == state {
			n++
		}
	}
	return n
}

// Claims lists the claims that were granted, in order.
func (s *MemoryStore) Claims() []Claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.claims)
}

// Lookups lists the recorded lookups, in order.
func (s *MemoryStore) Lookups() []dispatch.LookupReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lookups)
}

// Notes lists the journalled events, in order.
func (s *MemoryStore) Notes() []dispatch.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// Calls is how often an operation was asked for, the failed ones included.
func (s *MemoryStore) Calls(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ops[op]
}

// begin counts an operation, lets the fault act, and takes the lock.
func (s *MemoryStore) begin(ctx context.Context, op string) error {
	s.mu.Lock()
	s.ops[op]++
	fault := s.fault
	s.mu.Unlock()
	if fault != nil {
		if err := fault(op); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	s.mu.Lock()
	return nil
}

// Due implements dispatch.Queue.
func (s *MemoryStore) Due(ctx context.Context, now time.Time, after dispatch.ClientID, limit int) ([]dispatch.Waiting, error) {
	if err := s.begin(ctx, OpDue); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	byClient := map[dispatch.ClientID][]*dispatch.Record{}
	var clients []dispatch.ClientID
	for _, id := range s.order {
		r := s.records[id]
		if r.State != dispatch.StateAccepted || r.DueAt.After(now) {
			continue
		}
		if byClient[r.Client] == nil {
			clients = append(clients, r.Client)
		}
		byClient[r.Client] = append(byClient[r.Client], r)
	}
	slices.SortFunc(clients, func(a, b dispatch.ClientID) int { return bytes.Compare(a[:], b[:]) })
	first, _ := slices.BinarySearchFunc(clients, after, func(c, after dispatch.ClientID) int {
		if bytes.Compare(c[:], after[:]) > 0 {
			return 1
		}
		return -1
	})
	clients = slices.Concat(clients[first:], clients[:first])
	var list []dispatch.Waiting
	for turn := 0; len(list) < limit; turn++ {
		before := len(list)
		for _, c := range clients {
			if turn < len(byClient[c]) && len(list) < limit {
				r := byClient[c][turn]
				list = append(list, dispatch.Waiting{ID: r.ID, Client: r.Client, DueAt: r.DueAt, ExpiresAt: r.ExpiresAt, RefusedBy: r.RefusedBy()})
			}
		}
		if len(list) == before {
			break
		}
	}
	return list, nil
}

// NextDue implements dispatch.Queue.
func (s *MemoryStore) NextDue(_ context.Context, now time.Time) (time.Time, bool, error) {
	return s.earliest(now, func(r *dispatch.Record) time.Time {
		if r.State != dispatch.StateAccepted {
			return time.Time{}
		}
		return r.DueAt
	})
}

// Claim implements dispatch.Queue.
func (s *MemoryStore) Claim(ctx context.Context, o dispatch.ClaimOrder) (dispatch.Job, error) {
	if err := s.begin(ctx, OpClaim); err != nil {
		return dispatch.Job{}, err
	}
	defer s.mu.Unlock()
	r := s.records[o.ID]
	now := s.Clock.Now()
	a := dispatch.Attempt{ID: newID[dispatch.AttemptID](now), Provider: o.Provider,
		DeadlineAt: now.Add(dispatch.CallDeadline(o.Timeout, r.Life(now)))}
	c, err := r.Start(a, s.terms())
	*r = r.Apply(c)
	if err != nil {
		return dispatch.Job{}, err
	}
	s.claims = append(s.claims, Claim{o.ID, r.Client, o.Provider, now})
	valid, _ := dispatch.Validity(o.Timeout, r.Life(now), o.Can)
	return dispatch.Job{Reference: r.Attempts[len(r.Attempts)-1].Ref(o.ID), Provider: o.Provider, StartedAt: now, ExpiresAt: r.ExpiresAt,
		Recipient: dispatch.NewSecret("+4915112345678"), Text: dispatch.NewSecret("Your code is 493817"),
		Timeout: dispatch.CallDeadline(o.Timeout, r.Life(now)), Validity: valid}, nil
}

// MayStillSend implements dispatch.Queue.
func (s *MemoryStore) MayStillSend(ctx context.Context, ref dispatch.Reference) error {
	if err := s.begin(ctx, OpMayStillSend); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.records[ref.Notification].MayStillSend(ref.Number, s.terms())
}

// Finish implements dispatch.Queue.
func (s *MemoryStore) Finish(ctx context.Context, ref dispatch.Reference, x dispatch.Exchange, f dispatch.FinishFacts) error {
	if err := s.begin(ctx, OpFinish); err != nil {
		return err
	}
	defer s.mu.Unlock()
	t := s.terms()
	t.Elsewhere, t.NoReceipts, t.Unavailable, t.Delay, t.Schedule = f.Elsewhere, f.NoReceipts, f.Unavailable, f.Delay, f.Schedule
	r := s.records[ref.Notification]
	c, err := r.Finish(ref.Number, x, t)
	if err != nil {
		return err
	}
	*r = r.Apply(c)
	return nil
}

// Note implements dispatch.Journal.
func (s *MemoryStore) Note(ctx context.Context, ev dispatch.Event) error {
	if err := s.begin(ctx, OpNote); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.notes = append(s.notes, ev)
	return nil
}

func (s *MemoryStore) terms() dispatch.Terms {
	return dispatch.Terms{Now: s.Clock.Now(), MinRemaining: s.MinRemaining, MaxAttempts: s.MaxAttempts}
}

func (s *MemoryStore) earliest(now time.Time, of func(*dispatch.Record) time.Time) (first time.Time, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.records {
		if at := of(r); at.After(now) && (!ok || at.Before(first)) {
			first, ok = at, true
		}
	}
	return first, ok, nil
}

func newID[T ~[16]byte](at time.Time) T {
	id, err := dispatch.NewID[T](at, rand.Reader)
	if err != nil {
		panic(err) // crypto/rand never fails
	}
	return id
}
