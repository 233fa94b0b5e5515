package dispatch

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// Reference names one attempt towards a provider. It goes into every field that the provider echoes, so that a receipt settles an attempt
// whose provider id never reached us and names one that this database has forgotten.
type Reference struct {
	Notification NotificationID
	Attempt      AttemptID
	Number       int
}

// ReferenceSigner signs references for the receipt URL and checks them when they come back. The zero value must not be used.
type ReferenceSigner struct{ key []byte }

// NewReferenceSigner makes a signer from a secret key of at least 32 bytes.
func NewReferenceSigner(key []byte) ReferenceSigner { return ReferenceSigner{key} }

// Sign writes a reference as "ntf_….att_….n.mac"; the characters need no escaping in a query.
func (s ReferenceSigner) Sign(r Reference) string {
	text := r.Notification.String() + "." + r.Attempt.String() + "." + strconv.Itoa(r.Number)
	return text + "." + s.mac(text)
}

// Verify reads a signed reference back. The error is ErrForged.
func (s ReferenceSigner) Verify(signed string) (Reference, error) {
	i := strings.LastIndexByte(signed, '.')
	if i < 0 || !hmac.Equal([]byte(s.mac(signed[:i])), []byte(signed[i+1:])) {
		return Reference{}, fmt.Errorf("reference: %w", ErrForged)
	}
	parts := strings.Split(signed[:i], ".")
	if len(parts) != 3 {
		return Reference{}, fmt.Errorf("reference: %w", ErrForged)
	}
	n, err1 := ParseNotificationID(parts[0])
	a, err2 := ParseAttemptID(parts[1])
	number, err3 := strconv.Atoi(parts[2])
	if err1 != nil || err2 != nil || err3 != nil {
		return Reference{}, fmt.Errorf("reference: %w", ErrForged)
	}
	return Reference{n, a, number}, nil
}

func (s ReferenceSigner) mac(text string) string {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:16])
}
