package store

import (
	"context"
	"fmt"
	"time"

	"sentonce/dispatch"
)

// The limits of a session: how long it lives without a request, and how long in any case.
const (
	SessionIdle     = 30 * time.Minute
	SessionLifetime = 12 * time.Hour
	sessionTouch    = time.Minute // how often a session notes that it is in use
)

// Session is somebody's sign-in.
type Session struct {
	Staff     dispatch.StaffID
	Hash      string // of its token
	Agent     string // the browser in words
	Data      []byte // the session manager's
	CreatedAt time.Time
	SeenAt    time.Time
}

// over reports whether the session has ended by itself.
func (s Session) over(now time.Time) bool {
	return now.Sub(s.SeenAt) >= SessionIdle || now.Sub(s.CreatedAt) >= SessionLifetime
}

// FindSession finds a session by the hash of its token. The error is dispatch.ErrNotFound, also for one that is over.
func (db *DB) FindSession(ctx context.Context, hash string) (s Session, err error) {
	err = db.queryRow(ctx, `SELECT staff, data, created_at, seen_at FROM sessions WHERE hash = ?`, []any{hash},
		into(s.Staff[:]), &s.Data, at(&s.CreatedAt), at(&s.SeenAt))
	if err == nil && s.over(db.cfg.Clock.Now()) {
		err = fmt.Errorf("session: %w", dispatch.ErrNotFound)
	}
	return s, err
}

// TouchSession notes that a session is in use, at most once a minute.
func (db *DB) TouchSession(ctx context.Context, hash string, s Session) error {
	if db.cfg.Clock.Now().Sub(s.SeenAt) < sessionTouch {
		return nil
	}
	return db.write(ctx, "session in use", func(tx *Tx) error {
		_, err := tx.exec(`UPDATE sessions SET seen_at = max(seen_at, ?) WHERE hash = ?`, ms(tx.Now), hash)
		return err
	})
}

// SaveSession stores the data of a session that exists. The error is dispatch.ErrNotFound when it has been ended meanwhile.
func (db *DB) SaveSession(ctx context.Context, hash string, data []byte) error {
	return db.write(ctx, "session", func(tx *Tx) error {
		return one(tx.exec(`UPDATE sessions SET data = ? WHERE hash = ?`, data, hash))
	})
}

// SignIn is a proven sign-in.
type SignIn struct {
	Staff        dispatch.StaffID
	PasswordHash string // that was verified; another one meanwhile refuses the sign-in
	TOTPStep     int64  // of the code that was verified; 0: none was needed or a recovery code was used
	RecoveryCode dispatch.Secret
	Hash         string // of the new session's token
	Data         []byte
	Replaces     string // the hash of a session that ends with it; "": none
	Tries        []Try  // that led to it
	Agent        string
	Continues    bool // the person was signed in before and has shown the password again: no second factor is asked, and no event written
	RequestID    string
}

// BeginSession stores the session of a sign-in, spends the code that proved it, and forgives the tries before it, in one transaction. The
// error is dispatch.ErrStale when the account, its password or the code is not any more what was verified.
func (db *DB) BeginSession(ctx context.Context, s SignIn) error {
	return db.write(ctx, "sign in", func(tx *Tx) error {
		if err := tx.spendProof(db, s); err != nil {
			return err
		}
		if err := tx.sweepSessions(); err != nil {
			return err
		}
		if s.Replaces != "" {
			if _, err := tx.exec(`DELETE FROM sessions WHERE hash = ?`, s.Replaces); err != nil {
				return err
			}
		}
		if _, err := tx.exec(`INSERT INTO sessions (hash, staff, data, agent, created_at, seen_at) VALUES (?, ?, ?, ?, ?, ?)`,
			s.Hash, blob(s.Staff), s.Data, s.Agent, ms(tx.Now), ms(tx.Now)); err != nil {
			return err
		}
		if err := tx.forgive(db, s.Tries); err != nil || s.Continues {
			return err
		}
		_, err := tx.event(dispatch.Event{By: staffActor(s.Staff), Action: dispatch.ActionSignedIn, Cause: s.Staff.String(),
			RequestID: s.RequestID})
		return err
	})
}

