package auth_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"sentonce/dispatch"
	"sentonce/web/auth"
)

const secret = "correct horse battery staple 7"

func TestHashIsArgon2idWithItsOwnSaltAndMatchesOnlyItsPassword(t *testing.T) {
	t.Parallel()
	one, err := auth.HashPassword(dispatch.NewSecret(secret), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	two, err := auth.HashPassword(dispatch.NewSecret(secret), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if one == two {
		t.Error("two hashes of one password are equal: the salt is missing")
	}
	if !strings.HasPrefix(one, "$argon2id$v=19$m=19456,t=2,p=1$") || strings.Contains(one, secret) {
		t.Errorf("the hash is %q", one)
	}
	if err := auth.VerifyPassword(one, dispatch.NewSecret(secret)); err != nil {
		t.Errorf("the right password: %v", err)
	}
	for _, wrong := range []string{"", secret + " ", strings.ToUpper(secret), strings.Repeat("x", 5000)} {
		if err := auth.VerifyPassword(one, dispatch.NewSecret(wrong)); !errors.Is(err, auth.ErrMismatch) {
			t.Errorf("a wrong password of %d bytes: %v", len(wrong), err)
		}
	}
}

func TestVerifyTakesTheParametersFromTheHash(t *testing.T) {
	t.Parallel()
	hash, err := auth.HashPassword(dispatch.NewSecret(secret), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(hash, "t=2", "t=3", 1)
	if err := auth.VerifyPassword(other, dispatch.NewSecret(secret)); !errors.Is(err, auth.ErrMismatch) {
		t.Errorf("the passes of the hash make no difference: %v", err)
	}
}

func TestBrokenHashesAreNeverAMatch(t *testing.T) {
	t.Parallel()
	hash, err := auth.HashPassword(dispatch.NewSecret(secret), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string]string{
		"empty":            "",
		"another kind":     strings.Replace(hash, "argon2id", "argon2i", 1),
		"another version":  strings.Replace(hash, "v=19", "v=16", 1),
		"huge memory":      strings.Replace(hash, "m=19456", "m=4294967295", 1),
		"no passes":        strings.Replace(hash, "t=2", "t=0", 1),
		"many lanes":       strings.Replace(hash, "p=1", "p=255", 1),
		"more parameters":  strings.Replace(hash, "p=1", "p=1,x=1", 1),
		"fewer parameters": strings.Replace(hash, ",p=1", "", 1),
		"no hash":          hash[:strings.LastIndexByte(hash, '$')+1],
		"no base64":        hash + "!",
		"another field":    hash + "$",
	} {
		if err := auth.VerifyPassword(broken, dispatch.NewSecret(secret)); !errors.Is(err, auth.ErrHash) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPasswordsThatCannotBeSet(t *testing.T) {
	t.Parallel()
	for name, password := range map[string]string{"empty": "", "short": "elevenchars", "huge": strings.Repeat("x", 1025), "not text": "twelve bytes\xff"} {
		if _, err := auth.HashPassword(dispatch.NewSecret(password), rand.Reader); !errors.Is(err, auth.ErrPassword) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := auth.HashPassword(dispatch.NewSecret("zwölf Zeichn"), rand.Reader); err != nil {
		t.Errorf("twelve characters: %v", err)
	}
}
