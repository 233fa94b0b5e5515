package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"sentonce/store/seal"
)

// loadIndex unwraps the index keys. The error is seal.ErrWrongKey when the key file belongs to another database.
func (db *DB) loadIndex(ctx context.Context) error {
	keys, err := unwrapIndexKeys(ctx, db.w.conn, db.cfg.Master)
	if err != nil {
		return err
	}
	for _, name := range seal.IndexKeyNames() {
		if keys[name] == nil {
			return fmt.Errorf("index key %s is missing: %w", name, ErrSchema)
		}
	}
	db.index = seal.NewIndex(keys)
	return nil
}

// unwrapIndexKeys reads the index keys of a database.
func unwrapIndexKeys(ctx context.Context, conn *sql.Conn, master *seal.Master) (map[string][]byte, error) {
	rows, err := conn.QueryContext(ctx, `SELECT name, key_no, wrapped FROM index_keys`)
	if err != nil {
		return nil, fmt.Errorf("index keys: %w", err)
	}
	keys := map[string][]byte{}
	err = eachRow(rows, func(scan func(...any) error) error {
		var name string
		var no int
		var wrapped []byte
		if err := scan(&name, &no, &wrapped); err != nil {
			return err
		}
		key, err := master.Open(no, "index_key", []byte(name), wrapped)
		if err != nil {
			return fmt.Errorf("index key %s: %w: %w", name, seal.ErrWrongKey, err)
		}
		keys[name] = key
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("index keys: %w", err)
	}
	return keys, nil
}

// makeIndexKeys creates the index keys that a database lacks, all or none of them.
func makeIndexKeys(ctx context.Context, conn *sql.Conn, master *seal.Master) (err error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("index keys: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	for _, name := range seal.IndexKeyNames() {
		key := make([]byte, seal.KeySize)
		if _, err := rand.Read(key); err != nil {
			return fmt.Errorf("index key: %w", err)
		}
		no, wrapped, err := master.Seal("index_key", []byte(name), key)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO index_keys (name, key_no, wrapped) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
			name, no, wrapped); err != nil {
			return fmt.Errorf("index key %s: %w", name, err)
		}
	}
	return tx.Commit()
}
