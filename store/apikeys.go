package store

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"sentonce/dispatch"
	"sentonce/store/seal"
)

// ClientSummary is one storefront with what a list says about it.
type ClientSummary struct {
	ID        dispatch.ClientID
	Name      string
	CreatedAt time.Time
	Keys      int       // that can be used now
	NextEnd   time.Time // the next end of such a key; zero: none ends
	Accepted  int       // since the given instant, counted up to 10,000; 10,001 means more
	Unknown   int       // doubts that are open
}

// CountedTo is how far lists are counted exactly.
const CountedTo = 10_000

// Clients lists the storefronts by name.
func (db *DB) Clients(ctx context.Context, since time.Time) (all []ClientSummary, err error) {
	now := db.cfg.Clock.Now().UnixMilli()
	err = db.snapshot(ctx, func(q querier) error {
		all, err = readAll(q, func(scan func(...any) error) (c ClientSummary, err error) {
			err = scan(into(c.ID[:]), &c.Name, at(&c.CreatedAt), &c.Keys, at(&c.NextEnd), &c.Accepted, &c.Unknown)
			return c, err
		}, `WITH usable AS (SELECT client, expires_at FROM api_keys WHERE revoked_at IS NULL AND coalesce(expires_at, ?1 + 1) > ?1),
			doubts AS (SELECT client, count(*) AS n FROM notifications WHERE state = 'dispatch_unknown' GROUP BY client)
			SELECT c.id, c.name, c.created_at, (SELECT count(*) FROM usable WHERE client = c.id),
				(SELECT min(expires_at) FROM usable WHERE client = c.id),
				(SELECT count(*) FROM (SELECT 1 FROM notifications n INDEXED BY notifications_client
					WHERE n.version > 0 AND n.client = c.id AND n.id >= ?2 LIMIT ?3)),
				coalesce((SELECT n FROM doubts WHERE client = c.id), 0)
			FROM clients c ORDER BY c.name`, now, idFloor(since), CountedTo+1)
		return err
	})
	return all, err
}

// APIKeys lists the keys of a client, the newest first, with the names of who made them. The error is dispatch.ErrNotFound when there is no
// such client.
func (db *DB) APIKeys(ctx context.Context, c dispatch.ClientID) (name string, created time.Time, keys []dispatch.APIKey, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		if err := q.row(`SELECT name, created_at FROM clients WHERE id = ?`, []any{blob(c)}, &name, at(&created)); err != nil {
			return fmt.Errorf("client: %w", err)
		}
		keys, err = readAll(q, scanAPIKey, `SELECT id, client, name, scopes, created_at, expires_at, revoked_at FROM api_keys
			WHERE client = ? ORDER BY id DESC`, blob(c))
		return err
	})
	return name, created, keys, err
}

func scanAPIKey(scan func(...any) error) (k dispatch.APIKey, err error) {
	var scopes string
	err = scan(into(k.ID[:]), into(k.Client[:]), &k.Name, &scopes, at(&k.CreatedAt), at(&k.ExpiresAt), at(&k.RevokedAt))
	k.Scopes = splitScopes(scopes)
	return k, err
}

// KeyChange names a key and who changes it.
type KeyChange struct {
	Client dispatch.ClientID
	Key    dispatch.APIKeyID
	By     dispatch.Actor
}

// key reads the key of a change. The error is dispatch.ErrNotFound, or dispatch.ErrStale when it cannot be used any more.
func (tx *Tx) key(c KeyChange) (k dispatch.APIKey, err error) {
	keys, err := readAll(tx, scanAPIKey, `SELECT id, client, name, scopes, created_at, expires_at, revoked_at FROM api_keys
		WHERE id = ? AND client = ?`, blob(c.Key), blob(c.Client))
	if err != nil {
		return k, err
	}
	if len(keys) == 0 {
		return k, fmt.Errorf("API key: %w", dispatch.ErrNotFound)
	}
	if !keys[0].Valid(tx.Now) {
		return k, fmt.Errorf("API key: %w", dispatch.ErrStale)
	}
	return keys[0], nil
}

// RotateAPIKey makes a key with the same rights under another name and lets the old one work for the overlap, or to its own end if that is
// earlier. It returns the secret, which is stored nowhere.
func (db *DB) RotateAPIKey(ctx context.Context, c KeyChange, overlap time.Duration, expires time.Time) (secret dispatch.Secret, name string, err error) {
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return secret, "", fmt.Errorf("API key: %w", err)
	}
	secret = dispatch.NewSecret(keyPrefix + base64.RawURLEncoding.EncodeToString(raw))
	mac := db.index.MAC(seal.KeyAPIKey, []byte(secret.Reveal()))
	err = db.write(ctx, "rotate an API key", func(tx *Tx) error {
		old, err := tx.key(c)
		if err != nil {
			return err
		}
		if name, err = tx.freeKeyName(old); err != nil {
			return err
		}
		id, err := newID[dispatch.APIKeyID](tx)
		if err != nil {
			return err
		}
		if _, err := tx.exec(`INSERT INTO api_keys (id, client, name, secret_mac, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			blob(id), blob(c.Client), name, mac[:], joinScopes(old.Scopes), ms(tx.Now), ms(expires)); err != nil {
			return fmt.Errorf("API key: %w", err)
		}
		end := tx.Now.Add(overlap)
		if !old.ExpiresAt.IsZero() && old.ExpiresAt.Before(end) {
			end = old.ExpiresAt
		}
		if _, err := tx.exec(`UPDATE api_keys SET expires_at = ? WHERE id = ?`, ms(end), blob(old.ID)); err != nil {
			return fmt.Errorf("API key: %w", err)
		}
		tx.signal.Keys = true
		if _, err := tx.event(dispatch.Event{By: c.By, Action: dispatch.ActionAPIKeyRotated, Client: c.Client, Cause: old.ID.String()}); err != nil {
			return err
		}
		_, err = tx.event(dispatch.Event{By: c.By, Action: dispatch.ActionAPIKeyAdded, Client: c.Client, Cause: id.String()})
		return err
	})
	return secret, name, err
}

// freeKeyName is the name of a key's successor: its own, and the next number that is free.
func (tx *Tx) freeKeyName(old dispatch.APIKey) (string, error) {
	base := old.Name
	if len(base) > 90 {
		base = base[:90]
	}
	for n := 2; ; n++ {
		name := fmt.Sprintf("%s (%d)", base, n)
		var taken bool
		if err := tx.row(`SELECT EXISTS (SELECT 1 FROM api_keys WHERE client = ? AND name = ?)`, []any{blob(old.Client), name}, &taken); err != nil {
			return "", err
		}
		if !taken {
			return name, nil
		}
	}
}

// RevokeAPIKey ends a key at once, in every running server.
func (db *DB) RevokeAPIKey(ctx context.Context, c KeyChange) error {
	return db.write(ctx, "revoke an API key", func(tx *Tx) error {
		if _, err := tx.key(c); err != nil {
			return err
		}
		if _, err := tx.exec(`UPDATE api_keys SET revoked_at = ? WHERE id = ?`, ms(tx.Now), blob(c.Key)); err != nil {
			return fmt.Errorf("API key: %w", err)
		}
		tx.signal.Keys = true
		_, err := tx.event(dispatch.Event{By: c.By, Action: dispatch.ActionAPIKeyRevoked, Client: c.Client, Cause: c.Key.String()})
		return err
	})
}
