package auth_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/web/auth"
)

// accounts has nobody in it.
type accounts struct {
	auth.Accounts
	failures int
}

func (*accounts) Credentials(context.Context, string) (store.Credentials, error) {
	return store.Credentials{}, dispatch.ErrNotFound
}
func (*accounts) CountTry(context.Context, []store.Try) (time.Duration, error) { return 0, nil }
func (a *accounts) NoteFailure(context.Context, store.Try, dispatch.StaffID, string) error {
	a.failures++
	return nil
}

func TestDoorGivesUpWhenTooManyHashAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, err := auth.NewDoor(&accounts{}, dispatch.SystemClock{})
		if err != nil {
			t.Fatal(err)
		}
		leave := auth.Occupy(d)
		begin := time.Now()
		_, err = d.Open(t.Context(), auth.Knock{Email: "a@example.org", Password: dispatch.NewSecret(secret)})
		if !errors.Is(err, auth.ErrBusy) || time.Since(begin) != 5*time.Second {
			t.Errorf("the door says %v after %v", err, time.Since(begin))
		}
		leave()
		if _, err = d.Open(t.Context(), auth.Knock{Email: "a@example.org", Password: dispatch.NewSecret(secret)}); !errors.Is(err, auth.ErrRefused) {
			t.Errorf("with a turn free the door says %v", err)
		}
	})
}

func TestUnknownAccountTakesTheWorkOfAKnownOne(t *testing.T) {
	t.Parallel()
	people := &accounts{}
	d, err := auth.NewDoor(people, dispatch.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	before := auth.Turns(d)
	if _, err := d.Open(t.Context(), auth.Knock{Email: "nobody@example.org", Password: dispatch.NewSecret("x")}); !errors.Is(err, auth.ErrRefused) {
		t.Errorf("the door says %v", err)
	}
	if auth.Turns(d) != before+1 || people.failures != 1 {
		t.Errorf("%d passwords were verified and %d failures noted, want one each", auth.Turns(d)-before, people.failures)
	}
}

func TestCodeOfATimeStepCountsOnceAndOnlyNearItsTime(t *testing.T) {
	t.Parallel()
	key := dispatch.NewSecret("12345678901234567890") // RFC 6238, appendix B: the last six digits of its codes
	at := time.Unix(59, 0)
	for _, c := range []struct {
		typed string
		now   time.Time
		used  int64
		want  int64
	}{
		{"287082", at, 0, 1}, {" 287 082 ", at, 0, 1}, {"287082", at, 1, 0}, {"287082", at.Add(30 * time.Second), 0, 1},
		{"287082", at.Add(61 * time.Second), 0, 0}, {"081804", time.Unix(1111111109, 0), 0, 37037036}, {"", at, 0, 0}, {"28708", at, 0, 0},
	} {
		got, err := auth.TOTPStep(key, c.typed, c.now, c.used)
		if err != nil || got != c.want {
			t.Errorf("%q at %v after step %d: step %d, %v; want %d", c.typed, c.now.Unix(), c.used, got, err, c.want)
		}
	}
}

func TestQRCodeHasItsFinders(t *testing.T) {
	t.Parallel()
	rows, err := auth.QR(auth.TOTPAddress(dispatch.NewSecret("12345678901234567890"), "sam@example.org"))
	if err != nil {
		t.Fatal(err)
	}
	n := len(rows)
	for _, corner := range [][2]int{{0, 0}, {n - 7, 0}, {0, n - 7}} {
		for i := range 7 {
			if !rows[corner[1]][corner[0]+i] || !rows[corner[1]+i][corner[0]] {
				t.Fatalf("no finder at %v", corner)
			}
		}
	}
}
