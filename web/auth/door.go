package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
)

// The bounds of a sign-in.
const (
	hashersAtOnce  = 2               // a hash takes 19 MiB and a processor for a while
	hashPatience   = 5 * time.Second // how long one waits for its turn
	freePerAccount = 5               // tries that cost no waiting
	freePerAddress = 30              // an office can share one address
)

var (
	// ErrRefused: the address, the password or the code is wrong, or the account may not sign in. It is not told which.
	ErrRefused = errors.New("the sign-in is refused")
	// ErrBusy: too many passwords are being verified at the moment.
	ErrBusy = errors.New("too many sign-ins at once")
)

// ThrottledError says that there were too many tries, and how long to wait.
type ThrottledError struct{ Wait time.Duration }

func (e *ThrottledError) Error() string { return fmt.Sprintf("too many tries: wait %s", e.Wait) }

// Accounts is what the door needs of the store.
type Accounts interface {
	Credentials(ctx context.Context, email string) (store.Credentials, error)
	CredentialsOf(ctx context.Context, id dispatch.StaffID) (store.Credentials, error)
	CountTry(ctx context.Context, tries []store.Try) (wait time.Duration, err error)
	NoteFailure(ctx context.Context, t store.Try, who dispatch.StaffID, requestID string) error
	RecoveryCodeFits(ctx context.Context, id dispatch.StaffID, code dispatch.Secret) (bool, error)
}

// Door lets people in who prove who they are. It is safe for concurrent use.
type Door struct {
	accounts Accounts
	clock    dispatch.Clock
	turns    chan struct{}
	verified atomic.Int64 // passwords, since the start
	nobody   string       // a hash of no password, so that an account that does not exist takes as long as one that does
}

// NewDoor makes a door.
func NewDoor(accounts Accounts, clock dispatch.Clock) (*Door, error) {
	nobody, err := HashPassword(dispatch.NewSecret(rand.Text()), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &Door{accounts: accounts, clock: clock, turns: make(chan struct{}, hashersAtOnce), nobody: nobody}, nil
}

// Knock is a try to sign in.
type Knock struct {
	Email     string
	Password  dispatch.Secret
	Code      dispatch.Secret // of an authenticator, or a recovery code; zero: none was typed
	Address   string          // from which it comes
	RequestID string
}

// Proof is a sign-in whose password and code were right. The store checks again that they still are when the session begins.
type Proof struct {
	Person       store.Person
	PasswordHash string
	TOTPStep     int64
	RecoveryCode dispatch.Secret
	Tries        []store.Try
	Continues    bool // the second factor was shown before, in the session that goes on
}

// Open checks a try. The errors are ErrRefused, ErrBusy, *ThrottledError and the store's. The answer and the time that it takes do not tell
// whether there is such an account.
func (d *Door) Open(ctx context.Context, k Knock) (Proof, error) {
	email := strings.TrimSpace(k.Email)
	account := store.Try{Kind: "account", Value: email, Free: freePerAccount}
	tries := []store.Try{account, {Kind: "address", Value: place(k.Address), Free: freePerAddress}}
	wait, err := d.accounts.CountTry(ctx, tries)
	if err != nil {
		return Proof{}, err
	}
	if wait > 0 {
		return Proof{}, &ThrottledError{wait}
	}
	c, err := d.accounts.Credentials(ctx, email)
	if err != nil && !errors.Is(err, dispatch.ErrNotFound) {
		return Proof{}, err
	}
	p, err := d.prove(ctx, c, k)
	if errors.Is(err, ErrRefused) {
		err = errors.Join(err, d.accounts.NoteFailure(ctx, account, c.ID, k.RequestID))
	}
	p.Tries = tries
	return p, err
}

// prove verifies the password always, and then everything else.
func (d *Door) prove(ctx context.Context, c store.Credentials, k Knock) (Proof, error) {
	p := Proof{Person: c.Person, PasswordHash: c.PasswordHash}
	if err := d.verify(ctx, c.PasswordHash, k.Password); err != nil {
		return p, err
	}
	if !c.Active(d.clock.Now()) {
		return p, ErrRefused
	}
	if c.TOTP.IsZero() {
		return p, nil
	}
	var err error
	if p.TOTPStep, err = TOTPStep(c.TOTP, k.Code.Reveal(), d.clock.Now(), c.TOTPStep); err != nil || p.TOTPStep > 0 {
		return p, err
	}
	fits, err := d.accounts.RecoveryCodeFits(ctx, c.ID, k.Code)
	if err != nil {
		return p, err
	}
	if !fits {
		return p, ErrRefused
	}
	p.RecoveryCode = k.Code
	return p, nil
}

// Confirm verifies the password of somebody who is signed in, before a step that needs it. It counts like a try to sign in. The errors are
// those of Open.
func (d *Door) Confirm(ctx context.Context, id dispatch.StaffID, k Knock) (Proof, error) {
	c, err := d.accounts.CredentialsOf(ctx, id)
	if err != nil {
		return Proof{}, err
	}
	account := store.Try{Kind: "account", Value: c.Email, Free: freePerAccount}
	p := Proof{Person: c.Person, PasswordHash: c.PasswordHash, Tries: []store.Try{account}, Continues: true}
	wait, err := d.accounts.CountTry(ctx, p.Tries)
	if err != nil {
		return p, err
	}
	if wait > 0 {
		return p, &ThrottledError{wait}
	}
	if err = d.verify(ctx, c.PasswordHash, k.Password); errors.Is(err, ErrRefused) {
		err = errors.Join(err, d.accounts.NoteFailure(ctx, account, c.ID, k.RequestID))
	}
	return p, err
}

// Hash makes the hash of a new password in its turn. The errors are ErrPassword and ErrBusy.
func (d *Door) Hash(ctx context.Context, password dispatch.Secret) (hash string, err error) {
	err = d.inTurn(ctx, func() error {
		hash, err = HashPassword(password, rand.Reader)
		return err
	})
	return hash, err
}

// verify compares in its turn. Where there is no hash it takes as long and refuses.
func (d *Door) verify(ctx context.Context, hash string, password dispatch.Secret) error {
	real := hash
	if real == "" {
		hash = d.nobody
	}
	err := d.inTurn(ctx, func() error {
		d.verified.Add(1)
		return VerifyPassword(hash, password)
	})
	if errors.Is(err, ErrMismatch) || err == nil && real == "" {
		return ErrRefused
	}
	return err
}

// inTurn waits until few enough hash at once.
func (d *Door) inTurn(ctx context.Context, f func() error) error {
	patience := time.NewTimer(hashPatience)
	defer patience.Stop()
	select {
	case d.turns <- struct{}{}:
		defer func() { <-d.turns }()
		return f()
	case <-patience.C:
		return ErrBusy
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrBusy, ctx.Err())
	}
}

// place is what tries from an address count against: the address itself, for IPv6 the network that one customer has.
func place(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Unmap().Is4() {
		return address
	}
	p, err := a.Prefix(64)
	if err != nil {
		return address
	}
	return p.String()
}
