package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sentonce/dispatch"
)

// Person is an account of a member of staff, without what proves who it is.
type Person struct {
	ID          dispatch.StaffID
	Email, Name string
	Role        Role
	CreatedAt   time.Time
	EndsAt      time.Time // zero: no end
	DisabledAt  time.Time // zero: it is not
	SeenAt      time.Time // the newest sign-in; zero: never
	Invited     bool      // has no password yet
	TOTPSince   time.Time // zero: no second factor
	MustTOTP    bool      // may do nothing before there is one

	InvitedUntil time.Time // until when a link works; zero: there is none
	Preferences
}

// Active reports whether the person may work at an instant.
func (p Person) Active(now time.Time) bool {
	return p.DisabledAt.IsZero() && (p.EndsAt.IsZero() || now.Before(p.EndsAt))
}

// Preferences are how a person wants pages to be.
type Preferences struct {
	Zone    string // IANA
	Theme   string // auto, light, dark
	Density string // comfortable, compact
	Live    bool   // pages follow what happens
	KeysOff bool   // no shortcuts of a single key
}

// Credentials are what a sign-in is checked against.
type Credentials struct {
	Person
	PasswordHash string          // "" while invited
	TOTP         dispatch.Secret // the shared secret, raw bytes; zero: no second factor
	TOTPStep     int64           // the newest time step whose code was used
}

const personColumns = `id, email, name, role, created_at, ends_at, disabled_at, seen_at, password = '', totp_since, must_totp, zone, theme,
	density, live, keys_off, (SELECT expires_at FROM invites WHERE invites.staff = staff.id)`

func (p *Person) dest() []any {
	return []any{into(p.ID[:]), &p.Email, &p.Name, &p.Role, at(&p.CreatedAt), at(&p.EndsAt), at(&p.DisabledAt), at(&p.SeenAt), &p.Invited,
		at(&p.TOTPSince), &p.MustTOTP, &p.Zone, &p.Theme, &p.Density, &p.Live, &p.KeysOff, at(&p.InvitedUntil)}
}

// Person finds an account. The error is dispatch.ErrNotFound.
func (db *DB) Person(ctx context.Context, id dispatch.StaffID) (p Person, err error) {
	err = db.queryRow(ctx, `SELECT `+personColumns+` FROM staff WHERE id = ?`, []any{blob(id)}, p.dest()...)
	return p, err
}

// People lists every account, by name.
func (db *DB) People(ctx context.Context) (all []Person, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		return q.rows(`SELECT `+personColumns+` FROM staff ORDER BY name, id`, nil, func(scan func(...any) error) error {
			var p Person
			err := scan(p.dest()...)
			all = append(all, p)
			return err
		})
	})
	return all, err
}

const totpKind = "staff_totp"

// Credentials finds an account by its address, in either case. The error is dispatch.ErrNotFound.
func (db *DB) Credentials(ctx context.Context, email string) (c Credentials, err error) {
	return db.credentials(ctx, `email = ?`, email)
}

// CredentialsOf finds those of a person. The error is dispatch.ErrNotFound.
func (db *DB) CredentialsOf(ctx context.Context, id dispatch.StaffID) (c Credentials, err error) {
	return db.credentials(ctx, `id = ?`, blob(id))
}

func (db *DB) credentials(ctx context.Context, where string, arg any) (c Credentials, err error) {
	var keyNo int
	var sealed []byte
	err = db.queryRow(ctx, `SELECT `+personColumns+`, password, coalesce(totp_key_no, 0), totp_sealed, totp_step FROM staff WHERE `+where,
		[]any{arg}, append(c.dest(), &c.PasswordHash, &keyNo, &sealed, &c.TOTPStep)...)
	if err != nil || c.TOTPSince.IsZero() {
		return c, err
	}
	secret, err := db.cfg.Master.Open(keyNo, totpKind, c.ID[:], sealed)
	if err != nil {
		return c, fmt.Errorf("second factor of %s: %w", c.ID, err)
	}
	c.TOTP = dispatch.NewSecret(string(secret))
	return c, nil
}

// Prefer stores how a person wants pages to be. The error is dispatch.ErrNotFound.
func (db *DB) Prefer(ctx context.Context, id dispatch.StaffID, p Preferences) error {
	return db.write(ctx, "preferences", func(tx *Tx) error {
		n, err := tx.exec(`UPDATE staff SET zone = ?, theme = ?, density = ?, live = ?, keys_off = ? WHERE id = ?`,
			p.Zone, p.Theme, p.Density, p.Live, p.KeysOff, blob(id))
		return one(n, err)
	})
}

// one makes an ErrNotFound of a change that changed nothing.
func one(n int64, err error) error {
	if err == nil && n == 0 {
		return dispatch.ErrNotFound
	}
	return err
}

// ErrSelf says that nobody changes the own role or disables the own account.
var ErrSelf = errors.New("one does not do this to oneself")

