// Package webtest has a store in memory that keeps the contract of web.Store: a map under a mutex, with the domain's own rules. It serves
// the tests of the HTTP edge, which need a store that can be made to fail, to panic and to be slow.
package webtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sentonce/dispatch"
)

// Store keeps notifications in memory. Make one with NewStore. It is safe for concurrent use.
type Store struct {
	clock   dispatch.Clock
	mu      sync.Mutex
	keys    map[string]dispatch.APIKey // by token
	items   []*item
	watches map[dispatch.NotificationID][]chan struct{}
	replays chan dispatch.NotificationID
	reports map[string]bool // that came before
	fault   func(operation string) error

	afterRead func()
}

type item struct {
	rec     dispatch.Record
	content dispatch.Admission
}

// NewStore makes an empty store.
func NewStore(clock dispatch.Clock) *Store {
	return &Store{clock: clock, keys: map[string]dispatch.APIKey{}, watches: map[dispatch.NotificationID][]chan struct{}{},
		replays: make(chan dispatch.NotificationID, 1<<16), reports: map[string]bool{}}
}

// AddKey makes an API key of a client and returns its token.
func (s *Store) AddKey(client dispatch.ClientID, change func(*dispatch.APIKey), scopes ...dispatch.Scope) string {
	token := rand.Text()
	k := dispatch.APIKey{ID: newID[dispatch.APIKeyID](s.clock.Now()), Client: client, Name: "test", Scopes: scopes, CreatedAt: s.clock.Now()}
	if change != nil {
		change(&k)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[token] = k
	return token
}

// NewClient makes a client's id.
func NewClient(at time.Time) dispatch.ClientID { return newID[dispatch.ClientID](at) }

// Break lets f decide the error of each operation, named like its method; nil repairs the store. f may panic or block.
func (s *Store) Break(f func(operation string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// AfterRead lets f run after a notification was read and before its reader gets it.
func (s *Store) AfterRead(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.afterRead = f
}

// Alter changes a record in a way that no rule of the domain has, and wakes nobody.
func (s *Store) Alter(id dispatch.NotificationID, f func(*dispatch.Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range s.items {
		if it.rec.ID == id {
			it.rec = it.rec.Apply(dispatch.Change{}) // a copy of its own
			f(&it.rec)
		}
	}
}

// Replays receives the id of each replay that was counted.
func (s *Store) Replays() <-chan dispatch.NotificationID { return s.replays }

// Count is how many notifications there are.
func (s *Store) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}

// Act applies one of the domain's rules to a notification, as the engine would.
func (s *Store) Act(id dispatch.NotificationID, rule func(dispatch.Record, time.Time) (dispatch.Change, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range s.items {
		if it.rec.ID == id {
			change, err := rule(it.rec, s.clock.Now())
			if err != nil {
				return err
			}
			s.apply(it, change)
			return nil
		}
	}
	return dispatch.ErrNotFound
}

// Authenticate implements web.Keys.
func (s *Store) Authenticate(_ context.Context, token dispatch.Secret) (dispatch.APIKey, error) {
	if err := s.failing("Authenticate"); err != nil {
		return dispatch.APIKey{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.keys[token.Reveal()]
	if !ok {
		return dispatch.APIKey{}, fmt.Errorf("api key: %w", dispatch.ErrNotFound)
	}
	return k, nil
}

// Replay implements dispatch.Admissions.
func (s *Store) Replay(_ context.Context, a dispatch.Admission) (dispatch.Record, error) {
	if err := s.failing("Replay"); err != nil {
		return dispatch.Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.twin(a)
}

// twin finds the record that an admission repeats or contradicts.
func (s *Store) twin(a dispatch.Admission) (dispatch.Record, error) {
	for _, it := range s.items {
		if it.rec.Client != a.Client || it.rec.IdempotencyKey != a.IdempotencyKey {
			continue
		}
		if differs := difference(it.content, a); len(differs) > 0 {
			return dispatch.Record{}, &dispatch.ConflictError{Existing: it.rec.ID, Differs: differs}
		}
		return it.rec, nil
	}
	for _, it := range s.items {
		if it.rec.Client == a.Client && it.rec.EventID == a.EventID && it.rec.Purpose == a.Purpose {
			return dispatch.Record{}, &dispatch.ConflictError{Existing: it.rec.ID}
		}
	}
	return dispatch.Record{}, fmt.Errorf("replay: %w", dispatch.ErrNotFound)
}

func difference(a, b dispatch.Admission) []string {
	var names []string
	for name, equal := range map[string]bool{"event_id": a.EventID == b.EventID, "purpose": a.Purpose == b.Purpose,
		"subject": same(a.Subject, b.Subject), "recipient": same(a.Recipient, b.Recipient), "message": same(a.Text, b.Text),
		"expires_at": a.ExpiresAt.Equal(b.ExpiresAt), "occurred_at": a.OccurredAt.Equal(b.OccurredAt)} {
		if !equal {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func same(a, b dispatch.Secret) bool { return a.Reveal() == b.Reveal() }

// Admit implements dispatch.Admissions.
func (s *Store) Admit(_ context.Context, a dispatch.Admission) (dispatch.Record, bool, error) {
	if err := s.failing("Admit"); err != nil {
		return dispatch.Record{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if rec, err := s.twin(a); !errors.Is(err, dispatch.ErrNotFound) {
		return rec, err == nil, err
	}
	now, number := s.clock.Now(), a.Recipient.Reveal()
	rec := dispatch.Record{Notification: dispatch.Notification{ID: newID[dispatch.NotificationID](now), Client: a.Client, EventID: a.EventID,
		IdempotencyKey: a.IdempotencyKey, Purpose: a.Purpose, Recipient: pseudonym[dispatch.RecipientRef](number), Country: a.Country,
		Hint: number[len(number)-2:], AcceptedAt: now, ExpiresAt: a.ExpiresAt, OccurredAt: a.OccurredAt, State: dispatch.StateAccepted, Version: 1},
		Permits: []dispatch.Permit{{Number: 1, GrantedAt: now}}}
	if !a.Subject.IsZero() {
		rec.Subject = pseudonym[dispatch.SubjectRef](a.Subject.Reveal())
	}
	s.items = append(s.items, &item{rec, a})
	return rec, false, nil
}

func pseudonym[T ~[16]byte](s string) T {
	sum := sha256.Sum256([]byte(s)) // only here, in memory: the real store's is keyed
	return T(sum[:16])
}

func newID[T ~[16]byte](at time.Time) T {
	id, err := dispatch.NewID[T](at, rand.Reader)
	if err != nil {
		panic(err) // crypto/rand never fails
	}
	return id
}

// apply changes a record and wakes whoever watches it. The caller holds the lock.
func (s *Store) apply(it *item, change dispatch.Change) {
	it.rec = it.rec.Apply(change)
	if len(change.Effects) == 0 {
		return
	}
	for _, ch := range s.watches[it.rec.ID] {
		close(ch)
	}
	delete(s.watches, it.rec.ID)
}

// failing asks the fault, without the lock: it may block.
func (s *Store) failing(operation string) error {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(operation)
}
