package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"sentonce/dispatch"
	"sentonce/store/seal"
)

// InviteLife is how long a link of an invitation works.
const InviteLife = 24 * time.Hour

// Invite makes an account without a password and the token of a link with which its person sets one; the token is stored nowhere. The error is
// ErrExists when the address has an account. PasswordHash is ignored.
func (db *DB) Invite(ctx context.Context, s NewStaff, mustTOTP bool) (id dispatch.StaffID, token dispatch.Secret, err error) {
	token = newToken()
	err = db.write(ctx, "invite staff", func(tx *Tx) error {
		if id, err = newID[dispatch.StaffID](tx); err != nil {
			return err
		}
		_, err := tx.exec(`INSERT INTO staff (id, email, name, role, password, created_at, ends_at, must_totp) VALUES (?, ?, ?, ?, '', ?, ?, ?)`,
			blob(id), s.Email, s.Name, string(s.Role), ms(tx.Now), ms(s.EndsAt), mustTOTP)
		if isUnique(err) {
			return fmt.Errorf("staff: %w", ErrExists)
		}
		if err != nil {
			return err
		}
		return tx.invite(db, id, token, s.By)
	})
	return id, token, err
}

// InviteAgain makes a new link for an account, so that its person sets a new password; older links end. The errors are dispatch.ErrNotFound
// and, for an account that is disabled, dispatch.ErrStale.
func (db *DB) InviteAgain(ctx context.Context, id dispatch.StaffID, by dispatch.Actor) (token dispatch.Secret, err error) {
	token = newToken()
	err = db.write(ctx, "invite staff again", func(tx *Tx) error {
		var disabled time.Time
		if err := tx.row(`SELECT disabled_at FROM staff WHERE id = ?`, []any{blob(id)}, at(&disabled)); err != nil {
			return err
		}
		if !disabled.IsZero() {
			return fmt.Errorf("invite a disabled account: %w", dispatch.ErrStale)
		}
		return tx.invite(db, id, token, by)
	})
	return token, err
}

func (tx *Tx) invite(db *DB, id dispatch.StaffID, token dispatch.Secret, by dispatch.Actor) error {
	if err := tx.byAdmin(by); err != nil {
		return err
	}
	if _, err := tx.exec(`DELETE FROM invites WHERE staff = ?`, blob(id)); err != nil {
		return err
	}
	mac := db.inviteMAC(token)
	if _, err := tx.exec(`INSERT INTO invites (mac, staff, created_at, expires_at) VALUES (?, ?, ?, ?)`,
		mac[:], blob(id), ms(tx.Now), ms(tx.Now.Add(InviteLife))); err != nil {
		return err
	}
	return tx.about(id, dispatch.ActionStaffInvited, by)
}

func (db *DB) inviteMAC(token dispatch.Secret) [32]byte {
	return db.index.MAC(seal.KeyStaff, []byte("invite"), []byte(token.Reveal()))
}

// newToken has 130 random bits.
func newToken() dispatch.Secret { return dispatch.NewSecret(rand.Text()) }

// Invitation finds whom a link is for. The error is dispatch.ErrNotFound: unknown, used, replaced or over.
func (db *DB) Invitation(ctx context.Context, token dispatch.Secret) (p Person, err error) {
	mac, now := db.inviteMAC(token), db.cfg.Clock.Now()
	err = db.queryRow(ctx, `SELECT `+personColumns+` FROM staff WHERE id = (SELECT staff FROM invites WHERE mac = ? AND expires_at > ?)`,
		[]any{mac[:], ms(now)}, p.dest()...)
	if err == nil && !p.Active(now) {
		err = fmt.Errorf("invitation: %w", dispatch.ErrNotFound)
	}
	return p, err
}

// AcceptInvitation sets the password of the link's person and ends the link and every session. A link works once: of two at once one gets
// dispatch.ErrNotFound.
func (db *DB) AcceptInvitation(ctx context.Context, token dispatch.Secret, passwordHash string) (id dispatch.StaffID, err error) {
	mac := db.inviteMAC(token)
	err = db.write(ctx, "accept an invitation", func(tx *Tx) error {
		if err := tx.row(`DELETE FROM invites WHERE mac = ? AND expires_at > ? RETURNING staff`, []any{mac[:], ms(tx.Now)}, into(id[:])); err != nil {
			return err
		}
		n, err := tx.exec(`UPDATE staff SET password = ?, password_changed_at = ?
			WHERE id = ? AND disabled_at IS NULL AND (ends_at IS NULL OR ends_at > ?)`, passwordHash, ms(tx.Now), blob(id), ms(tx.Now))
		if err := one(n, err); err != nil {
			return err
		}
		if err := tx.endSessions(id, "", staffActor(id)); err != nil {
			return err
		}
		return tx.about(id, dispatch.ActionInvitationAccepted, staffActor(id))
	})
	return id, err
}

// SetPassword replaces a password that was verified against the old hash, and ends every session. The error is dispatch.ErrStale when the
// password has changed meanwhile.
func (db *DB) SetPassword(ctx context.Context, id dispatch.StaffID, oldHash, newHash string) error {
	return db.write(ctx, "set a password", func(tx *Tx) error {
		n, err := tx.exec(`UPDATE staff SET password = ?, password_changed_at = ? WHERE id = ? AND password = ?`, newHash, ms(tx.Now), blob(id), oldHash)
		if err == nil && n == 0 {
			return fmt.Errorf("set a password: %w", dispatch.ErrStale)
		}
		if err != nil {
			return err
		}
		if _, err := tx.exec(`DELETE FROM invites WHERE staff = ?`, blob(id)); err != nil {
			return err
		}
		if err := tx.endSessions(id, "", staffActor(id)); err != nil {
			return err
		}
		return tx.about(id, dispatch.ActionPasswordChanged, staffActor(id))
	})
}
