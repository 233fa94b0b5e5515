package systemtest

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentonce/cmd/fakesms/sim"
)

// lockTime is how long a foreign lock is held: longer than SQLite waits for one. SENTONCE_TEST_LONG=1 makes it the minute of the issue.
func lockTime() time.Duration {
	if os.Getenv("SENTONCE_TEST_LONG") != "" {
		return time.Minute
	}
	return 8 * time.Second
}

// lockOut takes the write lock of the database from outside, as a program of the operator's might; the returned function gives it back.
func (s *site) lockOut(t *testing.T) (release func()) {
	t.Helper()
	conn, err := s.outside(t).Conn(t.Context())
	must(t, err)
	_, err = conn.ExecContext(t.Context(), `BEGIN IMMEDIATE`)
	must(t, err)
	return func() {
		_, err := conn.ExecContext(context.Background(), `ROLLBACK`)
		must(t, err)
		must(t, conn.Close())
	}
}

// refused checks the answer to an admission that cannot be stored: 503 with a time, in words that tell nothing of the inside.
func refused(t *testing.T, got answer) {
	t.Helper()
	if wait, err := strconv.Atoi(got.header.Get("Retry-After")); got.code != http.StatusServiceUnavailable || err != nil || wait < 1 {
		t.Errorf("an admission that cannot be stored is answered with %d, Retry-After %q: %s", got.code, got.header.Get("Retry-After"), got.body)
	}
	for _, inside := range []string{"sqlite", "SQLITE", "database", "locked", "full", "/", ".go", "trigger", "events"} {
		if strings.Contains(strings.ReplaceAll(got.body, `"/problems/unavailable"`, ""), inside) {
			t.Errorf("F40: the answer shows %q of the inside: %s", inside, got.body)
		}
	}
	if id := got.header.Get("X-Request-Id"); id == "" {
		t.Error("F40: no request id")
	}
}

func TestFieldF06_ALockRightAfterTheProviderTookItCostsNoSecondMessage(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{workers: 1, timeout: "3s"})
	p := s.start(t)
	a, next := s.fresh(5*time.Minute), s.fresh(5*time.Minute)
	s.script(t, a.Recipient, acceptThen(sim.EndHang))
	id := s.admit(t, a)
	must(t, s.sim.WaitHeld(t.Context(), a.Recipient))
	waits := s.admit(t, next) // for the one worker
	release := s.lockOut(t)
	s.sim.Release(a.Recipient)
	p.waitFor(t, "a result cannot be stored")
	late := s.fresh(5 * time.Minute)
	got := s.post(t, late)
	refused(t, got)
	p.waitFor(t, got.header.Get("X-Request-Id"))        // F40: the detail is in the log, under this id
	if d := s.status(t, id); d.State != "dispatching" { // reads do not wait for the lock
		t.Errorf("while its result cannot be stored it is %s", d.State)
	}
	if code := s.call(t, http.MethodGet, "/readyz", nil).code; code != http.StatusServiceUnavailable {
		t.Errorf("readyz answers %d", code)
	}
	holds(t, lockTime()-5*time.Second, "nothing new is sent", func() bool { return s.calls(a.Recipient) == 1 && s.calls(next.Recipient) == 0 })
	release()
	p.alive(t)
	only(t, s.reach(t, id, "sent", "dispatch_unknown", "failed"), "accepted", "R3")
	s.reach(t, waits, "sent")
	s.reach(t, s.admit(t, late), "sent")
	for _, x := range []admission{a, next, late} {
		s.wantCalls(t, x.Recipient, 1, 1)
	}
	s.audit(t)
}

func TestFieldF06_ALockBeforeTheClaimHoldsTheSendBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	must(t, s.sim.Down())
	p := s.start(t)
	a := s.fresh(5 * time.Minute)
	id := s.admit(t, a)
	s.await(t, id, "tried", func(d document) bool { return len(d.Attempts) > 0 })
	release := s.lockOut(t)
	must(t, s.sim.Up())
	p.waitFor(t, "SQLITE_BUSY") // of a claim, or of the result of a try before
	holds(t, lockTime()-5*time.Second, "nothing is sent that could not be recorded", func() bool { return s.calls(a.Recipient) == 0 })
	release()
	s.reach(t, id, "sent")
	s.wantCalls(t, a.Recipient, 1, 1)
	s.audit(t)
}

