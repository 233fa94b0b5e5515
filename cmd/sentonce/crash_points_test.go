package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"sentonce/cmd/sentonce/config"
	"sentonce/dispatch"
)

// point is an instant at which the process can be killed. Those that begin with "commit:" lie inside the transaction, after its last
// statement and before its COMMIT.
type point string

const (
	nowhereYet      point = "nowhere"
	commitAdmission point = "commit:admission"
	admissionStored point = "the admission is stored, the answer has not left"
	commitClaim     point = "commit:claim"
	claimStored     point = "the claim is stored"
	beforeFirstByte point = "the last question before the first byte is answered"
	answerCame      point = "the answer came"
	commitResult    point = "commit:result"
	resultStored    point = "the result is stored"
	commitLookup    point = "commit:lookup"
	commitReceipt   point = "commit:receipt"
	commitRestart   point = "commit:restart" // what the dead process left pending becomes unknown
)

// The environment of the process that dies: where, and at which passage of that point.
const (
	dieAt     = "SENTONCE_TEST_DIE_AT"
	dieConfig = "SENTONCE_TEST_CONFIG"
)

// TestTheProcessThatDies is the server as `serve` wires it, in a process of its own with a killer inside. As a test it does nothing: the
// crash tests run it.
func TestTheProcessThatDies(t *testing.T) {
	plan, mine := os.LookupEnv(dieAt)
	if !mine {
		return
	}
	k, err := newKiller(plan)
	if err != nil {
		t.Fatal(err)
	}
	sqlite.RegisterConnectionHook(k.watch)
	cfg, err := config.Load(os.Getenv(dieConfig), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	k.armed.Store(k.at == commitRestart)
	s, err := start(t.Context(), setup{cfg: cfg, env: os.LookupEnv, log: newLogger(os.Stderr, cfg.LogLevel),
		between: func(q dispatch.Queue) dispatch.Queue { return dyingQueue{q, k} }})
	if err != nil {
		t.Fatal(err)
	}
	s.http.Handler = k.answers(s.http.Handler)
	k.armed.Store(k.at != commitRestart)
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// killer ends the process without a word at the n-th passage of one point.
type killer struct {
	at    point
	left  atomic.Int64
	armed atomic.Bool
}

// newKiller reads "point#n".
func newKiller(plan string) (*killer, error) {
	name, number, _ := strings.Cut(plan, "#")
	k := &killer{at: point(name)}
	var n int64
	if _, err := fmt.Sscan(number, &n); err != nil {
		return nil, fmt.Errorf("plan %q: %w", plan, err)
	}
	k.left.Store(n)
	return k, nil
}

// reach never returns at the chosen passage.
func (k *killer) reach(at point) {
	if at != k.at || !k.armed.Load() || k.left.Add(-1) != 0 {
		return
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {}
}

// watch sees what each transaction of a connection writes, and its commits.
func (k *killer) watch(conn sqlite.ExecQuerierContext, _ string) error {
	hooks, ok := conn.(sqlite.HookRegisterer)
	if !ok {
		return fmt.Errorf("a connection of type %T has no hooks", conn)
	}
	w := &written{}
	hooks.RegisterPreUpdateHook(w.note)
	hooks.RegisterRollbackHook(w.forget)
	hooks.RegisterCommitHook(func() int32 {
		for _, p := range w.points() {
			k.reach(p)
		}
		w.forget()
		return 0
	})
	return nil
}

// written is what one transaction has written so far.
type written struct {
	mu   sync.Mutex
	rows map[string]bool // "insert attempts" and the like
}

func (w *written) note(d sqlite.SQLitePreUpdateData) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rows == nil {
		w.rows = map[string]bool{}
	}
	verb := map[int32]string{lib.SQLITE_INSERT: "insert ", lib.SQLITE_UPDATE: "update ", lib.SQLITE_DELETE: "delete "}[d.Op]
	w.rows[verb+d.TableName] = true
}

func (w *written) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows = nil
}

// points are the commits that this transaction is; a batch may be several.
func (w *written) points() (all []point) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for row, p := range map[string]point{"insert notifications": commitAdmission, "insert attempts": commitClaim, "insert lookups": commitLookup,
		"insert receipts": commitReceipt} {
		if w.rows[row] {
			all = append(all, p)
		}
	}
	if w.rows["update attempts"] && !w.rows["insert lookups"] && !w.rows["insert receipts"] {
		all = append(all, commitResult, commitRestart)
	}
	return all
}

// dyingQueue is the store as the pool sees it.
type dyingQueue struct {
	dispatch.Queue
	k *killer
}

func (q dyingQueue) Claim(ctx context.Context, o dispatch.ClaimOrder) (dispatch.Job, error) {
	job, err := q.Queue.Claim(ctx, o)
	if err == nil {
		q.k.reach(claimStored)
	}
	return job, err
}

func (q dyingQueue) MayStillSend(ctx context.Context, r dispatch.Reference) error {
	err := q.Queue.MayStillSend(ctx, r)
	q.k.reach(beforeFirstByte)
	return err
}

func (q dyingQueue) Finish(ctx context.Context, r dispatch.Reference, x dispatch.Exchange, f dispatch.FinishFacts) error {
	q.k.reach(answerCame)
	err := q.Queue.Finish(ctx, r, x, f)
	if err == nil {
		q.k.reach(resultStored)
	}
	return err
}

// answers dies where a handler is about to answer that an admission is stored.
func (k *killer) answers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/v1/notifications" {
			w = &dyingAnswer{w, k}
		}
		next.ServeHTTP(w, r)
	})
}

type dyingAnswer struct {
	http.ResponseWriter
	k *killer
}

func (a *dyingAnswer) WriteHeader(status int) {
	if status == http.StatusAccepted {
		a.k.reach(admissionStored)
	}
	a.ResponseWriter.WriteHeader(status)
}

// mortal is a server in a process of its own.
type mortal struct {
	cmd  *exec.Cmd
	log  *lines
	gone chan struct{}
}

// live starts a server that dies at the n-th passage of a point, and waits until it serves or has died.
func (s site) live(t *testing.T, at point, n int) *mortal {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestTheProcessThatDies$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s#%d", dieAt, at, n), dieConfig+"="+s.config, "TOKEN="+s.token)
	m := &mortal{cmd: cmd, log: newLines(), gone: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = m.log, m.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(m.gone)
		_ = cmd.Wait() // how it ended is in its state
	}()
	t.Cleanup(func() {
		m.kill()
		if strings.Contains(m.log.String(), "DATA RACE") || strings.Contains(m.log.String(), "panicked") {
			t.Errorf("the server's log:\n%s", m.log)
		}
	})
	if at != commitRestart {
		m.log.waitFor(t, `"msg":"serving"`, m.gone)
	}
	return m
}

// kill is SIGKILL from outside; it returns when the process is gone.
func (m *mortal) kill() {
	_ = m.cmd.Process.Kill() // an error means that it has ended
	<-m.gone
}

// died waits for the process's death, which must have been its killer's.
func (m *mortal) died(t *testing.T) {
	t.Helper()
	await(t, m.gone, "the process did not die:\n"+m.log.String())
	status, ok := m.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("it ended with %v and was not killed:\n%s", m.cmd.ProcessState, m.log)
	}
}
