package dispatch_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
)

var ages = []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute}

// doubts is a reconciler over a store in memory in which attempts are in doubt.
type doubts struct {
	t     *testing.T
	store *dispatchtest.MemoryStore
	rec   *dispatch.Reconciler
	log   *lockedBuffer
	route dispatch.Route
	stop  context.CancelFunc
	ended chan error
}

func findable(answer func(context.Context, int, dispatch.Question) dispatch.Finding) dispatchtest.FindableProvider {
	p := scripted(dispatchtest.AlwaysTaken)
	p.Can.Lookup, p.Answer = dispatch.LookupByRecipient, answer
	return dispatchtest.FindableProvider{ScriptedProvider: p}
}

func empty(context.Context, int, dispatch.Question) dispatch.Finding {
	return dispatch.Finding{Pages: 1, Complete: true}
}

func newDoubts(t *testing.T, p dispatch.Provider, with func(*dispatch.ReconcilerConfig)) *doubts {
	t.Helper()
	d := &doubts{t: t, store: dispatchtest.NewMemoryStore(dispatch.SystemClock{}), log: &lockedBuffer{}, ended: make(chan error, 1)}
	d.route = route("main", p)
	d.route.Schedule, d.route.AutoResolve = ages, true
	cfg := dispatch.ReconcilerConfig{Doubts: d.store, Clock: dispatch.SystemClock{}, Routes: []dispatch.Route{d.route},
		Logger: slog.New(slog.NewTextHandler(d.log, nil)), Random: func() float64 { return 0.5 }}
	if with != nil {
		with(&cfg)
	}
	rec, err := dispatch.NewReconciler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d.rec = rec
	return d
}

func (d *doubts) start() {
	ctx, stop := context.WithCancel(d.t.Context())
	d.stop = stop
	go func() { d.ended <- d.rec.Run(ctx) }()
	synctest.Wait()
}

func (d *doubts) end() {
	d.t.Helper()
	d.stop()
	if err := <-d.ended; err != nil {
		d.t.Errorf("the reconciler ended with %v", err)
	}
}

// doubt brings one notification into doubt, as a cut call through a provider does.
func (d *doubts) doubt(provider string, life time.Duration) dispatch.NotificationID {
	d.t.Helper()
	id := d.store.Admit(dispatchtest.Client(1), life)
	job, err := d.store.Claim(d.t.Context(), dispatch.ClaimOrder{ID: id, Provider: provider, Timeout: time.Second})
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.store.Finish(d.t.Context(), job.Reference, dispatchtest.Cut(), dispatch.FinishFacts{Schedule: ages}); err != nil {
		d.t.Fatal(err)
	}
	d.rec.Wake()
	return id
}

func (d *doubts) attempt(id dispatch.NotificationID) dispatch.Attempt {
	return d.store.Record(id).Attempts[0]
}

func (d *doubts) job(id dispatch.NotificationID) dispatch.LookupJob {
	a := d.attempt(id)
	return dispatch.LookupJob{Reference: a.Ref(id), Provider: a.Provider, UnknownSince: a.UnknownSince, ExpiresAt: d.store.Record(id).ExpiresAt}
}

func TestReconciler_AsksAtTheAgesOfTheDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := findable(empty)
		d := newDoubts(t, p, nil)
		d.start()
		began := time.Now()
		d.doubt("main", time.Hour)
		gap(31 * time.Minute)
		asked, _ := p.Asked()
		var got []time.Duration
		for _, a := range asked {
			got = append(got, a.At.Sub(began))
		}
		want := append(append([]time.Duration{}, ages...), 15*time.Minute, 20*time.Minute, 25*time.Minute, 30*time.Minute)
		if len(got) != len(want) {
			t.Fatalf("asked at %v, want %v", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("question %d at %v, want %v", i+1, got[i], want[i])
			}
		}
		d.end()
	})
}

func TestReconciler_QuestionsMissedDuringAStopAreAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := findable(empty)
		d := newDoubts(t, p, nil)
		d.doubt("main", time.Hour)
		gap(7 * time.Minute) // six ages pass and nobody is there
		d.start()
		gap(time.Second)
		if asked, _ := p.Asked(); len(asked) != 1 {
			t.Fatalf("%d questions after the start, want one", len(asked))
		}
		gap(3 * time.Minute)
		if asked, _ := p.Asked(); len(asked) != 2 {
			t.Errorf("%d questions at ten minutes, want two", len(asked))
		}
		d.end()
	})
}