func TestFieldF70_NoEvidenceNoAction(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{timeout: "3s"})
	p := s.start(t)
	db := s.outside(t)
	open, waits := s.fresh(5*time.Minute), s.fresh(5*time.Minute)
	s.script(t, open.Recipient, acceptThen(sim.EndHang))
	id := s.admit(t, open)
	must(t, s.sim.WaitHeld(t.Context(), open.Recipient))
	must(t, s.sim.Down()) // which cuts the open call, too: a doubt
	s.reach(t, id, "dispatch_unknown")
	other := s.admit(t, waits)
	s.await(t, other, "tried", func(d document) bool { return len(d.Attempts) > 0 })
	_, err := db.Exec(`CREATE TRIGGER broken BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'the audit log is down'); END`)
	must(t, err)
	must(t, s.sim.Up())
	late := s.fresh(5 * time.Minute)
	refused(t, s.post(t, late))
	for path, body := range map[string]string{"/v1/notifications/" + other + "/cancel": `{"reason":"user_request"}`} {
		if got := s.call(t, http.MethodPost, path, body); got.code != http.StatusServiceUnavailable {
			t.Errorf("%s answers %d: %s", path, got.code, got.body)
		}
	}
	if got := s.call(t, http.MethodGet, "/readyz", nil); got.code != http.StatusServiceUnavailable {
		t.Errorf("readyz answers %d", got.code)
	}
	sid := s.sim.Ledger(open.Recipient)[0].SID
	if code, err := s.sim.SendReceipt(t.Context(), sid, "delivered", sim.ReceiptOptions{}); err != nil || code/100 == 2 {
		t.Errorf("a receipt that cannot be evidence is answered with %d, %v", code, err)
	}
	holds(t, 3*time.Second, "nothing new is sent and nothing moves", func() bool {
		return s.calls(waits.Recipient) == 0 && s.calls(late.Recipient) == 0 && s.status(t, id).State == "dispatch_unknown"
	})
	p.alive(t)
	_, err = db.Exec(`DROP TRIGGER broken`)
	must(t, err)
	s.reach(t, other, "sent")
	s.reach(t, s.admit(t, late), "sent")
	s.reach(t, id, "sent")
	if got := s.call(t, http.MethodGet, "/readyz", nil); got.code != http.StatusOK {
		t.Errorf("readyz answers %d", got.code)
	}
	s.wantCalls(t, open.Recipient, 1, 1)
	s.wantCalls(t, waits.Recipient, 1, 1)
	s.audit(t)
}

// smallDisk is a file system of a few megabytes. It needs the right to mount; without it the test fails, because a full disk that was not
// tried is not proven.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	must(t, os.Mkdir(dir, 0o700))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		t.Fatalf("mount a small file system (run the tests as root, or in a container with CAP_SYS_ADMIN): %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// fill takes all the space that is left.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	for chunk := 64 << 10; chunk >= 1; {
		if _, err := f.Write(make([]byte, chunk)); err != nil {
			chunk /= 2
		}
	}
}