func staffActor(id dispatch.StaffID) dispatch.Actor {
	return dispatch.Actor{Kind: dispatch.ActorStaff, ID: id.String()}
}

// spendProof checks again, inside the transaction, that the account is open and that the code was not used by anybody else meanwhile.
func (tx *Tx) spendProof(db *DB, s SignIn) error {
	n, err := tx.exec(`UPDATE staff SET seen_at = ?, totp_step = max(totp_step, ?)
		WHERE id = ? AND password = ? AND disabled_at IS NULL AND (ends_at IS NULL OR ends_at > ?) AND (? = 0 OR totp_step < ?)
		  AND (totp_since IS NULL OR ? > 0 OR ? OR ?)`,
		ms(tx.Now), s.TOTPStep, blob(s.Staff), s.PasswordHash, ms(tx.Now), s.TOTPStep, s.TOTPStep, s.TOTPStep, !s.RecoveryCode.IsZero(), s.Continues)
	if err == nil && n == 1 && !s.RecoveryCode.IsZero() {
		mac := db.recoveryMAC(s.Staff, s.RecoveryCode)
		n, err = tx.exec(`UPDATE recovery_codes SET used_at = ? WHERE mac = ? AND staff = ? AND used_at IS NULL`, ms(tx.Now), mac[:], blob(s.Staff))
	}
	if err == nil && n != 1 {
		return fmt.Errorf("sign in: the account has changed: %w", dispatch.ErrStale)
	}
	return err
}

// sweepSessions deletes some that are over.
func (tx *Tx) sweepSessions() error {
	_, err := tx.exec(`DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE created_at < ? ORDER BY created_at LIMIT 50)`,
		ms(tx.Now.Add(-SessionLifetime)))
	return err
}

// EndSession ends one, as its person wants. Ending it again does nothing.
func (db *DB) EndSession(ctx context.Context, hash string, by dispatch.Actor) error {
	return db.write(ctx, "sign out", func(tx *Tx) error {
		n, err := tx.exec(`DELETE FROM sessions WHERE hash = ?`, hash)
		if err != nil || n == 0 {
			return err
		}
		_, err = tx.event(dispatch.Event{By: by, Action: dispatch.ActionSignedOut, Cause: by.ID})
		return err
	})
}

// EndSessions ends those of a person but for the one whose hash is given.
func (db *DB) EndSessions(ctx context.Context, id dispatch.StaffID, but string, by dispatch.Actor) error {
	return db.write(ctx, "end sessions", func(tx *Tx) error { return tx.endSessions(id, but, by) })
}

func (tx *Tx) endSessions(id dispatch.StaffID, but string, by dispatch.Actor) error {
	n, err := tx.exec(`DELETE FROM sessions WHERE staff = ? AND hash <> ?`, blob(id), but)
	if err != nil || n == 0 {
		return err
	}
	_, err = tx.event(dispatch.Event{By: by, Action: dispatch.ActionSessionsEnded, Cause: id.String(), Count: n})
	return err
}

// SessionsOf lists the sessions of a person that are not over, the newest first, without their data.
func (db *DB) SessionsOf(ctx context.Context, id dispatch.StaffID) (all []Session, err error) {
	now := db.cfg.Clock.Now()
	err = db.snapshot(ctx, func(q querier) error {
		return q.rows(`SELECT hash, agent, created_at, seen_at FROM sessions WHERE staff = ? AND created_at > ? AND seen_at > ?
			ORDER BY created_at DESC, hash`, []any{blob(id), ms(now.Add(-SessionLifetime)), ms(now.Add(-SessionIdle))},
			func(scan func(...any) error) error {
				s := Session{Staff: id}
				err := scan(&s.Hash, &s.Agent, at(&s.CreatedAt), at(&s.SeenAt))
				all = append(all, s)
				return err
			})
	})
	return all, err
}