func TestReconciler_AMatchSettlesAndAProofReleasesTheNextPermit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := findable(func(_ context.Context, n int, _ dispatch.Question) dispatch.Finding {
			if n == 1 {
				return dispatch.Finding{Candidates: []dispatch.Candidate{{MessageID: "m1"}}}
			}
			return dispatch.Finding{Complete: true, LaterSeen: true}
		})
		p.Can.AbsenceProves = true
		var mu sync.Mutex
		var told []dispatch.LookupResult
		d := newDoubts(t, p, func(c *dispatch.ReconcilerConfig) {
			c.Asked = func(_ string, r dispatch.LookupResult) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, r)
			}
		})
		d.start()
		first := d.doubt("main", time.Hour)
		gap(time.Second)
		second := d.doubt("main", time.Hour)
		gap(10 * time.Second)
		if got := d.store.Record(first); got.State != dispatch.StateSent || got.Attempts[0].MessageID != "m1" {
			t.Errorf("the matched one is %s", got.State)
		}
		if got := d.store.Record(second); got.State != dispatch.StateAccepted || len(got.Permits) != 2 {
			t.Errorf("the one that is proven absent is %s with %d permits", got.State, len(got.Permits))
		}
		mu.Lock()
		defer mu.Unlock()
		if len(told) != 2 || told[0] != dispatch.LookupMatch || told[1] != dispatch.LookupAbsent {
			t.Errorf("told of %v", told)
		}
		d.end()
	})
}

func TestReconciler_FailedLookupsAndPanicsAreOnRecordAndSettleNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := findable(func(ctx context.Context, n int, _ dispatch.Question) dispatch.Finding {
			switch n {
			case 1:
				return dispatch.Finding{Err: dispatchtest.ErrScripted, HTTPStatus: 503}
			case 2:
				panic("malformed")
			}
			<-ctx.Done() // silence
			return dispatch.Finding{Err: ctx.Err()}
		})
		d := newDoubts(t, p, nil)
		d.start()
		id := d.doubt("main", time.Hour)
		gap(50 * time.Second)
		lookups := d.store.Lookups()
		if len(lookups) != 3 {
			t.Fatalf("%d lookups on record, want 3", len(lookups))
		}
		for i, l := range lookups {
			if l.Finding.Err == nil {
				t.Errorf("lookup %d is not recorded as failed", i+1)
			}
		}
		if !errors.Is(lookups[2].Finding.Err, context.DeadlineExceeded) {
			t.Errorf("silence ended with %v", lookups[2].Finding.Err)
		}
		if got := d.store.Record(id).State; got != dispatch.StateUnknown {
			t.Errorf("the doubt is %s", got)
		}
		d.end()
	})
}

func TestReconciler_NeverMoreQuestionsAtOnceThanAProviderBears(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := findable(func(ctx context.Context, _ int, _ dispatch.Question) dispatch.Finding {
			dispatchtest.Wait(ctx, 2*time.Second)
			return dispatch.Finding{}
		})
		quick := findable(empty)
		d := newDoubts(t, slow, func(c *dispatch.ReconcilerConfig) { c.Routes = append(c.Routes, route("quick", quick)) })
		for range 100 { // they have the least life left, so that they come first
			d.doubt("main", time.Hour)
		}
		other := d.doubt("quick", 2*time.Hour)
		d.start()
		gap(5 * time.Second)
		if asked, most := slow.Asked(); most != 4 || len(asked) != 4 {
			t.Errorf("%d at once of %d, want 4", most, len(asked))
		}
		if n := d.attempt(other).Lookups; n != 1 {
			t.Errorf("the quick provider was asked %d times: it waits behind the slow one", n)
		}
		gap(50 * time.Second)
		if asked, most := slow.Asked(); most != 4 || len(asked) < 100 {
			t.Errorf("%d at once of %d, want 4 of at least 100", most, len(asked))
		}
		d.end()
	})
}

func TestReconciler_ProvidersThatCannotBeAskedAreListedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := findable(empty)
		byID := findable(empty)
		byID.Can.Lookup = dispatch.LookupByMessageID
		d := newDoubts(t, p, func(c *dispatch.ReconcilerConfig) {
			c.Routes = append(c.Routes, route("mute", scripted(dispatchtest.AlwaysTaken)), route("by-id", byID))
		})
		d.start()
		for _, provider := range []string{"mute", "by-id", "no longer configured"} {
			id := d.doubt(provider, time.Hour)
			gap(time.Hour)
			a := d.attempt(id)
			if a.Lookups != 1 || !a.LookupAt.IsZero() {
				t.Errorf("%s: %d lookups on record, the next at %v; want one failed one and no next", provider, a.Lookups, a.LookupAt)
			}
			if _, err := d.rec.Ask(t.Context(), d.job(id), dispatch.Worker()); !errors.Is(err, dispatch.ErrNoQuestion) {
				t.Errorf("%s: Ask says %v", provider, err)
			}
		}
		if n := len(d.store.Lookups()); n != 3 {
			t.Errorf("%d lookups, want 3", n)
		}
		if asked, _ := byID.Asked(); len(asked) != 0 {
			t.Error("asked by an id that is not known")
		}
		d.end()
	})
}

