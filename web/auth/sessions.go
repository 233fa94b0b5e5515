package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alexedwards/scs/v2"

	"sentonce/dispatch"
	"sentonce/store"
)

// SessionStore keeps sessions by the hash of their token.
type SessionStore interface {
	FindSession(ctx context.Context, hash string) (store.Session, error)
	TouchSession(ctx context.Context, hash string, s store.Session) error
	SaveSession(ctx context.Context, hash string, data []byte) error
	BeginSession(ctx context.Context, s store.SignIn) error
	EndSession(ctx context.Context, hash string, by dispatch.Actor) error
}

// Sessions remembers sign-ins. The manager makes the tokens, which are known to the browser alone; the store keeps their hashes, decides when
// a session is over, and ends the sessions of a person.
type Sessions struct {
	store   SessionStore
	manager *scs.SessionManager
}

// NewSessions makes them.
func NewSessions(s SessionStore) *Sessions {
	m := scs.New()
	m.Lifetime = store.SessionLifetime
	m.Store = bridge{s}
	m.HashTokenInStore = true
	return &Sessions{s, m}
}

// note is what one call of the manager carries to and from the bridge, whose methods know a hash and data alone.
type note struct {
	found  store.Session // by a load
	hash   string        // of the token that was loaded or stored
	signIn *store.SignIn // by whom a new session begins; nil: an old one is stored
	by     dispatch.Actor
}

type noteKey struct{}

func noteOf(ctx context.Context) *note {
	n, _ := ctx.Value(noteKey{}).(*note)
	if n == nil {
		return &note{}
	}
	return n
}

const keyFlash = "flash"

// Load finds the session of a token and returns a context that holds it, with whose it is. The error is dispatch.ErrNotFound where there is
// none: a token that names no session is forgotten, and the next session gets one of ours.
func (s *Sessions) Load(ctx context.Context, token string) (context.Context, dispatch.StaffID, error) {
	n := &note{}
	ctx, err := s.manager.Load(context.WithValue(ctx, noteKey{}, n), token)
	if err != nil {
		return nil, dispatch.StaffID{}, fmt.Errorf("session: %w", err)
	}
	if n.found.Staff.IsZero() {
		return nil, dispatch.StaffID{}, fmt.Errorf("session: %w", dispatch.ErrNotFound)
	}
	return ctx, n.found.Staff, nil
}

// Touch notes that somebody is there.
func (s *Sessions) Touch(ctx context.Context) error {
	n := noteOf(ctx)
	return s.store.TouchSession(ctx, n.hash, n.found)
}

// Circumstances are what belongs to a sign-in besides its proof.
type Circumstances struct {
	Replaces  string // the hash of a session that ends with it; "": none
	Agent     string // the browser in words
	RequestID string
}

// Begin starts the session of a proven sign-in under a new token, which it returns; the session that it replaces ends with it. The context
// holds no session. The error is dispatch.ErrStale when the proof holds no more.
func (s *Sessions) Begin(ctx context.Context, p Proof, from Circumstances) (token string, err error) {
	n := &note{signIn: &store.SignIn{Staff: p.Person.ID, PasswordHash: p.PasswordHash, TOTPStep: p.TOTPStep, RecoveryCode: p.RecoveryCode,
		Replaces: from.Replaces, Tries: p.Tries, Agent: from.Agent,
		Continues: p.Continues, RequestID: from.RequestID}}
	ctx, err = s.manager.Load(context.WithValue(ctx, noteKey{}, n), "")
	if err != nil {
		return "", fmt.Errorf("session: %w", err)
	}
	if token, _, err = s.manager.Commit(ctx); err != nil {
		return "", fmt.Errorf("session: %w", err)
	}
	return token, nil
}

// End ends the session that the context holds.
func (s *Sessions) End(ctx context.Context, by dispatch.Actor) error {
	n := noteOf(ctx)
	n.by = by
	if err := s.manager.Destroy(ctx); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	return nil
}

// Hash names the session that the context holds, in the store.
func (s *Sessions) Hash(ctx context.Context) string { return noteOf(ctx).hash }

// SetFlash keeps a sentence for the next page.
func (s *Sessions) SetFlash(ctx context.Context, text string) error {
	s.manager.Put(ctx, keyFlash, text)
	return s.save(ctx)
}

// TakeFlash returns the sentence that was kept, once.
func (s *Sessions) TakeFlash(ctx context.Context) (string, error) {
	text := s.manager.PopString(ctx, keyFlash)
	if text == "" {
		return "", nil
	}
	return text, s.save(ctx)
}

func (s *Sessions) save(ctx context.Context) error {
	_, _, err := s.manager.Commit(ctx)
	if err != nil {
		return fmt.Errorf("session: %w", err)
	}
	return nil
}

// bridge is our store as the session manager sees it.
type bridge struct{ store SessionStore }

var errNoContext = errors.New("sessions are reached with a context")

// FindCtx implements scs.CtxStore.
func (b bridge) FindCtx(ctx context.Context, hash string) ([]byte, bool, error) {
	found, err := b.store.FindSession(ctx, hash)
	if errors.Is(err, dispatch.ErrNotFound) {
		return nil, false, nil
	}
	n := noteOf(ctx)
	n.found, n.hash = found, hash
	return found.Data, err == nil, err
}

// CommitCtx implements scs.CtxStore. Our store keeps the time itself.
func (b bridge) CommitCtx(ctx context.Context, hash string, data []byte, _ time.Time) error {
	n := noteOf(ctx)
	if n.signIn == nil {
		return b.store.SaveSession(ctx, hash, data)
	}
	begin := *n.signIn
	begin.Hash, begin.Data = hash, data
	n.hash = hash
	return b.store.BeginSession(ctx, begin)
}

// DeleteCtx implements scs.CtxStore.
func (b bridge) DeleteCtx(ctx context.Context, hash string) error {
	return b.store.EndSession(ctx, hash, noteOf(ctx).by)
}

// Find, Commit and Delete are never called where the methods with a context exist.
func (b bridge) Find(string) ([]byte, bool, error)      { return nil, false, errNoContext }
func (b bridge) Commit(string, []byte, time.Time) error { return errNoContext }
func (b bridge) Delete(string) error                    { return errNoContext }
