package store_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/seal"
	"sentonce/store/storetest"
)

func newMaster(t *testing.T) *seal.Master {
	t.Helper()
	path := filepath.Join(t.TempDir(), "k")
	if err := seal.WriteKeyFile(path, rand.Reader); err != nil {
		t.Fatal(err)
	}
	m, err := seal.ReadKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAnotherMasterKeyDoesNotOpenTheDatabase(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	cfg := s.Config()
	cfg.Master = newMaster(t)
	if _, err := store.Open(t.Context(), cfg); !errors.Is(err, seal.ErrWrongKey) {
		t.Fatalf("Open with another key: %v", err)
	}
}

// raw runs SQL beside the store, as somebody with the sqlite3 shell would.
func raw(t testing.TB, s *storetest.Store, query string, args ...any) {
	t.Helper()
	db, err := store.OpenPool(filepath.Join(s.Dir, store.FileName), false, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

func TestTextOfAnotherRecordIsSetAsideOnceAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"another's text": `UPDATE sealed_messages SET sealed = (SELECT sealed FROM sealed_messages WHERE notification = ?2) WHERE notification = ?1`,
		"a flipped bit":  `UPDATE sealed_messages SET sealed = CAST(substr(sealed, 1, length(sealed) - 1) || x'00' AS BLOB) WHERE notification = ?1 AND ?2 <> ''`,
		"no text":        `DELETE FROM sealed_messages WHERE notification = ?1 AND ?2 <> ''`,
		"an unknown key": `UPDATE sealed_messages SET key_no = 9 WHERE notification = ?1 AND ?2 <> ''`,
		"no number":      `DELETE FROM sealed_recipients WHERE recipient = (SELECT recipient FROM notifications WHERE id = ?1) AND ?2 <> ''`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			bad, good := s.MustAdmit(t, s.Admission()), s.MustAdmit(t, s.Admission())
			raw(t, s, damage, bad.ID[:], good.ID[:])
			if _, err := s.Claim(t.Context(), storetest.Order(bad.ID)); !errors.Is(err, dispatch.ErrUnreadable) {
				t.Fatalf("the claim: %v", err)
			}
			r := s.MustGet(t, bad.ID)
			if r.State != dispatch.StateFailed || r.Reason != dispatch.ReasonUnreadable || len(r.Attempts) != 0 || r.Permits[0].Open() {
				t.Fatalf("after the claim: %+v", r)
			}
			if _, err := s.Claim(t.Context(), storetest.Order(bad.ID)); !errors.Is(err, dispatch.ErrStale) {
				t.Fatalf("a second claim: %v", err)
			}
			if again := s.MustGet(t, bad.ID); again.Version != r.Version {
				t.Fatal("it was set aside twice")
			}
			due, err := s.Due(t.Context(), s.Clock.Now(), dispatch.ClientID{}, 10)
			if err != nil || len(due) != 1 || due[0].ID != good.ID {
				t.Fatalf("due are %v, %v", due, err)
			}
			s.MustFinish(t, s.MustClaim(t, good.ID), storetest.Taken("SM1"))
		})
	}
}

// A claim that its caller gives up half-way says nothing about the row: it must not be set aside as unreadable.
func TestClaimThatIsGivenUpSetsNothingAside(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for i := range atMost(400, 60) {
		r := s.MustAdmit(t, s.Admission())
		ctx, cancel := context.WithCancel(t.Context())
		after := time.AfterFunc(time.Duration(i)*5*time.Microsecond, cancel)
		_, err := s.Claim(ctx, storetest.Order(r.ID))
		after.Stop()
		cancel()
		if errors.Is(err, dispatch.ErrUnreadable) {
			t.Fatalf("given up after %d µs: %v", 5*i, err)
		}
		if r = s.MustGet(t, r.ID); r.State != dispatch.StateAccepted && r.State != dispatch.StateDispatching {
			t.Fatalf("given up after %d µs: %s (%s)", 5*i, r.State, r.Reason)
		}
	}
}

