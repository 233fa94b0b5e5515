package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"sentonce/dispatch"
	"sentonce/store/seal"
)

// TOTPSeed is the secret that a person is offered for a second factor in one session: the same at each look, another in each session, and
// stored nowhere until a code has confirmed it.
func (db *DB) TOTPSeed(id dispatch.StaffID, session string) dispatch.Secret {
	mac := db.index.MAC(seal.KeyStaff, []byte("totp"), id[:], []byte(session))
	return dispatch.NewSecret(string(mac[:20])) // 160 bits, as RFC 4226 §4 recommends
}

const recoveryCount = 10

// EnrolTOTP stores a secret whose code of a time step was verified, and returns new recovery codes. The error is dispatch.ErrStale when there is
// a second factor already.
func (db *DB) EnrolTOTP(ctx context.Context, id dispatch.StaffID, secret dispatch.Secret, step int64) (codes []dispatch.Secret, err error) {
	keyNo, sealed, err := db.cfg.Master.Seal(totpKind, id[:], []byte(secret.Reveal()))
	if err != nil {
		return nil, err
	}
	err = db.write(ctx, "enrol a second factor", func(tx *Tx) error {
		n, err := tx.exec(`UPDATE staff SET totp_since = ?, totp_key_no = ?, totp_sealed = ?, totp_step = ? WHERE id = ? AND totp_since IS NULL`,
			ms(tx.Now), keyNo, sealed, step, blob(id))
		if err == nil && n == 0 {
			return fmt.Errorf("enrol a second factor: %w", dispatch.ErrStale)
		}
		if err != nil {
			return err
		}
		if codes, err = tx.makeRecoveryCodes(db, id); err != nil {
			return err
		}
		return tx.about(id, dispatch.ActionTOTPEnrolled, staffActor(id))
	})
	return codes, err
}

// RemoveTOTP takes the second factor of a person away, with the recovery codes. Where an admin does it, the sessions end, too.
func (db *DB) RemoveTOTP(ctx context.Context, id dispatch.StaffID, by dispatch.Actor) error {
	return db.write(ctx, "remove a second factor", func(tx *Tx) error {
		n, err := tx.exec(`UPDATE staff SET totp_since = NULL, totp_key_no = NULL, totp_sealed = NULL WHERE id = ? AND totp_since IS NOT NULL`, blob(id))
		if err != nil || n == 0 {
			return err
		}
		if _, err := tx.exec(`DELETE FROM recovery_codes WHERE staff = ?`, blob(id)); err != nil {
			return err
		}
		if by.ID != id.String() {
			if err := tx.endSessions(id, "", by); err != nil {
				return err
			}
		}
		return tx.about(id, dispatch.ActionTOTPRemoved, by)
	})
}

// NewRecoveryCodes replaces the recovery codes of a person. The error is dispatch.ErrStale where there is no second factor.
func (db *DB) NewRecoveryCodes(ctx context.Context, id dispatch.StaffID) (codes []dispatch.Secret, err error) {
	err = db.write(ctx, "make recovery codes", func(tx *Tx) error {
		var since time.Time
		if err := tx.row(`SELECT totp_since FROM staff WHERE id = ?`, []any{blob(id)}, at(&since)); err != nil {
			return err
		}
		if since.IsZero() {
			return fmt.Errorf("recovery codes without a second factor: %w", dispatch.ErrStale)
		}
		if codes, err = tx.makeRecoveryCodes(db, id); err != nil {
			return err
		}
		return tx.about(id, dispatch.ActionRecoveryCodesMade, staffActor(id))
	})
	return codes, err
}

func (tx *Tx) makeRecoveryCodes(db *DB, id dispatch.StaffID) (codes []dispatch.Secret, err error) {
	if _, err := tx.exec(`DELETE FROM recovery_codes WHERE staff = ?`, blob(id)); err != nil {
		return nil, err
	}
	for range recoveryCount {
		text := strings.ToLower(rand.Text()) // 5 bits a character
		code := dispatch.NewSecret(text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:16])
		mac := db.recoveryMAC(id, code)
		if _, err := tx.exec(`INSERT INTO recovery_codes (mac, staff) VALUES (?, ?)`, mac[:], blob(id)); err != nil {
			return nil, err
		}
		codes = append(codes, code)
	}
	return codes, nil
}

// recoveryMAC is what is stored of a recovery code, however it is typed.
func (db *DB) recoveryMAC(id dispatch.StaffID, code dispatch.Secret) [32]byte {
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(code.Reveal()))
	return db.index.MAC(seal.KeyStaff, []byte("recovery"), id[:], []byte(plain))
}

// RecoveryCodeFits reports whether a recovery code of a person is unused. It does not use it.
func (db *DB) RecoveryCodeFits(ctx context.Context, id dispatch.StaffID, code dispatch.Secret) (bool, error) {
	mac := db.recoveryMAC(id, code)
	var n int
	err := db.queryRow(ctx, `SELECT count(*) FROM recovery_codes WHERE mac = ? AND staff = ? AND used_at IS NULL`, []any{mac[:], blob(id)}, &n)
	return n == 1, err
}

// RecoveryCodesLeft counts the unused ones.
func (db *DB) RecoveryCodesLeft(ctx context.Context, id dispatch.StaffID) (n int, err error) {
	err = db.queryRow(ctx, `SELECT count(*) FROM recovery_codes WHERE staff = ? AND used_at IS NULL`, []any{blob(id)}, &n)
	return n, err
}
