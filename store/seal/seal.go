// Package seal keeps secrets: envelope encryption of single records, and the keyed MACs that stand for values which must not be stored.
//
// A sealed value is encrypted with AES-256-GCM under a data key of its own; the data key is wrapped by the master key, which lives outside
// the database. The additional data binds a value to its record, so that a value moved to another row does not open. Destroying the row
// destroys the data key, and with it the value; the database's journal may hold the sealed form until that part of it is written over.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash"
	"maps"
	"slices"
)

// Master wraps and unwraps keys. It is made by ReadKeyFile and safe for concurrent use.
type Master struct {
	newest int
	aeads  map[int]cipher.AEAD
}

func newMaster(keys map[int][]byte) (*Master, error) {
	m := &Master{newest: slices.Max(slices.Collect(maps.Keys(keys))), aeads: map[int]cipher.AEAD{}}
	for n, key := range keys {
		wrap, err := hkdf.Key(sha256.New, key, nil, "sentonce key wrapping v1", KeySize)
		if err != nil {
			return nil, fmt.Errorf("derive the wrapping key: %w", err)
		}
		if m.aeads[n], err = newAEAD(wrap); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Newest is the number of the key that seals.
func (m *Master) Newest() int { return m.newest }

const wrappedSize = 12 + KeySize + 16 // nonce, key, tag

// Seal encrypts a value for one record. kind and record name the place that the value belongs to.
func (m *Master) Seal(kind string, record, value []byte) (keyNo int, sealed []byte, err error) {
	data := make([]byte, KeySize)
	if _, err := rand.Read(data); err != nil {
		return 0, nil, fmt.Errorf("seal: %w", err)
	}
	aead, err := newAEAD(data)
	if err != nil {
		return 0, nil, err
	}
	ad := binding(kind, record)
	out := make([]byte, 0, wrappedSize+aead.Overhead()+len(value))
	out = m.aeads[m.newest].Seal(out, nil, data, ad)
	return m.newest, aead.Seal(out, nil, value, ad), nil
}

// Open decrypts a value that Seal made for the same place. The errors are ErrWrongKey (no such master key here) and ErrBroken.
func (m *Master) Open(keyNo int, kind string, record, sealed []byte) ([]byte, error) {
	master := m.aeads[keyNo]
	if master == nil {
		return nil, fmt.Errorf("master key %d is not in the key file: %w", keyNo, ErrWrongKey)
	}
	if len(sealed) < wrappedSize {
		return nil, ErrBroken
	}
	ad := binding(kind, record)
	data, err := master.Open(nil, nil, sealed[:wrappedSize], ad)
	if err != nil {
		return nil, fmt.Errorf("unwrap: %w", ErrBroken)
	}
	aead, err := newAEAD(data)
	if err != nil {
		return nil, err
	}
	value, err := aead.Open(nil, nil, sealed[wrappedSize:], ad)
	if err != nil {
		return nil, fmt.Errorf("open: %w", ErrBroken)
	}
	return value, nil
}

// newAEAD is AES-256-GCM that draws its own nonce and keeps it in front of the ciphertext.
func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("cipher: %w", err)
	}
	return aead, nil
}

func binding(kind string, record []byte) []byte {
	return append([]byte("sentonce/"+kind+"/"), record...)
}

// Index makes the keyed MACs that stand for values: pseudonyms, contents, credentials, references. Its keys are made once and live in the
// database, wrapped, because to change them is to lose every comparison with what is stored.
type Index struct{ keys map[string][]byte }

// The names of the index keys.
const (
	KeyRecipient = "recipient"
	KeySubject   = "subject"
	KeyText      = "text"
	KeyAPIKey    = "api_key"
	KeyReference = "reference"
	KeyStaff     = "staff"
)

// IndexKeyNames lists the names.
func IndexKeyNames() []string {
	return []string{KeyRecipient, KeySubject, KeyText, KeyAPIKey, KeyReference, KeyStaff}
}

// NewIndex takes the unwrapped keys by name.
func NewIndex(keys map[string][]byte) *Index { return &Index{keys} }

// MAC is HMAC-SHA256 under the named key over length-prefixed parts, so that no two lists of parts collide.
func (x *Index) MAC(name string, parts ...[]byte) [32]byte {
	m := hmac.New(sha256.New, x.keys[name])
	for _, p := range parts {
		writePart(m, p)
	}
	return [32]byte(m.Sum(nil))
}

// Key returns a named key for a signer of its own.
func (x *Index) Key(name string) []byte { return x.keys[name] }

func writePart(h hash.Hash, p []byte) {
	n := uint32(len(p))
	h.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	h.Write(p)
}