// Neither may a question that is given up end the questions about an attempt.
func TestDueLookupsThatAreGivenUpEndNoQuestions(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	const doubts = 5
	for range doubts {
		s.MustFinish(t, s.MustClaim(t, s.MustAdmit(t, s.Admission()).ID), storetest.TimedOut())
	}
	s.Clock.Add(6 * time.Second)
	for i := range atMost(200, 30) {
		ctx, cancel := context.WithCancel(t.Context())
		after := time.AfterFunc(time.Duration(i)*5*time.Microsecond, cancel)
		_, err := s.DueLookups(ctx, s.Clock.Now(), 10)
		after.Stop()
		cancel()
		if jobs, afterwards := s.DueLookups(t.Context(), s.Clock.Now(), 10); afterwards != nil || len(jobs) != doubts {
			t.Fatalf("given up after %d µs (%v): %d questions are left, %v", 5*i, err, len(jobs), afterwards)
		}
	}
}

func TestNewKeySealsAndTheOldOneStillOpens(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	old := s.MustAdmit(t, s.Admission())
	if err := s.DB.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Dir, "master.key")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key := make([]byte, seal.KeySize)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(before, fmt.Appendf(nil, "2 %x\n", key)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.Master, err = seal.ReadKeyFile(path); err != nil {
		t.Fatal(err)
	}
	s.Reopen(t)
	fresh := s.MustAdmit(t, s.Admission())
	for _, r := range []dispatch.Record{old, fresh} {
		if job := s.MustClaim(t, r.ID); job.Text.IsZero() || job.Recipient.IsZero() {
			t.Fatalf("%s came without text or number", r.ID)
		}
	}
	var keys int
	if err := s.Readers().QueryRow(`SELECT count(DISTINCT key_no) FROM sealed_recipients`).Scan(&keys); err != nil || keys != 2 {
		t.Fatalf("the numbers are sealed under %d keys, %v", keys, err)
	}
}

// Neither the text nor the number stands in the clear in any file of the store, at any time.
func TestFilesHoldNeitherTextNorNumber(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	a := s.Admission()
	a.Text = dispatch.NewSecret("Reset: https://shop.example/r/CANARYq7Zx9Lm3 within 5 minutes")
	a.Recipient, a.Subject = dispatch.NewSecret("+4915198765432"), dispatch.NewSecret("subject-CANARY")
	canaries := map[string]string{"text": a.Text.Reveal(), "token": "CANARYq7Zx9Lm3", "number": a.Recipient.Reveal(), "digits": "15198765432",
		"subject": a.Subject.Reveal()}
	r := s.MustAdmit(t, a)
	noCanary(t, s.Dir, canaries)
	var sealed string
	if err := s.Readers().QueryRow(`SELECT sealed FROM sealed_messages WHERE notification = ?`, r.ID[:]).Scan(&sealed); err != nil {
		t.Fatal(err)
	}
	s.MustFinish(t, s.MustClaim(t, r.ID), storetest.Taken("SM1"))
	noCanary(t, s.Dir, canaries)
	canaries["sealed text"] = sealed // after the stop not even that is left, once the journal is gone
	if err := s.DB.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	noCanary(t, s.Dir, canaries)
	s.Reopen(t)
}

// noCanary searches every file of a directory but the key for words, as they are and in the usual disguises.
func noCanary(t *testing.T, dir string, words map[string]string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for name, word := range words {
			for how, form := range map[string][]byte{
				"as it is": []byte(word), "in hex": []byte(hex.EncodeToString([]byte(word))), "in base64": inner64(word, 0),
				"in base64 shifted by 1": inner64(word, 1), "in base64 shifted by 2": inner64(word, 2), "backwards": backwards(word),
			} {
				if bytes.Contains(content, form) || bytes.Contains(bytes.ToLower(content), bytes.ToLower(form)) {
					t.Errorf("%s holds the %s %s", f.Name(), name, how)
				}
			}
		}
	}
}

// inner64 is the part of a word's base64 that does not depend on what stands around it, when it starts at the given offset of three.
func inner64(word string, offset int) []byte {
	whole := []byte(base64.StdEncoding.EncodeToString([]byte("   "[:offset] + word)))
	return whole[4*min(offset, 1) : len(whole)-4]
}

func backwards(word string) []byte {
	b := []byte(word)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return b
}
