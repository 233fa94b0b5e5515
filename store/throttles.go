package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sentonce/dispatch"
	"sentonce/store/seal"
)

// Try is what a try to sign in counts against: an account's name, whether it exists or not, or an address.
type Try struct {
	Kind  string // "account" or "address"
	Value string
	Free  int // so many tries cost no waiting
}

// The waiting between tries: it doubles from a second up to mostDelay, and is over after a day without a try. Nothing is ever locked for good.
const (
	firstDelay  = time.Second
	mostDelay   = 15 * time.Minute
	forgetTries = 24 * time.Hour
	noteEvery   = time.Minute // an event about failures of one account or address is written at most so often
)

func (db *DB) tryMAC(t Try) [32]byte {
	return db.index.MAC(seal.KeyStaff, []byte("try"), []byte(t.Kind), []byte(strings.ToLower(t.Value)))
}

// CountTry counts a try before anything is verified, so that tries at once do not slip past each other, or says how long to wait; then it
// counts nothing. A success forgives it.
func (db *DB) CountTry(ctx context.Context, tries []Try) (wait time.Duration, err error) {
	now := db.cfg.Clock.Now()
	for _, t := range tries {
		mac := db.tryMAC(t)
		var until time.Time
		err := db.queryRow(ctx, `SELECT until FROM throttles WHERE mac = ?`, []any{mac[:]}, at(&until))
		if err != nil && !errors.Is(err, dispatch.ErrNotFound) {
			return 0, err
		}
		wait = max(wait, until.Sub(now))
	}
	if wait > 0 {
		return wait, nil
	}
	err = db.write(ctx, "count a try", func(tx *Tx) error {
		wait, err = tx.countTries(db, tries)
		return err
	})
	return wait, err
}

func (tx *Tx) countTries(db *DB, tries []Try) (wait time.Duration, err error) {
	counts := make([]int, len(tries))
	for i, t := range tries {
		mac := db.tryMAC(t)
		var until, last time.Time
		err := tx.row(`SELECT tries, until, last_at FROM throttles WHERE mac = ?`, []any{mac[:]}, &counts[i], at(&until), at(&last))
		if err != nil && !errors.Is(err, dispatch.ErrNotFound) {
			return 0, err
		}
		if tx.Now.Sub(last) > forgetTries {
			counts[i] = 0
		}
		wait = max(wait, until.Sub(tx.Now))
	}
	if wait > 0 {
		return wait, nil
	}
	for i, t := range tries {
		mac := db.tryMAC(t)
		n := counts[i] + 1
		if _, err := tx.exec(`INSERT INTO throttles (mac, tries, until, last_at) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET tries = excluded.tries, until = excluded.until, last_at = excluded.last_at`,
			mac[:], n, ms(tx.Now.Add(delay(n-t.Free))), ms(tx.Now)); err != nil {
			return 0, err
		}
	}
	_, err = tx.exec(`DELETE FROM throttles WHERE mac IN (SELECT mac FROM throttles WHERE last_at < ? ORDER BY last_at LIMIT 50)`,
		ms(tx.Now.Add(-forgetTries)))
	return 0, err
}

// delay is the waiting after n tries too many.
func delay(n int) time.Duration {
	if n <= 0 {
		return 0
	}
	return min(firstDelay<<min(n-1, 20), mostDelay)
}

// forgive takes the tries of a successful sign-in back: all of the account's, and the one of the address, because who has an account here must
// not be able to wipe out the tries of others from the same place.
func (tx *Tx) forgive(db *DB, tries []Try) error {
	for _, t := range tries {
		mac := db.tryMAC(t)
		query := `UPDATE throttles SET tries = max(tries - 1, 0), until = 0 WHERE mac = ?`
		if t.Kind == "account" {
			query = `DELETE FROM throttles WHERE mac = ?`
		}
		if _, err := tx.exec(query, mac[:]); err != nil {
			return err
		}
	}
	return nil
}

// NoteFailure writes that a sign-in failed, at most once a minute for what it counts against; the event says how many it stands for. who is
// zero where no such account is.
func (db *DB) NoteFailure(ctx context.Context, t Try, who dispatch.StaffID, requestID string) error {
	by := dispatch.Actor{Kind: dispatch.ActorStaff, ID: who.String()}
	return db.paced(ctx, t, dispatch.Event{By: by, Action: dispatch.ActionSignInFailed, Cause: strings.TrimSpace(who.String() + " " + t.Kind),
		RequestID: requestID})
}

// NoteRefusal writes that a person tried what the role may not do, at most once a minute for each person and thing.
func (db *DB) NoteRefusal(ctx context.Context, who dispatch.StaffID, what, requestID string) error {
	return db.paced(ctx, Try{Kind: "refused", Value: who.String() + " " + what}, dispatch.Event{By: staffActor(who),
		Action: dispatch.ActionAccessRefused, Cause: what, RequestID: requestID})
}

// paced writes an event, or counts it for the next one.
func (db *DB) paced(ctx context.Context, t Try, ev dispatch.Event) error {
	mac := db.tryMAC(t)
	return db.write(ctx, string(ev.Action), func(tx *Tx) error {
		var noted time.Time
		err := tx.row(`INSERT INTO throttles (mac, tries, until, last_at, unnoted) VALUES (?, 0, 0, ?, 1)
			ON CONFLICT DO UPDATE SET unnoted = unnoted + 1, last_at = excluded.last_at RETURNING noted_at, unnoted`,
			[]any{mac[:], ms(tx.Now)}, at(&noted), &ev.Count)
		if err != nil || tx.Now.Sub(noted) < noteEvery {
			return err
		}
		if _, err := tx.exec(`UPDATE throttles SET noted_at = ?, unnoted = 0 WHERE mac = ?`, ms(tx.Now), mac[:]); err != nil {
			return err
		}
		if _, err := tx.event(ev); err != nil {
			return fmt.Errorf("note: %w", err)
		}
		return nil
	})
}
