package systemtest

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sentonce/cmd/fakesms/sim"
)

// process is a running server.
type process struct {
	cmd  *exec.Cmd
	log  *lines
	gone chan struct{}
}

// lines is a log that can be waited for.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	news chan struct{}
}

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

// launch starts a server and does not wait for it. At the test's end it is killed, and its log is searched for races and panics.
func (s *site) launch(t *testing.T, env ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(work("sentonce"), "serve", "--config", s.config), log: &lines{news: make(chan struct{}, 1)},
		gone: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), "TOKEN="+sim.DefaultAuthToken), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	must(t, p.cmd.Start())
	go func() {
		defer close(p.gone)
		_ = p.cmd.Wait() // how it ended is in its state
	}()
	t.Cleanup(func() {
		p.kill()
		for _, bad := range []string{"DATA RACE", "panicked", "goroutine "} {
			if strings.Contains(p.log.String(), bad) {
				t.Errorf("the log holds %q:\n%s", bad, tail(p.log.String()))
			}
		}
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", tail(p.log.String()))
		}
	})
	return p
}

// tail is the end of a log without the lines about requests that were served.
func tail(log string) string {
	const most = 6000
	var kept strings.Builder
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"level":"INFO","msg":"request"`) {
			kept.WriteString(line)
		}
	}
	return kept.String()[max(0, kept.Len()-most):]
}

// start starts a server and waits until it serves.
func (s *site) start(t *testing.T, env ...string) *process {
	t.Helper()
	p := s.launch(t, env...)
	p.waitFor(t, `"msg":"serving"`)
	return p
}

// waitFor waits until the log holds a text.
func (p *process) waitFor(t *testing.T, text string) {
	t.Helper()
	late := time.After(patience)
	for !strings.Contains(p.log.String(), text) {
		select {
		case <-p.log.news:
		case <-p.gone:
			if !strings.Contains(p.log.String(), text) {
				t.Fatalf("it ended without saying %q", text)
			}
		case <-late:
			t.Fatalf("it did not say %q in time", text)
		}
	}
}

// kill is SIGKILL; it returns when the process is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.gone
}

// alive fails the test when the process has ended.
func (p *process) alive(t *testing.T) {
	t.Helper()
	select {
	case <-p.gone:
		t.Fatalf("the process ended: %v", p.cmd.ProcessState)
	default:
	}
}

// terminate sends SIGTERM.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	must(t, p.cmd.Process.Signal(syscall.SIGTERM))
}

// ended waits for the end and returns the exit code.
func (p *process) ended(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-p.gone:
	case <-time.After(within):
		t.Fatalf("still running %v later", within)
	}
	return p.cmd.ProcessState.ExitCode()
}
