package dispatch

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func signer() ReferenceSigner { return NewReferenceSigner([]byte("0123456789abcdef0123456789abcdef")) }

func anyReference() *rapid.Generator[Reference] {
	id := rapid.Custom(func(t *rapid.T) [16]byte {
		b := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
		b[6] = b[6]&0x0f | 0x70 // never zero
		return b
	})
	return rapid.Custom(func(t *rapid.T) Reference {
		return Reference{NotificationID(id.Draw(t, "notification")), AttemptID(id.Draw(t, "attempt")), rapid.IntRange(1, 99).Draw(t, "number")}
	})
}

func TestAReferenceComesBackFromAnURLAsItWent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ref := anyReference().Draw(t, "reference")
		signed := signer().Sign(ref)
		if url.QueryEscape(signed) != signed {
			t.Fatalf("%q needs escaping", signed)
		}
		if got, err := signer().Verify(signed); err != nil || got != ref {
			t.Fatalf("%+v, %v; want %+v", got, err, ref)
		}
		if _, err := NewReferenceSigner([]byte("another key of thirty-two bytes!")).Verify(signed); err == nil {
			t.Fatal("another key accepts it")
		}
	})
}

func TestAReferenceThatWasTouchedIsForged(t *testing.T) {
	t.Parallel()
	ref := Reference{NotificationID{6: 0x70, 15: 1}, AttemptID{6: 0x70, 15: 2}, 1}
	signed := signer().Sign(ref)
	other := signer().Sign(Reference{NotificationID{6: 0x70, 15: 3}, AttemptID{6: 0x70, 15: 4}, 2})
	p, q := strings.Split(signed, "."), strings.Split(other, ".")
	bad := []string{"", ".", "...", "ntf_.att_.1.", signed + "A", signed + ".", "." + signed, " " + signed, strings.ToUpper(signed),
		signed + "=", signed + "\n", strings.Join(p[:3], "."), strings.Join(p[:3], ".") + ".", p[3]}
	for i := range p { // swap each part with the other reference's
		mixed := append([]string(nil), p...)
		mixed[i] = q[i]
		bad = append(bad, strings.Join(mixed, "."))
	}
	for i := range signed { // cut at each place, and change each character
		bad = append(bad, signed[:i], signed[i+1:])
		for _, c := range []byte{'0', 'A', 'z', '.', signed[i] ^ 1, signed[i] ^ 0x20} {
			if c != signed[i] {
				bad = append(bad, signed[:i]+string(rune(c))+signed[i+1:])
			}
		}
	}
	for _, s := range bad {
		if got, err := signer().Verify(s); err == nil || got != (Reference{}) {
			t.Errorf("%q is accepted as %+v", s, got)
		} else {
			wantErr(t, err, ErrForged)
		}
	}
}

// What is signed but is no reference must not be taken for one either.
func TestASignatureOverSomethingElseIsForged(t *testing.T) {
	t.Parallel()
	s := signer()
	att, ntf := AttemptID{1}.String(), NotificationID{1}.String()
	for _, text := range []string{"", "a", ntf + "." + att, ntf + "." + att + ".x", att + "." + ntf + ".1", ntf + "." + att + ".1.2",
		strings.Repeat("0", 30) + "." + att + ".1"} {
		_, err := s.Verify(text + "." + s.mac(text))
		wantErr(t, err, ErrForged)
	}
	_, err := s.Verify(s.Sign(Reference{Number: 1}))
	wantErr(t, err, ErrForged)
}

func TestAnAttemptNamesItself(t *testing.T) {
	t.Parallel()
	a := Attempt{ID: AttemptID{5}, Number: 3}
	if got := a.Ref(NotificationID{4}); got != (Reference{NotificationID{4}, AttemptID{5}, 3}) {
		t.Errorf("%+v", got)
	}
}