func TestReconciler_AskSharesTheQuestionUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := findable(func(ctx context.Context, _ int, _ dispatch.Question) dispatch.Finding {
			dispatchtest.Wait(ctx, 3*time.Second)
			return dispatch.Finding{Candidates: []dispatch.Candidate{{MessageID: "m1"}}}
		})
		d := newDoubts(t, p, nil)
		d.start()
		id := d.doubt("main", time.Hour)
		job := d.job(id)
		staff := dispatch.Actor{Kind: dispatch.ActorStaff, ID: "stf_1"}
		gap(4 * time.Second)
		// one caller goes away, two wait, and the loop's own turn comes meanwhile
		gone, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer leave()
		var callers sync.WaitGroup
		for _, ctx := range []context.Context{gone, t.Context(), t.Context()} {
			callers.Go(func() {
				got, err := d.rec.Ask(ctx, job, staff)
				if ctx != gone && (err != nil || got != dispatch.LookupMatch) {
					t.Errorf("Ask says %q, %v", got, err)
				}
			})
			synctest.Wait()
		}
		callers.Wait()
		gap(10 * time.Second)
		if asked, _ := p.Asked(); len(asked) != 1 {
			t.Errorf("%d questions, want one", len(asked))
		}
		lookups := d.store.Lookups()
		if len(lookups) != 1 || lookups[0].By != staff {
			t.Errorf("on record: %+v", lookups)
		}
		d.end()
	})
}

func TestReconciler_AnswersAreKeptThroughAFailingStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := findable(func(context.Context, int, dispatch.Question) dispatch.Finding {
			return dispatch.Finding{Candidates: []dispatch.Candidate{{MessageID: "m1"}}}
		})
		var broken atomic.Bool
		d := newDoubts(t, p, nil)
		d.store.SetFault(func(op string) error {
			if broken.Load() && op == dispatchtest.OpLookup {
				return dispatch.ErrUnavailable
			}
			return nil
		})
		d.start()
		id := d.doubt("main", time.Hour)
		broken.Store(true)
		gap(time.Minute)
		broken.Store(false)
		gap(2 * time.Second)
		if asked, _ := p.Asked(); len(asked) != 1 {
			t.Errorf("asked %d times for one answer", len(asked))
		}
		if got := d.store.Record(id).State; got != dispatch.StateSent {
			t.Errorf("the answer was lost: %s", got)
		}
		d.end()
	})
}

func TestReconciler_DoesNotHammerAProviderWhoseAnswersTheStoreRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := findable(empty)
		d := newDoubts(t, p, nil)
		d.store.SetFault(func(op string) error {
			if op == dispatchtest.OpLookup {
				return dispatch.ErrUnreadable
			}
			return nil
		})
		d.start()
		d.doubt("main", time.Hour)
		gap(5 * time.Minute)
		if asked, _ := p.Asked(); len(asked) > 11 {
			t.Errorf("%d questions in five minutes", len(asked))
		}
		d.end()
	})
}

func TestReconciler_AStopBreaksQuestionsOffAndTheNextStartAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := findable(func(ctx context.Context, _ int, _ dispatch.Question) dispatch.Finding {
			dispatchtest.Wait(ctx, 5*time.Second)
			return dispatch.Finding{Err: ctx.Err()}
		})
		d := newDoubts(t, p, nil)
		d.start()
		id := d.doubt("main", time.Hour)
		gap(6 * time.Second)
		before := time.Now()
		d.end()
		if took := time.Since(before); took > 0 {
			t.Errorf("the stop took %v", took)
		}
		if a := d.attempt(id); a.Lookups != 0 || a.LookupAt.After(time.Now()) {
			t.Errorf("the broken-off question moved the schedule: %+v", a)
		}
		d.start()
		if err := d.rec.Run(t.Context()); !errors.Is(err, dispatch.ErrRunning) {
			t.Errorf("a second Run says %v", err)
		}
		if asked, _ := p.Asked(); len(asked) != 2 {
			t.Errorf("%d questions, want a new one at once", len(asked))
		}
		d.end()
	})
}
