package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// settle asks and records one question of the loop.
func (r *Reconciler) settle(ctx context.Context, d *desk, job LookupJob, q *question) {
	report := LookupReport{Job: job, By: Worker(), AskedAt: r.cfg.Clock.Now(), Finding: Finding{Err: ErrNoQuestion}}
	if d != nil {
		report = r.put(ctx, d, job, Worker())
		if ctx.Err() != nil && report.Finding.Err != nil {
			r.close(job.Reference.Attempt, q, "", ctx.Err())
			return
		}
	}
	result, err := r.record(ctx, report)
	gap := questionGap
	if err != nil {
		gap = unrecordedGap
	}
	r.hush(job.Reference.Attempt, gap)
	r.close(job.Reference.Attempt, q, result, err)
}

// Ask asks one question at once and records it. When it is being asked already, its answer is shared. A caller who goes away does not break
// the question off. The error is ErrNoQuestion where there is nobody to ask; then nothing is recorded.
func (r *Reconciler) Ask(ctx context.Context, job LookupJob, by Actor) (LookupResult, error) {
	d := r.routes[job.Provider]
	if d.finder(job) == nil {
		return "", fmt.Errorf("ask %s: %w", job.Provider, ErrNoQuestion)
	}
	q, mine := r.open(job.Reference.Attempt)
	if !mine {
		select {
		case <-q.done:
			return q.result, q.err
		case <-ctx.Done():
			return "", fmt.Errorf("wait for the question under way: %w", ctx.Err())
		}
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.Timeout+recordTimeout)
	defer cancel()
	result, err := r.record(whole, r.put(whole, d, job, by))
	r.close(job.Reference.Attempt, q, result, err)
	return result, err
}

// put puts one question. A panic of the finder, and silence, are failed lookups.
func (r *Reconciler) put(ctx context.Context, d *desk, job LookupJob, by Actor) LookupReport {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	rep := LookupReport{Job: job, By: by, AskedAt: r.cfg.Clock.Now(), Can: d.can, AutoResolve: d.route.AutoResolve,
		Schedule: d.route.Schedule, Delay: RetryDelay(job.Reference.Number, r.cfg.Random())}
	err := safely(func() error {
		rep.Finding = d.finder(job).Find(ctx, job.Question)
		return nil
	})
	if err != nil {
		r.cfg.Logger.Error("a finder panicked; its lookup counts as failed", "provider", job.Provider,
			"notification", job.Reference.Notification, "error", err)
		rep.Finding = Finding{Err: err}
	}
	return rep
}

// record stores an answer; while the store is unavailable it tries again until ctx ends, and then once more.
func (r *Reconciler) record(ctx context.Context, rep LookupReport) (result LookupResult, err error) {
	for tries := 1; ; tries++ {
		last := ctx.Err() != nil
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		err = safely(func() (err error) {
			result, err = r.cfg.Doubts.RecordLookup(detached, rep)
			return err
		})
		cancel()
		if err == nil {
			r.tell(rep.Job.Provider, result)
			return result, nil
		}
		if tries == 1 {
			r.cfg.Logger.Warn("a lookup cannot be recorded", "provider", rep.Job.Provider,
				"notification", rep.Job.Reference.Notification, "error", err)
		}
		if last || !errors.Is(err, ErrUnavailable) {
			return "", fmt.Errorf("record lookup: %w", err)
		}
		pause(ctx, storeRetry(tries, r.cfg.Random()))
	}
}

func (r *Reconciler) tell(provider string, result LookupResult) {
	err := safely(func() error {
		r.cfg.Asked(provider, result)
		return nil
	})
	if err != nil {
		r.cfg.Logger.Error("the observer of lookups panicked", "error", err)
	}
}

// finder is whom to ask about a job, or nil.
func (d *desk) finder(job LookupJob) Finder {
	if d == nil || !d.route.canAsk(d.can, job.Question.MessageID) {
		return nil
	}
	f, _ := d.route.Provider.(Finder)
	return f
}

func (d *desk) leave() {
	if d != nil {
		<-d.slots
	}
}

// open begins a question about an attempt; mine is false when it is being asked already.
func (r *Reconciler) open(id AttemptID) (q *question, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q, ok := r.asking[id]; ok {
		return q, false
	}
	q = &question{done: make(chan struct{})}
	r.asking[id] = q
	return q, true
}

func (r *Reconciler) close(id AttemptID, q *question, result LookupResult, err error) {
	r.mu.Lock()
	delete(r.asking, id)
	r.mu.Unlock()
	q.result, q.err = result, err
	close(q.done)
}

// hush keeps the loop from asking about an attempt for a while; what is over is forgotten on the way.
func (r *Reconciler) hush(id AttemptID, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.cfg.Mono()
	for other, until := range r.quiet {
		if until <= now {
			delete(r.quiet, other)
		}
	}
	r.quiet[id] = now + d
}

func (r *Reconciler) quietFor(id AttemptID) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quiet[id] - r.cfg.Mono()
}
