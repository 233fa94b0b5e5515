package dispatch

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a text that must never be printed: a message, a token, a full phone number, a credential. Every way of printing it gives
// "[redacted]"; Reveal is the only way to the value, so that a search for it finds each use.
//
// The value is behind a pointer because fmt calls no method on an unexported field of another struct: there it shows an address. Secrets
// cannot be compared with ==.
type Secret struct {
	_     [0]func() // not comparable
	value *string   // nil: none
}

// NewSecret wraps a value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// Reveal returns the value. Callers are the sealer, the content MAC and the provider adapters, nobody else.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero reports whether there is no value.
func (s Secret) IsZero() bool { return s.value == nil }

// Format prints the same word for every verb: without it fmt shows the fields for verbs such as %d.
func (Secret) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, redacted) // a formatter has nobody to tell of an error
}

func (Secret) String() string               { return redacted }
func (Secret) GoString() string             { return redacted }
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
