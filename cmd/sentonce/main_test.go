package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sentonce/cmd/fakesms/sim"
	"sentonce/dispatch"
)

// asCommand makes the test binary behave as the command itself, for tests that need a process of its own.
const asCommand = "SENTONCE_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// patience is for what happens at once on an idle machine; only a failing test waits that long.
const patience = 30 * time.Second

// site is an installation on a temporary folder.
type site struct {
	dir, config, address string
	token                string // the provider's
}

// newSite writes a configuration, with a key, for a provider at a simulator. more is put behind the provider's table.
func newSite(t *testing.T, provider string, more string) site {
	t.Helper()
	s := site{dir: t.TempDir(), address: freeAddress(t), token: sim.DefaultAuthToken}
	s.config = filepath.Join(s.dir, "sentonce.toml")
	if code, _, text := s.run(t, "", "init", "--dir", s.dir); code != 0 {
		t.Fatalf("init: %s", text)
	}
	s.write(t, fmt.Sprintf(`listen = %q
public_url = "http://%s"
[dispatch]
min_remaining = "1s"
[[provider]]
name = "main"
base_url = %q
account_sid = %q
auth_token_env = "TOKEN"
from = "+15005550006"
timeout = "10s"
reconcile = ["200ms", "500ms", "1s", "2s"]
%s
`, s.address, s.address, provider, sim.DefaultAccountSID, more))
	return s
}

func (s site) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
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

func (s site) env(name string) (string, bool) { return s.token, name == "TOKEN" }

// run runs a command in this process.
func (s site) run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, text bytes.Buffer
	code = run(t.Context(), args, console{env: s.env, in: strings.NewReader(stdin), out: &out, err: &text})
	return code, out.String(), text.String()
}

// must runs a command with the site's configuration, which must succeed, and returns its stdout.
func (s site) must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	code, out, text := s.run(t, stdin, append(args, "--config", s.config)...)
	if code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, text)
	}
	return out
}

// client adds a client with a key and returns it as a storefront.
func (s site) client(t *testing.T, name string) shop {
	t.Helper()
	s.must(t, "", "client", "add", "--name", name)
	key := s.must(t, "", "apikey", "add", "--client", name, "--name", "test")
	return shop{base: "http://" + s.address, key: dispatch.NewSecret(strings.TrimSpace(key))}
}

// lines is an output that can be waited for.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	news chan struct{}
}

func newLines() *lines { return &lines{news: make(chan struct{}, 1)} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	select {
	case l.news <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// waitFor waits until the output holds a text; done ends the wait.
func (l *lines) waitFor(t *testing.T, text string, done <-chan struct{}) {
	t.Helper()
	late := time.After(patience)
	for !strings.Contains(l.String(), text) {
		select {
		case <-l.news:
		case <-done:
			if !strings.Contains(l.String(), text) {
				t.Fatalf("it ended without saying %q:\n%s", text, l)
			}
		case <-late:
			t.Fatalf("it did not say %q in time:\n%s", text, l)
		}
	}
}

// running is a command that runs in this process until it is stopped.
type running struct {
	out, log *lines
	code     int
	done     chan struct{}
	cancel   context.CancelFunc
}

// background starts a command. It is stopped at the test's end.
func (s site) background(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{out: newLines(), log: newLines(), done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(r.done)
		r.code = run(ctx, args, console{env: s.env, in: strings.NewReader(""), out: r.out, err: r.log})
	}()
	t.Cleanup(func() { r.stop(t) })
	return r
}

// serve starts the server and waits until it serves.
func (s site) serve(t *testing.T) *running {
	t.Helper()
	r := s.background(t, "serve", "--config", s.config)
	r.log.waitFor(t, `"msg":"serving"`, r.done)
	return r
}

// stop asks a command to end, as a signal does, and returns its exit code.
func (r *running) stop(t *testing.T) int {
	t.Helper()
	r.cancel()
	select {
	case <-r.done:
	case <-time.After(patience):
		t.Fatalf("it did not end:\n%s", r.log)
	}
	return r.code
}

// startSim starts a provider.
func startSim(t *testing.T, opt sim.Options) *sim.Server {
	t.Helper()
	s, err := sim.Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// await follows a notification until ok.
func (s shop) await(t *testing.T, id string, ok func(news) bool) news {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var seen news
	for tag := ""; ; {
		n, next, err := s.next(ctx, id, tag)
		if err != nil {
			t.Fatalf("status of %s: %v; last seen %+v", id, err, seen)
		}
		if tag = next; n.ID != "" {
			seen = n
		}
		if seen.ID != "" && ok(seen) {
			return seen
		}
	}
}

func inState(want dispatch.State) func(news) bool {
	return func(n news) bool { return n.State == want }
}

// admit posts an event with a life of ten minutes.
func (s shop) admit(t *testing.T, name, number string) news {
	t.Helper()
	n, err := s.post(t.Context(), event{EventID: name, Key: "key-" + name, Recipient: number, Message: "Your code is 123456",
		ExpiresAt: time.Now().Add(10 * time.Minute).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
