package dispatch

import "log/slog"

const redacted = "[redacted]"

// Secret is a text that must never be printed: a message, a token, a full phone number, a credential. Every way of printing it gives
// "[redacted]"; Reveal is the only way to the value, so that a search for it finds each use.
type Secret struct{ value string }

// NewSecret wraps a value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal returns the value. Callers are the sealer, the content MAC and the provider adapters, nobody else.
func (s Secret) Reveal() string { return s.value }

// IsZero reports whether there is no value.
func (s Secret) IsZero() bool { return s.value == "" }

func (Secret) String() string               { return redacted }
func (Secret) GoString() string             { return redacted }
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
