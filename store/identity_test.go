package store_test

import (
	"errors"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

// hire adds an account for support.
func hire(t *testing.T, s *storetest.Store) store.Credentials {
	t.Helper()
	if _, err := s.AddStaff(t.Context(), store.NewStaff{Email: "sam@example.org", Name: "Sam", Role: store.RoleSupport, PasswordHash: "hash-1",
		By: dispatch.Actor{Kind: dispatch.ActorOperator}}); err != nil {
		t.Fatal(err)
	}
	c, err := s.Credentials(t.Context(), "SAM@example.org")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func proof(c store.Credentials, hash string) store.SignIn {
	return store.SignIn{Staff: c.ID, PasswordHash: c.PasswordHash, Hash: hash, Data: []byte{}}
}

func TestSignInIsRefusedWhenTheAccountChangedSinceThePasswordWasVerified(t *testing.T) {
	t.Parallel()
	operator := dispatch.Actor{Kind: dispatch.ActorOperator}
	for name, change := range map[string]func(*storetest.Store, store.Credentials) error{
		"password": func(s *storetest.Store, c store.Credentials) error {
			return s.SetPassword(t.Context(), c.ID, c.PasswordHash, "hash-2")
		},
		"disabled": func(s *storetest.Store, c store.Credentials) error {
			return s.DisableStaff(t.Context(), c.ID, operator)
		},
		"ended": func(s *storetest.Store, c store.Credentials) error {
			return s.ChangeStaff(t.Context(), store.StaffChange{ID: c.ID, Role: c.Role, EndsAt: s.Clock.Now(), By: operator})
		},
		"second factor": func(s *storetest.Store, c store.Credentials) error {
			_, err := s.EnrolTOTP(t.Context(), c.ID, dispatch.NewSecret("12345678901234567890"), 1)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			c := hire(t, s)
			if err := change(s, c); err != nil {
				t.Fatal(err)
			}
			if err := s.BeginSession(t.Context(), proof(c, "h")); !errors.Is(err, dispatch.ErrStale) {
				t.Errorf("the sign-in: %v", err)
			}
			if _, err := s.FindSession(t.Context(), "h"); !errors.Is(err, dispatch.ErrNotFound) {
				t.Errorf("there is a session: %v", err)
			}
		})
	}
}

func TestOneCodeLetsInOneOfTwoAtOnce(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	c := hire(t, s)
	codes, err := s.EnrolTOTP(t.Context(), c.ID, dispatch.NewSecret("12345678901234567890"), 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, by := range map[string]func(*store.SignIn){
		"a code":          func(i *store.SignIn) { i.TOTPStep = 2 },
		"a recovery code": func(i *store.SignIn) { i.RecoveryCode = codes[3] },
	} {
		errs := make(chan error, 8)
		for i := range cap(errs) {
			go func() {
				in := proof(c, name+string(rune('a'+i)))
				by(&in)
				errs <- s.BeginSession(t.Context(), in)
			}()
		}
		in := 0
		for range cap(errs) {
			switch err := <-errs; {
			case err == nil:
				in++
			case !errors.Is(err, dispatch.ErrStale):
				t.Errorf("%s: %v", name, err)
			}
		}
		if in != 1 {
			t.Errorf("%s let in %d", name, in)
		}
	}
}

func TestOverSessionsAreSweptAndTriesOfYesterdayForgotten(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	c := hire(t, s)
	if err := s.BeginSession(t.Context(), proof(c, "old")); err != nil {
		t.Fatal(err)
	}
	try := []store.Try{{Kind: "account", Value: "sam@example.org", Free: 1}}
	for range 2 {
		if _, err := s.CountTry(t.Context(), try); err != nil {
			t.Fatal(err)
		}
	}
	if wait, err := s.CountTry(t.Context(), try); err != nil || wait <= 0 {
		t.Errorf("the third try waits %v, %v", wait, err)
	}
	s.Clock.Add(25 * time.Hour)
	for range 2 {
		if wait, err := s.CountTry(t.Context(), try); err != nil || wait > 0 {
			t.Errorf("a try of the next day waits %v, %v", wait, err)
		}
	}
	if err := s.BeginSession(t.Context(), proof(c, "new")); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := s.Readers().QueryRow(`SELECT count(*) FROM sessions`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d sessions are stored, %v", n, err)
	}
}