func TestBadDay_AFullDiskAnswers503SendsNothingNewAndPassesByItself(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "8m")
	s := newSite(t, layout{dataDir: filepath.Join(disk, "data"), workers: 2, timeout: "10s"})
	p := s.start(t)
	open := s.fresh(10 * time.Minute)
	s.script(t, open.Recipient, acceptThen(sim.EndHang))
	id := s.admit(t, open)
	must(t, s.sim.WaitHeld(t.Context(), open.Recipient))
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	accepted := map[string]admission{}
	for full := 0; full < 3; { // the write-ahead log may have some room of its own left
		a := s.fresh(10 * time.Minute)
		got := s.post(t, a)
		switch got.code {
		case http.StatusAccepted:
			accepted[got.doc.ID] = a
		default:
			refused(t, got)
			full++
			if s.calls(a.Recipient) != 0 {
				t.Error("it was sent though it could not be stored")
			}
		}
		if len(accepted) > 2000 {
			t.Fatal("the disk does not get full")
		}
	}
	s.sim.Release(open.Recipient) // the answer comes when it cannot be stored
	p.waitFor(t, "a result cannot be stored")
	p.alive(t)
	if code := s.call(t, http.MethodGet, "/readyz", nil).code; code != http.StatusServiceUnavailable {
		t.Errorf("readyz answers %d", code)
	}
	must(t, os.Remove(filler))
	only(t, s.reach(t, id, "sent", "dispatch_unknown"), "accepted", "R3")
	for id, a := range accepted {
		s.reach(t, id, "sent")
		s.wantCalls(t, a.Recipient, 1, 1)
	}
	s.reach(t, s.admit(t, s.fresh(5*time.Minute)), "sent")
	s.wantCalls(t, open.Recipient, 1, 1)
	p.alive(t)
	s.audit(t)
}

func TestBadDay_AKillOnAFullDiskLosesNothingThatWasAccepted(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "8m")
	s := newSite(t, layout{dataDir: filepath.Join(disk, "data")})
	p := s.start(t)
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	accepted := map[string]string{}
	for full := false; !full; {
		if len(accepted) > 2000 {
			t.Fatal("the disk does not get full")
		}
		a := s.fresh(10 * time.Minute)
		got := s.post(t, a)
		if full = got.code != http.StatusAccepted; !full {
			accepted[a.EventID] = got.doc.ID
		}
	}
	p.kill()
	must(t, os.Remove(filler))
	book := s.auditCopy(t)
	s.start(t)
	for key, n := range book.Entries {
		if accepted[key.Event] == n.ID {
			delete(accepted, key.Event)
		}
	}
	if len(accepted) > 0 {
		t.Errorf("accepted and not on disk: %v", accepted)
	}
	eventually(t, "the backlog is worked off", func() bool {
		return s.ask(t, `SELECT count(*) FROM notifications WHERE state IN ('accepted', 'dispatching')`) == "0"
	})
	s.audit(t)
}

func TestBadDay_AProviderThatIsSlowDownOrLyingCostsNoDuplicateAndNoEvent(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{timeout: "1s"})
	s.start(t)
	all := map[string]admission{}
	for i, does := range []sim.Behaviour{{Accept: true, Delay: 500 * time.Millisecond}, acceptThen(sim.EndHang), acceptThen(sim.EndReset),
		acceptThen(sim.EndClose), acceptThen(sim.EndCut), says(200, "{}"), says(500, ""), {Accept: true, Status: 502, ContentType: "text/html", Body: "<p>"},
		{Status: 307, Header: http.Header{"Location": {s.sim.BaseURL() + "/elsewhere"}}}, {Status: 503, Code: 20503}, {Ending: sim.EndReset},
		{Status: 429, Code: 20429, Times: 2}} {
		a := s.fresh(10 * time.Minute)
		s.script(t, a.Recipient, does)
		all[s.admit(t, a)] = a
		if i%4 == 0 {
			must(t, s.sim.Down()) // which cuts what is under way
			must(t, s.sim.Up())
		}
	}
	for id, a := range all {
		s.reach(t, id, "sent", "dispatch_unknown")
		if s.taken(a.Recipient) == 1 {
			s.reach(t, id, "sent")
		}
	}
	numbers := map[string]int{}
	for _, m := range s.sim.Ledger("") {
		if numbers[m.To]++; numbers[m.To] > 1 {
			t.Error("a message was taken twice")
		}
	}
	if n := s.sim.Foreign(); n != 0 {
		t.Errorf("%d requests followed a redirect", n)
	}
	if n := len(s.audit(t).Entries); n != len(all) {
		t.Errorf("%d events of %d", n, len(all))
	}
}
