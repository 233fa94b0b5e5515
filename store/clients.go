package store

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"time"

	lib "modernc.org/sqlite/lib"

	"sentonce/dispatch"
	"sentonce/store/seal"
)

// AddClient makes a client. The error is ErrExists when the name is taken.
func (db *DB) AddClient(ctx context.Context, name string, by dispatch.Actor) (id dispatch.ClientID, err error) {
	err = db.write(ctx, "add a client", func(tx *Tx) error {
		if id, err = newID[dispatch.ClientID](tx); err != nil {
			return err
		}
		_, err := tx.exec(`INSERT INTO clients (id, name, created_at) VALUES (?, ?, ?)`, blob(id), name, ms(tx.Now))
		if isUnique(err) {
			return fmt.Errorf("client %q: %w", name, ErrExists)
		}
		if err != nil {
			return err
		}
		tx.signal.Keys = true
		_, err = tx.event(dispatch.Event{By: by, Action: dispatch.ActionClientAdded, Client: id})
		return err
	})
	return id, err
}

// ClientByName finds a client. The error is dispatch.ErrNotFound.
func (db *DB) ClientByName(ctx context.Context, name string) (id dispatch.ClientID, err error) {
	err = db.queryRow(ctx, `SELECT id FROM clients WHERE name = ?`, []any{name}, into(id[:]))
	return id, err
}

// NewAPIKey says what key to make.
type NewAPIKey struct {
	Client    dispatch.ClientID
	Name      string
	Scopes    []dispatch.Scope
	ExpiresAt time.Time // zero: never
	By        dispatch.Actor
}

// keyPrefix marks our API keys, so that scanners for leaked secrets can know them.
const keyPrefix = "snt_"

// AddAPIKey makes a key of 32 random bytes and returns its secret, which is stored nowhere. The errors are ErrExists when the client has a key
// of that name and dispatch.ErrNotFound when there is no such client.
func (db *DB) AddAPIKey(ctx context.Context, k NewAPIKey) (secret dispatch.Secret, err error) {
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return secret, fmt.Errorf("API key: %w", err)
	}
	secret = dispatch.NewSecret(keyPrefix + base64.RawURLEncoding.EncodeToString(raw))
	mac := db.index.MAC(seal.KeyAPIKey, []byte(secret.Reveal()))
	err = db.write(ctx, "add an API key", func(tx *Tx) error {
		id, err := newID[dispatch.APIKeyID](tx)
		if err != nil {
			return err
		}
		_, err = tx.exec(`INSERT INTO api_keys (id, client, name, secret_mac, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			blob(id), blob(k.Client), k.Name, mac[:], joinScopes(k.Scopes), ms(tx.Now), ms(k.ExpiresAt))
		if code(err) == lib.SQLITE_CONSTRAINT_FOREIGNKEY {
			return fmt.Errorf("client of API key %q: %w", k.Name, dispatch.ErrNotFound)
		}
		if isUnique(err) {
			return fmt.Errorf("API key %q: %w", k.Name, ErrExists)
		}
		if err != nil {
			return err
		}
		tx.signal.Keys = true
		_, err = tx.event(dispatch.Event{By: k.By, Action: dispatch.ActionAPIKeyAdded, Client: k.Client, Cause: id.String()})
		return err
	})
	return secret, err
}

func joinScopes(scopes []dispatch.Scope) string {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = string(s)
	}
	return strings.Join(words, " ")
}

func splitScopes(s string) (scopes []dispatch.Scope) {
	for _, w := range strings.Fields(s) {
		scopes = append(scopes, dispatch.Scope(w))
	}
	return scopes
}

// keyCache remembers keys by their MAC; any change of keys, ours or another process's, empties it.
type keyCache struct {
	mu   sync.RWMutex
	gen  uint64
	keys map[[32]byte]dispatch.APIKey
}

func (c *keyCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gen++
	clear(c.keys)
}

func (c *keyCache) get(mac [32]byte) (k dispatch.APIKey, ok bool, gen uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	k, ok = c.keys[mac]
	return k, ok, c.gen
}

// put keeps a key that was read in generation gen, unless keys have changed since.
func (c *keyCache) put(mac [32]byte, k dispatch.APIKey, gen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if gen != c.gen {
		return
	}
	if c.keys == nil {
		c.keys = map[[32]byte]dispatch.APIKey{}
	}
	c.keys[mac] = k
}

// Authenticate finds the valid key of a bearer token. Keys are compared by their MAC, so that the time it takes tells nothing about them. The
// error is dispatch.ErrNotFound.
func (db *DB) Authenticate(ctx context.Context, token dispatch.Secret) (dispatch.APIKey, error) {
	mac := db.index.MAC(seal.KeyAPIKey, []byte(token.Reveal()))
	k, ok, gen := db.keys.get(mac)
	if !ok {
		var scopes string
		err := db.queryRow(ctx, `SELECT id, client, name, scopes, created_at, expires_at, revoked_at FROM api_keys WHERE secret_mac = ?`,
			[]any{mac[:]}, into(k.ID[:]), into(k.Client[:]), &k.Name, &scopes, at(&k.CreatedAt), at(&k.ExpiresAt), at(&k.RevokedAt))
		if err != nil {
			return k, fmt.Errorf("API key: %w", err)
		}
		k.Scopes = splitScopes(scopes)
		db.keys.put(mac, k, gen)
	}
	if !k.Valid(db.cfg.Clock.Now()) {
		return dispatch.APIKey{}, fmt.Errorf("API key: %w", dispatch.ErrNotFound)
	}
	return k, nil
}

// Role is what a member of staff may do; the pages' table says what that is.
type Role string

// The roles of the staff app.
const (
	RoleSupport    Role = "support"
	RoleCompliance Role = "compliance"
	RoleAuditor    Role = "auditor"
	RoleAdmin      Role = "admin"
)

// Roles lists every role.
func Roles() []Role { return []Role{RoleSupport, RoleCompliance, RoleAuditor, RoleAdmin} }

// NewStaff says what account to make. PasswordHash is an argon2id PHC string.
type NewStaff struct {
	Email        string
	Name         string
	Role         Role
	PasswordHash string
	EndsAt       time.Time // zero: no end
	By           dispatch.Actor
}

// AddStaff makes an account for a member of staff. The error is ErrExists when the address has one.
func (db *DB) AddStaff(ctx context.Context, s NewStaff) (id dispatch.StaffID, err error) {
	err = db.write(ctx, "add staff", func(tx *Tx) error {
		if id, err = newID[dispatch.StaffID](tx); err != nil {
			return err
		}
		_, err := tx.exec(`INSERT INTO staff (id, email, name, role, password, created_at, ends_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			blob(id), s.Email, s.Name, string(s.Role), s.PasswordHash, ms(tx.Now), ms(s.EndsAt))
		if isUnique(err) {
			return fmt.Errorf("staff: %w", ErrExists)
		}
		if err != nil {
			return err
		}
		_, err = tx.event(dispatch.Event{By: s.By, Action: dispatch.ActionStaffAdded, Cause: id.String()})
		return err
	})
	return id, err
}

// fullFor is how long a lost batch counts as a full disk when nothing was stored since. A probe needs less room than an admission, so that it
// may succeed where that fails.
const fullFor = 5 * time.Second
