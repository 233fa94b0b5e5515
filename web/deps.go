package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/phone"
	"sentonce/store"
	"sentonce/views"
)

// Store is what the API needs of the store.
type Store interface {
	dispatch.Admissions
	Keys
	Records
	Withdrawals
	Receipts
	// Ready reports whether the store can be written and its schema is current.
	Ready(ctx context.Context) error
}

// Keys finds API keys.
type Keys interface {
	// Authenticate finds the key of a bearer token. ErrNotFound: no such key; ErrUnavailable. Whether the key is valid now is the caller's
	// question.
	Authenticate(ctx context.Context, token dispatch.Secret) (dispatch.APIKey, error)
}

// Records reads notifications. What another client owns is ErrNotFound.
type Records interface {
	Notification(ctx context.Context, client dispatch.ClientID, id dispatch.NotificationID) (dispatch.Record, error)
	// NotificationsByEvent finds one notification per purpose; none is an empty list.
	NotificationsByEvent(ctx context.Context, client dispatch.ClientID, eventID string) ([]dispatch.Record, error)
	NotificationByKey(ctx context.Context, client dispatch.ClientID, key string) (dispatch.Record, error)
	// Watch returns a channel that is closed at the next committed change of a notification, and a function that ends the watch.
	Watch(id dispatch.NotificationID) (changed <-chan struct{}, stop func())
	// CountReplay counts a repeated admission. It never blocks.
	CountReplay(id dispatch.NotificationID, by dispatch.Actor)
}

// Withdrawals stops what is not yet sent. Both commands are idempotent.
type Withdrawals interface {
	Withdraw(ctx context.Context, w dispatch.Withdrawal) (dispatch.Record, error)
	// WithdrawSubject returns how many notifications it withdrew.
	WithdrawSubject(ctx context.Context, w dispatch.SubjectWithdrawal) (int, error)
}

// Receipts keeps delivery reports.
type Receipts interface {
	// RecordReceipt keeps an authentic report as evidence; ref is what its signed reference names, nil when there is none.
	RecordReceipt(ctx context.Context, provider string, rep dispatch.Report, ref *dispatch.Reference) (dispatch.ReceiptFate, error)
}

// Deps is what the server is made of.
type Deps struct {
	Store      Store
	Policy     func() dispatch.Policy
	Countries  func() phone.Countries // the countries that are served; nil: all
	Clock      dispatch.Clock
	Random     io.Reader // for request ids
	Log        *slog.Logger
	Metrics    *Metrics
	Receipts   map[string]dispatch.ReceiptReader // by provider name
	References dispatch.ReferenceSigner
	// PublicURL is the address at which providers reach this service; it may have a path. Call-backs are authenticated against it.
	PublicURL *url.URL
	// TrustedProxies may name the client in X-Forwarded-For. From anybody else the header means nothing.
	TrustedProxies []netip.Prefix
	Limits         Limits
	LimitsNow      func() Limits // the limits of the moment, which replace Limits; nil: they do not change
	// Deadline bounds the work on one request; 0: 10 s.
	Deadline time.Duration
	// Accepting says why admissions are refused at the moment (quarantine, draining); nil: they are not.
	Accepting func() error
	// Staff is the staff app's share of the store; nil: there is no staff app, and its addresses do not exist.
	Staff StaffStore
	// Providers and Reconciler are the engine as the pages see it: what is paused and failing, and "ask the provider now".
	Providers  Providers
	Reconciler Reconciler
	// Calls is how long the latest calls took; Settings is the policy of the moment, which the settings page changes; ClockPaused says that
	// dispatch waits for the clock. Each may be nil.
	Calls       *CallWindow
	Settings    *store.PolicyCell
	ClockPaused func() bool
	Environment views.Environment // shown on every page; zero: PRODUCTION
	Version     string            // of this binary, for the foot of the pages
	// Draining is closed when the server begins to stop: waiting requests are answered at once.
	Draining <-chan struct{}
}

const defaultDeadline = 10 * time.Second

// check reports what is missing, and fills in defaults.
func (d *Deps) check() error {
	switch {
	case d.Store == nil, d.Policy == nil, d.Clock == nil, d.Random == nil, d.Log == nil, d.Metrics == nil:
		return errors.New("web: Store, Policy, Clock, Random, Log and Metrics must be given")
	case d.PublicURL == nil || d.PublicURL.Host == "":
		return errors.New("web: PublicURL must be an absolute address")
	}
	if d.Countries == nil {
		d.Countries = func() phone.Countries { return nil }
	}
	if d.Deadline <= 0 {
		d.Deadline = defaultDeadline
	}
	if d.Accepting == nil {
		d.Accepting = func() error { return nil }
	}
	if d.Environment == (views.Environment{}) {
		d.Environment = views.Environment{Name: "PRODUCTION", Live: true}
	}
	d.Limits = d.Limits.withDefaults()
	if d.LimitsNow == nil {
		fixed := d.Limits
		d.LimitsNow = func() Limits { return fixed }
	}
	return nil
}
