package seal_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentonce/store/seal"
)

func master(t *testing.T) *seal.Master {
	t.Helper()
	path := filepath.Join(t.TempDir(), "master.key")
	if err := seal.WriteKeyFile(path, rand.Reader); err != nil {
		t.Fatal(err)
	}
	m, err := seal.ReadKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSealedValueOpensOnlyInItsPlaceAndWithItsKey(t *testing.T) {
	t.Parallel()
	m, other := master(t), master(t)
	no, sealed, err := m.Seal("message", []byte("record"), []byte("the text"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("the text")) {
		t.Fatal("the sealed value holds the text")
	}
	got, err := m.Open(no, "message", []byte("record"), sealed)
	if err != nil || string(got) != "the text" {
		t.Fatalf("Open = %q, %v", got, err)
	}
	flipped := bytes.Clone(sealed)
	flipped[len(flipped)-1] ^= 1
	for name, try := range map[string]func() ([]byte, error){
		"another record": func() ([]byte, error) { return m.Open(no, "message", []byte("recorD"), sealed) },
		"another kind":   func() ([]byte, error) { return m.Open(no, "recipient", []byte("record"), sealed) },
		"another master": func() ([]byte, error) { return other.Open(no, "message", []byte("record"), sealed) },
		"a flipped bit":  func() ([]byte, error) { return m.Open(no, "message", []byte("record"), flipped) },
		"a cut value":    func() ([]byte, error) { return m.Open(no, "message", []byte("record"), sealed[:20]) },
		"an empty value": func() ([]byte, error) { return m.Open(no, "message", []byte("record"), nil) },
		"an unknown key": func() ([]byte, error) { return m.Open(9, "message", []byte("record"), sealed) },
	} {
		if got, err := try(); err == nil || !errors.Is(err, seal.ErrBroken) && !errors.Is(err, seal.ErrWrongKey) {
			t.Errorf("%s: Open = %q, %v", name, got, err)
		}
	}
}

func TestKeyFileIsRefusedWhenOthersCanReadItOrItIsMalformed(t *testing.T) {
	t.Parallel()
	hex64 := strings.Repeat("ab", 32)
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		ok   bool
	}{
		"plain hex":          {hex64 + "\n", 0o600, true},
		"numbered":           {"# note\n\n1 " + hex64 + "\n2 " + strings.Repeat("cd", 32) + "\n", 0o600, true},
		"readable by group":  {hex64, 0o640, false},
		"readable by others": {hex64, 0o604, false},
		"too short":          {hex64[:62], 0o600, false},
		"not hex":            {strings.Repeat("xy", 32), 0o600, false},
		"empty":              {"\n", 0o600, false},
		"a number twice":     {"1 " + hex64 + "\n1 " + hex64, 0o600, false},
		"number zero":        {"0 " + hex64, 0o600, false},
		"three words":        {"1 " + hex64 + " x", 0o600, false},
	} {
		path := filepath.Join(t.TempDir(), "k")
		if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		_, err := seal.ReadKeyFile(path)
		if (err == nil) != c.ok {
			t.Errorf("%s: error %v, want ok = %v", name, err, c.ok)
		}
		if err != nil && strings.Contains(err.Error(), hex64[:16]) {
			t.Errorf("%s: the error holds the key: %v", name, err)
		}
	}
	if _, err := seal.ReadKeyFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, seal.ErrKeyFile) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestWriteKeyFileNeverReplacesOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	if err := seal.WriteKeyFile(path, rand.Reader); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	if err := seal.WriteKeyFile(path, rand.Reader); !errors.Is(err, seal.ErrKeyFile) {
		t.Fatalf("the second write: %v", err)
	}
	after, _ := os.ReadFile(path)
	if !bytes.Equal(before, after) {
		t.Fatal("the key was replaced")
	}
}

func TestMACSeparatesPartsAndKeys(t *testing.T) {
	t.Parallel()
	x := seal.NewIndex(map[string][]byte{"a": bytes.Repeat([]byte{1}, 32), "b": bytes.Repeat([]byte{2}, 32)})
	if x.MAC("a", []byte("ab"), []byte("c")) == x.MAC("a", []byte("a"), []byte("bc")) {
		t.Error("parts run together")
	}
	if x.MAC("a", []byte("v")) == x.MAC("b", []byte("v")) {
		t.Error("keys make no difference")
	}
}