// StaffChange says what an admin makes of an account.
type StaffChange struct {
	ID       dispatch.StaffID
	Role     Role
	EndsAt   time.Time // zero: no end
	MustTOTP bool
	By       dispatch.Actor
}

// ChangeStaff stores role, end and the duty to have a second factor. What narrows or moves what somebody may do ends the sessions. The errors
// are ErrSelf for the own account and dispatch.ErrNotFound.
func (db *DB) ChangeStaff(ctx context.Context, c StaffChange) error {
	if c.By.ID == c.ID.String() {
		return fmt.Errorf("change staff: %w", ErrSelf)
	}
	return db.write(ctx, "change staff", func(tx *Tx) error {
		if err := tx.byAdmin(c.By); err != nil {
			return err
		}
		var old Person
		if err := tx.row(`SELECT `+personColumns+` FROM staff WHERE id = ?`, []any{blob(c.ID)}, old.dest()...); err != nil {
			return err
		}
		words := c.differs(old)
		if len(words) == 0 {
			return nil
		}
		if _, err := tx.exec(`UPDATE staff SET role = ?, ends_at = ?, must_totp = ? WHERE id = ?`, string(c.Role), ms(c.EndsAt), c.MustTOTP,
			blob(c.ID)); err != nil {
			return err
		}
		if err := tx.endSessions(c.ID, "", c.By); err != nil {
			return err
		}
		return tx.about(c.ID, dispatch.ActionStaffChanged, c.By, words...)
	})
}

func (c StaffChange) differs(old Person) (words []string) {
	if c.Role != old.Role {
		words = append(words, "role="+string(c.Role))
	}
	if !c.EndsAt.Equal(old.EndsAt) {
		ends := "none"
		if !c.EndsAt.IsZero() {
			ends = c.EndsAt.UTC().Format(time.RFC3339)
		}
		words = append(words, "ends="+ends)
	}
	if c.MustTOTP != old.MustTOTP {
		words = append(words, fmt.Sprintf("must_totp=%t", c.MustTOTP))
	}
	return words
}

// byAdmin checks, inside the transaction, that a person who changes accounts is an admin still: two who disable each other at once must not
// leave none. The error is dispatch.ErrStale.
func (tx *Tx) byAdmin(by dispatch.Actor) error {
	if by.Kind != dispatch.ActorStaff {
		return nil
	}
	id, err := dispatch.ParseStaffID(by.ID)
	if err != nil {
		return err
	}
	var p Person
	if err := tx.row(`SELECT `+personColumns+` FROM staff WHERE id = ?`, []any{blob(id)}, p.dest()...); err != nil {
		return err
	}
	if p.Role != RoleAdmin || !p.Active(tx.Now) {
		return fmt.Errorf("%s is no admin any more: %w", id, dispatch.ErrStale)
	}
	return nil
}

// about writes an event about an account.
func (tx *Tx) about(id dispatch.StaffID, action dispatch.Action, by dispatch.Actor, words ...string) error {
	_, err := tx.event(dispatch.Event{By: by, Action: action, Cause: strings.Join(append([]string{id.String()}, words...), " ")})
	return err
}

// DisableStaff closes an account and ends its sessions; EnableStaff opens it again. Both do nothing where it is so already. The errors are
// ErrSelf and dispatch.ErrNotFound.
func (db *DB) DisableStaff(ctx context.Context, id dispatch.StaffID, by dispatch.Actor) error {
	if by.ID == id.String() {
		return fmt.Errorf("disable staff: %w", ErrSelf)
	}
	return db.switchStaff(ctx, id, by, dispatch.ActionStaffDisabled)
}

// EnableStaff opens a disabled account again.
func (db *DB) EnableStaff(ctx context.Context, id dispatch.StaffID, by dispatch.Actor) error {
	return db.switchStaff(ctx, id, by, dispatch.ActionStaffEnabled)
}

func (db *DB) switchStaff(ctx context.Context, id dispatch.StaffID, by dispatch.Actor, action dispatch.Action) error {
	return db.write(ctx, string(action), func(tx *Tx) error {
		if err := tx.byAdmin(by); err != nil {
			return err
		}
		var since time.Time
		if err := tx.row(`SELECT disabled_at FROM staff WHERE id = ?`, []any{blob(id)}, at(&since)); err != nil {
			return err
		}
		disable := action == dispatch.ActionStaffDisabled
		if since.IsZero() != disable {
			return nil
		}
		to := time.Time{}
		if disable {
			to = tx.Now
		}
		if _, err := tx.exec(`UPDATE staff SET disabled_at = ? WHERE id = ?`, ms(to), blob(id)); err != nil {
			return err
		}
		if _, err := tx.exec(`DELETE FROM invites WHERE staff = ?`, blob(id)); err != nil {
			return err
		}
		if err := tx.endSessions(id, "", by); err != nil {
			return err
		}
		return tx.about(id, action, by)
	})
}
