package browsertest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sentonce/cmd/fakesms/sim"
)

const password = "correct horse battery staple 7"

func roles() []string { return []string{"support", "compliance", "auditor", "admin"} }

// product is the running binary with a simulated provider, a client, and an account for each role.
type product struct {
	dir, bin, config, base, key string
	sim                         *sim.Server
	cmd                         *exec.Cmd
	out                         *safeBuffer
	exited                      chan struct{}
	numbers                     atomic.Int64
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// newProduct returns what it has started even when it fails.
func newProduct(dir string) (p *product, err error) {
	p = &product{dir: dir, bin: filepath.Join(dir, "sentonce"), config: filepath.Join(dir, "sentonce.toml"), out: &safeBuffer{}}
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", p.bin, "sentonce/cmd/sentonce").CombinedOutput(); err != nil {
		return p, fmt.Errorf("the binary does not build: %w\n%s", err, out)
	}
	// The list lags, so a question to the provider by hand finds nothing and settles nothing.
	if p.sim, err = sim.Start(sim.Options{ListLag: time.Hour}); err != nil {
		return p, err
	}
	if err := p.files(); err != nil {
		return p, err
	}
	if err := p.people(); err != nil {
		return p, err
	}
	return p, p.serve()
}

func (p *product) files() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	p.base = "http://" + address
	var key [32]byte
	rand.Read(key[:]) // never fails
	text := fmt.Sprintf(`listen = %q
public_url = %q
data_dir = %q
key_file = %q

[[provider]]
name = "main"
kind = "twilio"
base_url = %q
account_sid = %q
auth_token_env = "BROWSERTEST_TOKEN"
from = "+4915112345678"
timeout = "1s"
reconcile = ["30m", "1h"]
`, address, p.base, filepath.Join(p.dir, "data"), filepath.Join(p.dir, "master.key"), p.sim.BaseURL(), p.sim.AccountSID())
	return errors.Join(os.Mkdir(filepath.Join(p.dir, "data"), 0o700), os.WriteFile(p.config, []byte(text), 0o600),
		os.WriteFile(filepath.Join(p.dir, "master.key"), []byte(hex.EncodeToString(key[:])+"\n"), 0o600))
}

func (p *product) people() (err error) {
	steps := [][]string{{"migrate"}, {"client", "add", "--name", "shop"}}
	for _, role := range roles() {
		steps = append(steps, []string{"staff", "add", "--email", role + "@example.org", "--name", "Person of " + role, "--role", role, "--password-stdin"})
	}
	for _, step := range steps {
		if _, err := p.run(password+"\n", step...); err != nil {
			return err
		}
	}
	p.key, err = p.run("", "apikey", "add", "--client", "shop", "--name", "test")
	return err
}

func (p *product) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.bin, append(args, "--config", p.config)...)
	cmd.Dir = p.dir
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "SENTONCE_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, "BROWSERTEST_TOKEN="+p.sim.AuthToken())
	return cmd
}

func (p *product) run(input string, args ...string) (string, error) {
	cmd := p.command(args...)
	var faults bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &faults
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("sentonce %s: %w: %s", args[0], err, faults.String())
	}
	return strings.TrimSpace(string(out)), nil
}

func (p *product) serve() error {
	cmd := p.command("serve")
	cmd.Stdout, cmd.Stderr = p.out, p.out
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd, p.exited = cmd, make(chan struct{})
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // how it ended is in its log, which the failing test shows
	}()
	ready := func() (bool, error) {
		res, err := http.Get(p.base + "/readyz")
		if err != nil {
			return false, nil // not listening yet
		}
		return res.StatusCode == http.StatusOK, res.Body.Close()
	}
	if err := p.poll(ready); err != nil {
		return fmt.Errorf("the server did not become ready: %w\n%s", err, p.out.String())
	}
	return nil
}

// poll asks until the answer is yes.
func (p *product) poll(ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience*time.Millisecond)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if yes, err := ask(); err != nil || yes {
			return err
		}
		select {
		case <-tick.C:
		case <-p.exited:
			return errors.New("the server has ended")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *product) close() error {
	if p.cmd != nil {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		<-p.exited
	}
	if p.sim != nil {
		return p.sim.Close()
	}
	return nil
}

// status is what the API tells of a notification.
type status struct {
	ID       string `json:"id"`
	State    string `json:"state"`
	Version  int    `json:"version"`
	Attempts []struct {
		Outcome string `json:"outcome"`
	} `json:"attempts"`
}

func (p *product) call(method, path string, body any) (s status, err error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return s, err
	}
	req, err := http.NewRequest(method, p.base+path, bytes.NewReader(raw))
	if err != nil {
		return s, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+p.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return s, err
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest {
		return s, fmt.Errorf("%s %s answered %s", method, path, res.Status)
	}
	return s, json.NewDecoder(res.Body).Decode(&s)
}

// number is a new number; what the provider does with it is chosen by its last two digits.
func (p *product) number(digits string) string {
	return fmt.Sprintf("+49151%06d%s", 200000+p.numbers.Add(1), digits)
}

// admit asks for a message to a number and waits for a state.
func (p *product) admit(t *testing.T, number, state string) string {
	t.Helper()
	name := rand.Text()
	s, err := p.call(http.MethodPost, "/v1/notifications", map[string]string{"event_id": "evt-" + name, "idempotency_key": "key-" + name,
		"purpose": "password_reset", "recipient": number, "message": "Your reset code is " + name[:8],
		"expires_at": time.Now().Add(20 * time.Minute).UTC().Format(time.RFC3339)})
	if err != nil {
		t.Fatal(err)
	}
	p.await(t, s.ID, state)
	return s.ID
}

func (p *product) await(t *testing.T, id, state string) status {
	t.Helper()
	var s status
	err := p.poll(func() (bool, error) {
		var err error
		s, err = p.call(http.MethodGet, "/v1/notifications/"+id, nil)
		return s.State == state, err
	})
	if err != nil {
		t.Fatalf("waiting for %q, it is %q: %v\n%s", state, s.State, err, p.out.String())
	}
	return s
}

// unknown makes a notification of which nobody knows whether it was sent.
func (p *product) unknown(t *testing.T) (id, number string) {
	t.Helper()
	number = p.number("02")
	return p.admit(t, number, "dispatch_unknown"), number
}
