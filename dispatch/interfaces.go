package dispatch

import (
	"context"
	"time"
)

// Waiting is a notification whose next try is due, as the pool sees it before the claim.
type Waiting struct {
	ID        NotificationID
	Client    ClientID
	DueAt     time.Time
	ExpiresAt time.Time
	Version   int
	Attempts  int      // made so far
	RefusedBy []string // providers that refused this message for themselves
}

// ClaimOrder says through which provider a waiting notification is to go.
type ClaimOrder struct {
	ID       NotificationID
	Provider string
	Timeout  time.Duration // the provider's; the call's deadline is at most half of the remaining life
	Can      Capabilities
}

// Job is a claimed notification: its attempt's row is on disk, and the call may be made.
type Job struct {
	Reference Reference
	Provider  string
	Recipient Secret
	Text      Secret
	StartedAt time.Time
	ExpiresAt time.Time
	Timeout   time.Duration // of this call
	Validity  time.Duration // to tell the provider
}

// Queue is what the pool needs of the store. Each method is one transaction and returns ErrUnavailable when the store cannot be written.
type Queue interface {
	// Due lists up to limit notifications whose try is due, in turns over the clients that have any, starting after client `after`; within a
	// client the oldest first. What is listed may be gone by the time of the claim.
	Due(ctx context.Context, now time.Time, after ClientID, limit int) ([]Waiting, error)
	// NextDue is the earliest instant after now at which a notification becomes due; ok is false when none waits.
	NextDue(ctx context.Context, now time.Time) (at time.Time, ok bool, err error)
	// Claim spends the permit and writes the attempt's row; when it returns, both are on disk. ErrStale: somebody else has it, or it is not
	// waiting any more. ErrStopped: it had too little life left and has been stopped. ErrUnreadable: its row or text cannot be read, and it
	// has been set aside.
	Claim(ctx context.Context, o ClaimOrder) (Job, error)
	// MayStillSend is asked before the first byte. ErrStopped: give the call up. Any other error means that nobody knows: give it up, too.
	MayStillSend(ctx context.Context, r Reference) error
	// Finish stores what was seen and draws the conclusions. It may be called again after any error but ErrStale, which means that the
	// result is stored already.
	Finish(ctx context.Context, r Reference, x Exchange, f FinishFacts) error
}

// FinishFacts is what only this process knows when a call ends.
type FinishFacts struct {
	Elsewhere   bool          // another provider is left that has not refused this message
	NoReceipts  bool          // the provider sends no delivery reports
	Unavailable bool          // no provider can take a call now
	Delay       time.Duration // before the next try
	Schedule    []time.Duration
}

// LookupJob is an attempt about which its provider is to be asked.
type LookupJob struct {
	Reference    Reference
	Provider     string
	Question     Question
	UnknownSince time.Time
	ExpiresAt    time.Time
}

// Doubts is what the reconciler needs of the store.
type Doubts interface {
	// DueLookups lists up to limit attempts whose next question is due: first those never asked about, then the least life left.
	DueLookups(ctx context.Context, now time.Time, limit int) ([]LookupJob, error)
	// NextLookup is the earliest instant after now at which a question is due.
	NextLookup(ctx context.Context, now time.Time) (at time.Time, ok bool, err error)
	// RecordLookup stores a lookup as evidence, reads it against our own side, settles what it settles and schedules the next one.
	RecordLookup(ctx context.Context, l LookupReport) (LookupResult, error)
}

// LookupReport is one answered (or failed) question.
type LookupReport struct {
	Job         LookupJob
	AskedAt     time.Time
	By          Actor
	Finding     Finding
	Can         Capabilities
	AutoResolve bool
	Schedule    []time.Duration
	Delay       time.Duration // before the next try, should the lookup prove that nothing was sent
}

// Lives is what the sweeper needs of the store.
type Lives interface {
	// EndLives expires up to limit notifications whose time is over, and finalises sent ones that wait in vain for a report. It returns how
	// many it moved.
	EndLives(ctx context.Context, unavailable bool, limit int) (int, error)
	// NextEnd is the earliest instant after now at which there is something to end.
	NextEnd(ctx context.Context, now time.Time) (at time.Time, ok bool, err error)
}

// Journal takes events that belong to no notification: pauses, clock steps, starts and stops.
type Journal interface {
	Note(ctx context.Context, ev Event) error
}
