package systemtest

import (
	"context"
	"crypto/x509"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"sentonce/cmd/fakesms/sim"
	"sentonce/store/storetest"
)

// patience is for what happens at once on an idle machine; only a failing test waits that long.
const patience = time.Minute

// layout is what a test wants of its installation; the zero value is a good one on a free port.
type layout struct {
	listen, public string
	provider       string // its address; "": a simulator of its own
	dataDir        string
	timeout        string // "2s"
	workers        int    // 8
	minRemaining   string // "1s"
	more           string // further lines of the provider's table
	top            string // further lines before the first table
	receipts       sim.ReceiptPlan
	roots          *x509.CertPool // whom the provider trusts when it posts receipts
}

func (l layout) toml() string {
	if l.public == "" {
		l.public = "http://" + l.listen
	}
	if l.timeout == "" {
		l.timeout = "2s"
	}
	if l.workers == 0 {
		l.workers = 8
	}
	if l.dataDir == "" {
		l.dataDir = "data"
	}
	if l.minRemaining == "" {
		l.minRemaining = "1s"
	}
	return fmt.Sprintf(`listen = %q
public_url = %q
data_dir = %q
%s
[dispatch]
workers = %d
min_remaining = %q
[limits]
key_rate = 5000
key_burst = 5000
client_rate = 5000
client_burst = 5000
[[provider]]
name = "main"
base_url = %q
account_sid = %q
auth_token_env = "TOKEN"
from = "+15005550006"
timeout = %q
reconcile = ["200ms", "500ms", "1s"]
%s
`, l.listen, l.public, l.dataDir, l.top, l.workers, l.minRemaining, l.provider, sim.DefaultAccountSID, l.timeout, l.more)
}

// site is an installation on a folder of its own, its provider, and its storefronts.
type site struct {
	layout
	dir, config, data string
	sim               *sim.Server
	keys              map[string]string // by client
	number            *atomic.Int64
}

// newSite copies the template. Receipts are off unless the layout has a plan.
func newSite(t *testing.T, l layout) *site {
	t.Helper()
	s := &site{layout: l, dir: t.TempDir(), keys: map[string]string{}, number: new(atomic.Int64)}
	if len(l.receipts.Steps) == 0 {
		l.receipts = sim.ReceiptPlan{Off: true}
	}
	s.sim = startSim(t, sim.Options{NoPatterns: true, Receipts: l.receipts, RootCAs: l.roots})
	if s.provider == "" {
		s.provider = s.sim.BaseURL()
	}
	if s.listen == "" {
		s.listen = freeAddress(t)
	}
	s.data = filepath.Join(s.dir, "data")
	if l.dataDir != "" {
		s.data = l.dataDir
	}
	s.config = filepath.Join(s.dir, "sentonce.toml")
	copyFolder(t, work("template", "data"), s.data)
	copyFile(t, work("template", "master.key"), filepath.Join(s.dir, "master.key"))
	for _, name := range clients() {
		raw, err := os.ReadFile(work("template", name+".key"))
		must(t, err)
		s.keys[name] = string(raw)
	}
	s.write(t)
	return s
}

// write writes the configuration (again).
func (s *site) write(t *testing.T) {
	t.Helper()
	must(t, os.WriteFile(s.config, []byte(s.toml()), 0o600))
}

func startSim(t *testing.T, opt sim.Options) *sim.Server {
	t.Helper()
	provider, err := sim.Start(opt)
	must(t, err)
	t.Cleanup(func() { must(t, provider.Close()) })
	return provider
}

// script says what the provider does with the next sends to a number.
func (s *site) script(t *testing.T, number string, steps ...sim.Behaviour) {
	t.Helper()
	must(t, s.sim.Script(number, steps...))
}

// freeAddress finds a port below the range from which the kernel takes ports for outgoing connections, so that it stays free for a while.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12000+rand.IntN(20000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no free port")
	return ""
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	must(t, os.MkdirAll(to, 0o700))
	entries, err := os.ReadDir(from)
	must(t, err)
	for _, e := range entries {
		copyFile(t, filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if os.IsNotExist(err) {
		return // a write-ahead log that was not needed
	}
	must(t, err)
	must(t, os.WriteFile(to, raw, 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *site) database() string { return filepath.Join(s.data, "sentonce.db") }

// outside opens the database as another program would.
func (s *site) outside(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+s.database()+"?_pragma=busy_timeout(10000)")
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

// ask reads one value from outside.
func (s *site) ask(t *testing.T, query string, args ...any) (answer string) {
	t.Helper()
	var value sql.NullString
	must(t, s.outside(t).QueryRow(query, args...).Scan(&value))
	return value.String
}

// audit reads the database from outside; contradictions of the invariants fail the test.
func (s *site) audit(t *testing.T) storetest.Book {
	t.Helper()
	return auditFile(t, s.database())
}

// auditCopy does the same on a copy of the files, for a process that was killed: reading them in place would mend them.
func (s *site) auditCopy(t *testing.T) storetest.Book {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sentonce.db", "sentonce.db-wal"} {
		copyFile(t, filepath.Join(s.data, name), filepath.Join(dir, name))
	}
	return auditFile(t, filepath.Join(dir, "sentonce.db"))
}

func auditFile(t *testing.T, path string) storetest.Book {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	book, err := storetest.Audit(ctx, path)
	must(t, err)
	for _, f := range book.Findings {
		t.Error(f)
	}
	return book
}

// taken is how many messages for a number are in the provider's ledger, and calls how many requests for it the provider has read.
func (s *site) taken(number string) int { return len(s.sim.Ledger(number)) }
func (s *site) calls(number string) int { return len(s.sim.Requests(number)) }

// wantCalls checks how often the provider was called for a number and how often it took the message.
func (s *site) wantCalls(t *testing.T, number string, calls, taken int) {
	t.Helper()
	if c, l := s.calls(number), s.taken(number); c != calls || l != taken {
		t.Errorf("%d calls and %d messages at the provider, want %d and %d", c, l, calls, taken)
	}
}

// canaries looks for texts and numbers in all files of the installation and in a log. Every text of these tests holds a canary, and every
// number begins alike.
func (s *site) canaries(t *testing.T, log string) {
	t.Helper()
	number := regexp.MustCompile(`151[23]\d{7}`)
	look := func(name string, raw []byte) {
		if strings.Contains(string(raw), canary) {
			t.Errorf("%s holds a text", name)
		}
		if found := number.Find(raw); found != nil {
			t.Errorf("%s holds a number", name)
		}
	}
	look("the log", []byte(log))
	entries, err := os.ReadDir(s.data)
	must(t, err)
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(s.data, e.Name()))
		must(t, err)
		look(e.Name(), raw)
	}
}

// eventually looks until it is so.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	look := time.NewTicker(15 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-look.C {
		if ok() {
			return
		}
	}
	t.Fatalf("never came true: %s", what)
}

// holds looks that it stays so.
func holds(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	look := time.NewTicker(25 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(d); time.Now().Before(deadline); <-look.C {
		if !ok() {
			t.Fatalf("did not stay true: %s", what)
		}
	}
}
