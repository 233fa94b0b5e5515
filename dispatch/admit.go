package dispatch

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Admissions is what the admission needs of the store.
type Admissions interface {
	// Replay looks for the record of an earlier admission with the same key, or of the same event and purpose. ErrNotFound: there is none.
	// A *ConflictError names one that differs.
	Replay(ctx context.Context, a Admission) (Record, error)
	// Admit stores the notification, its sealed text and number, permit 1 and the event, or finds the twin that was faster; replayed says
	// which. What it returns is on disk. A *ConflictError names a record that differs; ErrUnavailable means that nothing was kept.
	Admit(ctx context.Context, a Admission) (r Record, replayed bool, err error)
}

// Policy limits what is admitted.
type Policy struct {
	MinRemaining time.Duration // the shortest life
	MaxTTL       time.Duration // the longest
	MaxSegments  int           // the most messages that one text may take; 0: no limit
}

// Admitter is the use case "accept an event once".
type Admitter struct {
	Store  Admissions
	Clock  Clock
	Policy func() Policy
}

// Admit accepts an event or finds that it has been accepted. The replay check comes first, so that a replay never fails for the expiry of
// what it repeats. The errors are *ConflictError, *RefusalError, ErrUnavailable and the context's.
func (a Admitter) Admit(ctx context.Context, cmd Admission) (r Record, replayed bool, err error) {
	r, err = a.Store.Replay(ctx, cmd)
	if err == nil {
		return r, true, nil
	}
	if !isNotFound(err) {
		return Record{}, false, fmt.Errorf("admit: %w", err)
	}
	if err := a.Policy().check(cmd, a.Clock.Now()); err != nil {
		return Record{}, false, fmt.Errorf("admit: %w", err)
	}
	r, replayed, err = a.Store.Admit(ctx, cmd)
	if err != nil {
		return Record{}, false, fmt.Errorf("admit: %w", err)
	}
	return r, replayed, nil
}

func (p Policy) check(cmd Admission, now time.Time) error {
	switch life := cmd.ExpiresAt.Sub(now); {
	case life <= 0:
		return &RefusalError{Member: "expires_at", Rule: RuleExpired, Detail: "expires_at is in the past"}
	case life < p.MinRemaining:
		return &RefusalError{Member: "expires_at", Rule: RuleLifeTooShort, Detail: "less than " + p.MinRemaining.String() + " of life is left"}
	case life > p.MaxTTL:
		return &RefusalError{Member: "expires_at", Rule: RuleLifeTooLong, Detail: "the life is longer than " + p.MaxTTL.String()}
	}
	if encoding, n := Segments(cmd.Text.Reveal()); p.MaxSegments > 0 && n > p.MaxSegments {
		return &RefusalError{Member: "message", Rule: RuleTextTooLong,
			Detail: fmt.Sprintf("in %s the text takes %d messages; %d are allowed", encoding, n, p.MaxSegments)}
	}
	return nil
}

// RefusalRule is a stable word for why an admission is refused.
type RefusalRule string

const (
	RuleExpired      RefusalRule = "expired"        // expires_at is not in the future
	RuleLifeTooShort RefusalRule = "life_too_short" // less than min_remaining
	RuleLifeTooLong  RefusalRule = "life_too_long"  // more than max_ttl
	RuleTextTooLong  RefusalRule = "text_too_long"  // more messages than max_segments
)

// RefusalError says that a well-formed admission is not accepted. Detail is safe to show: it repeats nothing of the request.
type RefusalError struct {
	Member string // of the request
	Rule   RefusalRule
	Detail string
}

func (e *RefusalError) Error() string { return "refused: " + e.Detail }

// ConflictError says that a record exists which the admission contradicts.
type ConflictError struct {
	Existing NotificationID
	// Differs names the members that differ from the record with the same idempotency key; empty when another key was used for the same
	// event and purpose.
	Differs []string
}

// SameKey reports whether the key was used before with other content; otherwise the event was accepted under another key.
func (e *ConflictError) SameKey() bool { return len(e.Differs) > 0 }

func (e *ConflictError) Error() string {
	if e.SameKey() {
		return fmt.Sprintf("the key belongs to %s, which differs in %s", e.Existing, strings.Join(e.Differs, ", "))
	}
	return fmt.Sprintf("the event was accepted as %s under another key", e.Existing)
}

// Newer reports whether event a came after event b at the storefront, for one client, purpose and subject: by occurred_at where both say it,
// else by the later expiry, else by arrival, in which a is the later one.
func Newer(a, b Order) bool {
	if !a.OccurredAt.IsZero() && !b.OccurredAt.IsZero() && !a.OccurredAt.Equal(b.OccurredAt) {
		return a.OccurredAt.After(b.OccurredAt)
	}
	if !a.ExpiresAt.Equal(b.ExpiresAt) {
		return a.ExpiresAt.After(b.ExpiresAt)
	}
	return true
}

// Order is what decides which of two events is the newer one.
type Order struct{ OccurredAt, ExpiresAt time.Time }

// Cause is the storefront's reason for a withdrawal.
type Cause string

const (
	CausePasswordChanged Cause = "password_changed"
	CauseTokenUsed       Cause = "token_used"
	CauseUserRequest     Cause = "user_request"
	CauseOther           Cause = "other"
)

// Causes lists every cause.
func Causes() []Cause {
	return []Cause{CausePasswordChanged, CauseTokenUsed, CauseUserRequest, CauseOther}
}

// Scope is what an API key may do.
type Scope string

const (
	ScopeAdmit    Scope = "admit"    // POST /v1/notifications
	ScopeRead     Scope = "read"     // GET /v1/notifications…
	ScopeWithdraw Scope = "withdraw" // cancel and cancellations
)

// Scopes lists every scope.
func Scopes() []Scope { return []Scope{ScopeAdmit, ScopeRead, ScopeWithdraw} }

// APIKey is a client's credential as stored: never the secret, only its MAC.
type APIKey struct {
	ID        APIKeyID
	Client    ClientID
	Name      string
	Scopes    []Scope
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
}

// Allows reports whether the key carries the scope; Valid says whether it may be used at all.
func (k APIKey) Allows(s Scope) bool {
	for _, have := range k.Scopes {
		if have == s {
			return true
		}
	}
	return false
}

// Valid reports whether the key may be used at all.
func (k APIKey) Valid(now time.Time) bool {
	return (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt)) && (k.RevokedAt.IsZero() || now.Before(k.RevokedAt))
}
