package dispatch

import (
	"encoding/base32"
	"fmt"
	"io"
	"strings"
	"time"
)

// An ID is a UUIDv7 (RFC 9562) of one kind of thing. Inside it is 16 bytes; at the edge it is written as the kind's prefix and 26
// characters of lower-case Crockford base32, which sort like the bytes. The zero value means "none".
type ID[K idKind] [16]byte

type idKind interface{ prefix() string }

type (
	notificationKind struct{}
	attemptKind      struct{}
	clientKind       struct{}
	apiKeyKind       struct{}
	lookupKind       struct{}
	receiptKind      struct{}
	verdictKind      struct{}
	incidentKind     struct{}
	staffKind        struct{}
	recipientKind    struct{}
	subjectKind      struct{}
)

func (notificationKind) prefix() string { return "ntf_" }
func (attemptKind) prefix() string      { return "att_" }
func (clientKind) prefix() string       { return "cli_" }
func (apiKeyKind) prefix() string       { return "key_" }
func (lookupKind) prefix() string       { return "lkp_" }
func (receiptKind) prefix() string      { return "rct_" }
func (verdictKind) prefix() string      { return "vdt_" }
func (incidentKind) prefix() string     { return "inc_" }
func (staffKind) prefix() string        { return "stf_" }
func (recipientKind) prefix() string    { return "rcp_" }
func (subjectKind) prefix() string      { return "sub_" }

// The identifiers of the domain; the prefixes are part of the API.
type (
	NotificationID = ID[notificationKind] // ntf_
	AttemptID      = ID[attemptKind]      // att_
	ClientID       = ID[clientKind]       // cli_
	APIKeyID       = ID[apiKeyKind]       // key_
	LookupID       = ID[lookupKind]       // lkp_
	ReceiptID      = ID[receiptKind]      // rct_
	VerdictID      = ID[verdictKind]      // vdt_
	IncidentID     = ID[incidentKind]     // inc_
	StaffID        = ID[staffKind]        // stf_
)

// The pseudonyms: the first 16 bytes of a keyed HMAC, written like ids. They are the only form in which a number or an account reference
// exists outside the sealed tables.
type (
	RecipientRef = ID[recipientKind] // rcp_: of the E.164 number
	SubjectRef   = ID[subjectKind]   // sub_: of the storefront's account reference, per client
)

// crockford is the alphabet of Crockford's base32 in lower case: no i, l, o or u, so that an id survives being read aloud.
const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// String is the prefixed form, or "" for the zero id.
func (id ID[K]) String() string {
	if id == (ID[K]{}) {
		return ""
	}
	var kind K
	return kind.prefix() + encoding().EncodeToString(id[:])
}

// IsZero reports whether there is no id.
func (id ID[K]) IsZero() bool { return id == ID[K]{} }

// MarshalText writes the prefixed form, so that JSON and logs show what the API shows.
func (id ID[K]) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// ParseID reads the prefixed form in either case. The error is ErrNotFound: an id that cannot exist names nothing, and neither does the zero
// id.
func ParseID[K idKind](s string) (ID[K], error) {
	var kind K
	none := fmt.Errorf("id of kind %q: %w", kind.prefix(), ErrNotFound)
	rest, ok := strings.CutPrefix(lowerASCII(s), kind.prefix())
	if !ok || len(rest) != encoding().EncodedLen(len(ID[K]{})) {
		return ID[K]{}, none
	}
	raw, err := encoding().DecodeString(rest)
	if err != nil || encoding().EncodeToString(raw) != rest {
		return ID[K]{}, none
	}
	id := ID[K](raw)
	if id.IsZero() {
		return id, none
	}
	return id, nil
}

// lowerASCII lowers the letters A–Z only: strings.ToLower would also turn look-alikes such as the Kelvin sign into letters of the alphabet.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// ParseNotificationID reads "ntf_…".
func ParseNotificationID(s string) (NotificationID, error) { return ParseID[notificationKind](s) }

// ParseAttemptID reads "att_…".
func ParseAttemptID(s string) (AttemptID, error) { return ParseID[attemptKind](s) }

// ParseStaffID reads "stf_…".
func ParseStaffID(s string) (StaffID, error) { return ParseID[staffKind](s) }

// NewID makes a UUIDv7 from an instant and 10 random bytes. The error is the reader's.
func NewID[T ~[16]byte](at time.Time, random io.Reader) (T, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[6:]); err != nil {
		return T(b), fmt.Errorf("new id: %w", err)
	}
	ms := uint64(at.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	return T(b), nil
}

func encoding() *base32.Encoding {
	return base32.NewEncoding(crockford).WithPadding(base32.NoPadding)
}
