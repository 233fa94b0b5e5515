// Package auth knows how members of staff prove who they are. It knows nothing of HTTP.
package auth

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"sentonce/dispatch"
)

// The cost of a hash: argon2id with 19 MiB, two passes and one lane, the first choice of the OWASP Password Storage Cheat Sheet.
const (
	memoryKiB = 19 * 1024
	passes    = 2
	lanes     = 1
	saltSize  = 16
	hashSize  = 32
)

// The bounds of a password, in characters and in bytes. Twelve characters keep guessing out even where a hash leaks; the upper bound keeps
// the hashing of a request's body cheap. There are no rules about kinds of characters, as NIST SP 800-63B asks.
const (
	leastPassword = 12
	mostPassword  = 1024
)

// The bounds of the parameters that Verify believes, so that a tampered hash cannot cost any amount of memory or time.
const (
	mostMemoryKiB = 256 * 1024
	mostPasses    = 16
	mostLanes     = 16
)

var (
	// ErrPassword: the password is not one that may be set. The message says why.
	ErrPassword = errors.New("the password cannot be used")
	// ErrMismatch: the password is not the one of the hash.
	ErrMismatch = errors.New("the password does not match")
	// ErrHash: the stored hash cannot be read.
	ErrHash = errors.New("the stored password hash cannot be read")
)

// HashPassword makes an argon2id hash in the PHC string format with a salt from random. The error is ErrPassword.
func HashPassword(password dispatch.Secret, random io.Reader) (string, error) {
	text := password.Reveal()
	switch {
	case !utf8.ValidString(text):
		return "", fmt.Errorf("%w: it is not UTF-8", ErrPassword)
	case utf8.RuneCountInString(text) < leastPassword:
		return "", fmt.Errorf("%w: it has fewer than %d characters", ErrPassword, leastPassword)
	case len(text) > mostPassword:
		return "", fmt.Errorf("%w: it is longer than %d bytes", ErrPassword, mostPassword)
	}
	salt := make([]byte, saltSize)
	if _, err := io.ReadFull(random, salt); err != nil {
		return "", fmt.Errorf("salt: %w", err)
	}
	hash := argon2.IDKey([]byte(text), salt, passes, memoryKiB, lanes, hashSize)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memoryKiB, passes, lanes, encode(salt), encode(hash)), nil
}

// VerifyPassword compares a password with a hash, in a time that depends on the hash alone. The errors are ErrMismatch and ErrHash.
func VerifyPassword(hash string, password dispatch.Secret) error {
	p, err := parse(hash)
	if err != nil {
		return err
	}
	text := password.Reveal()
	if len(text) > mostPassword {
		text = text[:mostPassword] + "longer" // no stored password is that long; the work stays bounded
	}
	got := argon2.IDKey([]byte(text), p.salt, p.passes, p.memory, p.lanes, uint32(len(p.hash)))
	if subtle.ConstantTimeCompare(got, p.hash) != 1 {
		return ErrMismatch
	}
	return nil
}

// parameters is a PHC string taken apart.
type parameters struct {
	memory, passes uint32
	lanes          uint8
	salt, hash     []byte
}

func parse(phc string) (p parameters, err error) {
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return p, ErrHash
	}
	var lanes uint32
	for _, c := range []struct {
		name  string
		value *uint32
		most  uint64
	}{{"m", &p.memory, mostMemoryKiB}, {"t", &p.passes, mostPasses}, {"p", &lanes, mostLanes}} {
		word, rest, _ := strings.Cut(parts[3], ",")
		name, digits, _ := strings.Cut(word, "=")
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil || name != c.name || n < 1 || n > c.most {
			return p, ErrHash
		}
		*c.value, parts[3] = uint32(n), rest
	}
	p.lanes = uint8(lanes)
	var errSalt, errHash error
	p.salt, errSalt = base64.RawStdEncoding.Strict().DecodeString(parts[4])
	p.hash, errHash = base64.RawStdEncoding.Strict().DecodeString(parts[5])
	if errSalt != nil || errHash != nil || parts[3] != "" || len(p.salt) < 8 || len(p.hash) < 16 || len(p.hash) > 64 {
		return p, ErrHash
	}
	return p, nil
}

func encode(b []byte) string { return base64.RawStdEncoding.EncodeToString(b) }
