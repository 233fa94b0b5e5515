package dispatch

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAnIDReadsBackInEitherCase(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := NotificationID(rapid.SliceOfN(rapid.Byte(), 16, 16).Filter(func(b []byte) bool { return !bytes.Equal(b, make([]byte, 16)) }).Draw(t, "id"))
		s := id.String()
		if len(s) != 30 || !strings.HasPrefix(s, "ntf_") || s != strings.ToLower(s) {
			t.Fatalf("%q", s)
		}
		for _, form := range []string{s, strings.ToUpper(s), s[:10] + strings.ToUpper(s[10:])} {
			if got, err := ParseNotificationID(form); err != nil || got != id {
				t.Fatalf("%q reads as %v, %v", form, got, err)
			}
		}
		if _, err := ParseAttemptID(s); !errors.Is(err, ErrNotFound) {
			t.Fatalf("an id of another kind: %v", err)
		}
	})
}

func TestIDsSortLikeTheirBytesAndTheirTime(t *testing.T) {
	t.Parallel()
	var texts []string
	for i := range 200 {
		id, err := NewID[NotificationID](storyTime().Add(time.Duration(i)*time.Millisecond), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if id[6]>>4 != 7 || id[8]>>6 != 2 {
			t.Fatalf("%x is no UUIDv7", id)
		}
		texts = append(texts, id.String())
	}
	if !slices.IsSorted(texts) {
		t.Error("later ids sort before earlier ones")
	}
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) AttemptID {
			return AttemptID(rapid.SliceOfN(rapid.ByteRange(1, 255), 16, 16).Draw(t, "b"))
		})
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		if bytes.Compare(a[:], b[:]) != strings.Compare(a.String(), b.String()) {
			t.Fatalf("%s and %s sort otherwise than their bytes", a, b)
		}
	})
}

func TestIDsThatCannotExistNameNothing(t *testing.T) {
	t.Parallel()
	good := NotificationID{1, 2, 3, 15: 8}.String()
	body := good[4:]
	last := good[:len(good)-1]
	for _, s := range []string{
		"", "ntf_", body, "ntf" + body, "ntf-" + body, "att_" + body, good + "0", last, " " + good, good + " ", good + "\n", "\n" + good,
		good[:8] + "\n" + good[9:], good[:8] + "-" + good[8:],
		last + "i", last + "l", last + "o", last + "u", last + "I", last + "O", // the letters that look like digits are not in the alphabet
		last + "1",                       // bits beyond the sixteen bytes
		"ntf_" + strings.Repeat("0", 26), // the zero id means none
		"ntf_\u212a" + body[1:],          // the Kelvin sign: strings.ToLower makes a k of it, and the length in characters is right
		"ntf_" + body[:23] + "\u212a",    // the same with the right length in bytes
		"\u212aey_" + body,               //
		"ntf_" + strings.Repeat("\xff", 26),
		"ntf_" + body[:24] + "\u0660", // an Arabic zero
	} {
		got, err := ParseNotificationID(s)
		if !errors.Is(err, ErrNotFound) || !got.IsZero() {
			t.Errorf("%q reads as %v, %v", s, got, err)
		}
	}
	kelvin := "key_" + strings.Repeat("0", 22) + "k"
	if _, err := ParseID[apiKeyKind](strings.Replace(kelvin, "k", "\u212a", 1)); !errors.Is(err, ErrNotFound) {
		t.Errorf("a Kelvin sign passes for a k: %v", err)
	}
}

func TestEveryKindHasItsOwnPrefix(t *testing.T) {
	t.Parallel()
	kinds := []idKind{notificationKind{}, attemptKind{}, clientKind{}, apiKeyKind{}, lookupKind{}, receiptKind{}, verdictKind{}, incidentKind{},
		staffKind{}, recipientKind{}, subjectKind{}}
	seen := map[string]bool{}
	for _, k := range kinds {
		if p := k.prefix(); seen[p] || len(p) != 4 || p[3] != '_' {
			t.Errorf("prefix %q", p)
		}
		seen[k.prefix()] = true
	}
}

func TestTheZeroIDIsEmptyEverywhere(t *testing.T) {
	t.Parallel()
	var none AttemptID
	out, err := json.Marshal(struct{ ID, Other AttemptID }{none, AttemptID{1}})
	if err != nil || string(out) != `{"ID":"","Other":"att_04000000000000000000000000"}` || none.String() != "" || !none.IsZero() {
		t.Errorf("%s, %v", out, err)
	}
}

func TestNewIDPassesTheReadersErrorOn(t *testing.T) {
	t.Parallel()
	_, err := NewID[AttemptID](storyTime(), bytes.NewReader(make([]byte, 9)))
	wantErr(t, err, io.ErrUnexpectedEOF)
}
