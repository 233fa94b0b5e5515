package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// checkTimeout bounds the question before the first byte: an answer that takes longer is no permission.
	checkTimeout = 2 * time.Second
	// overrun is how long after its deadline a call may still return. An adapter that hangs beyond it costs its goroutine, not the worker.
	overrun = 2 * time.Second
)

var errOverrun = errors.New("the adapter did not return by its deadline")

// work takes one errand from the claim to the stored result. hard ends when everything is given up, not when the pool is asked to stop.
func (p *Pool) work(hard context.Context, e errand) {
	defer p.release(e)
	var job Job
	claimed := p.cfg.Mono()
	err := safely(func() (err error) {
		job, err = p.cfg.Queue.Claim(hard, ClaimOrder{ID: e.waiting.ID, Provider: e.gate.route.Name, Timeout: e.gate.route.Timeout, Can: e.gate.can})
		return err
	})
	p.claimed(e.waiting.ID)
	if err != nil {
		p.claimFailed(e, err)
		return
	}
	p.storeWorks()

	began := p.cfg.Mono()
	job.Timeout -= began - claimed // the call's time runs from the claim: what the provider is told counts from its end (I5)
	x, ours := p.call(hard, e, job)
	took := p.cfg.Mono() - began
	facts := FinishFacts{Delay: retryMost}
	p.guard(e, func() { // nothing that goes wrong here may keep the result from being stored
		news := e.ticket.settle(p.cfg.Mono(), x, ours)
		facts = p.facts(e, job, x)
		p.tell(e.gate, news)
	})
	if p.record(hard, job, x, facts) {
		outcome, rule := Classify(x.Phase, x.Err, x.Answer)
		p.cfg.Observer.AttemptFinished(AttemptSeen{e.gate.route.Name, settleHere(outcome, rule, facts.Elsewhere), rule, took})
	}
}

// guard runs a step of an errand and contains its panic.
func (p *Pool) guard(e errand, f func()) {
	err := safely(func() error {
		f()
		return nil
	})
	if err != nil {
		p.log.Error("a worker panicked", "notification", e.waiting.ID, "provider", e.gate.route.Name, "error", err)
	}
}

// release ends an errand whatever became of it, a panic of our own code included: neither the slot nor the worker is lost.
func (p *Pool) release(e errand) {
	if v := recover(); v != nil {
		p.log.Error("a worker panicked", "notification", e.waiting.ID, "provider", e.gate.route.Name, "error", newPanicError(v))
	}
	e.ticket.giveBack(p.cfg.Mono())
	p.freeWorker()
	p.wake.ring()
}

// claimFailed sorts the ways in which a claim ends without a job. That somebody was faster, that it has stopped, or that it was set aside
// is normal: the store has spoken.
func (p *Pool) claimFailed(e errand, err error) {
	switch {
	case errors.Is(err, ErrStale), errors.Is(err, ErrStopped):
		p.storeWorks()
	case errors.Is(err, ErrUnreadable):
		p.storeWorks()
		p.log.Error("a notification cannot be read and was set aside", "notification", e.waiting.ID, "error", err)
	case errors.Is(err, ErrUnavailable):
		p.storeTrouble("claim", err)
		p.storeFailed()
	default:
		p.log.Error("a claim failed; the notification is left alone for a while", "notification", e.waiting.ID, "error", err)
		p.shun(e.waiting.ID)
	}
}

// call makes the one call of a job. ours reports that it was given up before its first byte because the store did not want it any more or
// could not be asked. The context has the job's deadline and nothing else: a stop of the process never cancels it (I10).
func (p *Pool) call(hard context.Context, e errand, job Job) (x Exchange, ours bool) {
	if job.Timeout <= 0 {
		return Exchange{Phase: PhaseNone, Err: fmt.Errorf("the claim took all the time of the call: %w", ErrStopped)}, true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(hard), job.Timeout)
	defer cancel()
	var refused atomic.Bool
	m := Message{Reference: job.Reference, Recipient: job.Recipient, Text: job.Text, Validity: job.Validity}
	m.BeforeFirstByte = func(ctx context.Context) error {
		err := p.mayStillSend(ctx, job.Reference)
		refused.Store(err != nil)
		return err
	}
	result := make(chan Exchange, 1)
	go func() { result <- p.send(ctx, e.gate.route, m) }()
	late := time.NewTimer(job.Timeout + overrun)
	defer late.Stop()
	select {
	case x = <-result:
	case <-late.C:
		p.log.Error("an adapter hangs beyond its deadline; its attempt counts as unknown", "provider", job.Provider,
			"notification", job.Reference.Notification, "attempt", job.Reference.Number)
		x = Exchange{Phase: PhaseWriting, Err: errOverrun}
	}
	return x, refused.Load() || errors.Is(x.Err, ErrStopped)
}

// send contains a panic of the adapter: nobody knows how far it got, so that it counts as a write that was started.
func (p *Pool) send(ctx context.Context, r Route, m Message) (x Exchange) {
	err := safely(func() error {
		m.ReceiptURL = p.cfg.ReceiptURL(r.Name, m.Reference)
		x = r.Provider.Send(ctx, m)
		return nil
	})
	if err != nil {
		p.log.Error("an adapter panicked; its attempt counts as unknown", "provider", r.Name, "notification", m.Reference.Notification,
			"attempt", m.Reference.Number, "error", err)
		return Exchange{Phase: PhaseWriting, Err: err}
	}
	return x
}

func (p *Pool) mayStillSend(ctx context.Context, r Reference) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := p.cfg.Queue.MayStillSend(ctx, r); err != nil {
		return fmt.Errorf("before the first byte: %w", err)
	}
	return nil
}

// facts is what only the pool knows when a call ends. The gate has learnt of the end already.
func (p *Pool) facts(e errand, job Job, x Exchange) FinishFacts {
	f := FinishFacts{
		NoReceipts:  !e.gate.can.Receipts,
		Unavailable: p.Unavailable(),
		Delay:       RetryDelay(job.Reference.Number, p.cfg.Random()),
		Schedule:    e.gate.route.lookups(e.gate.can, x.Answer.MessageID),
	}
	mono, now := p.cfg.Mono(), p.cfg.Clock.Now()
	open := false
	for _, g := range p.gates {
		if g == e.gate || slices.Contains(e.waiting.RefusedBy, g.route.Name) {
			continue
		}
		f.Elsewhere = true
		open = open || g.suits(e.waiting, job.ExpiresAt.Sub(now)) && !g.unavailable(mono)
	}
	// Whom a provider told to come back later comes back later, unless somebody else can take the message meanwhile.
	if _, rule := Classify(x.Phase, x.Err, x.Answer); rule == R5 && !open {
		f.Delay += e.gate.shutFor(mono)
	}
	return f
}

// lookups is the route's schedule, or nil where its provider cannot be asked about an attempt with this id (which may be ""): then the store
// plans no question.
func (r Route) lookups(can Capabilities, messageID string) []time.Duration {
	if !r.canAsk(can, messageID) {
		return nil
	}
	return r.Schedule
}

func (r Route) canAsk(can Capabilities, messageID string) bool {
	if _, ok := r.Provider.(Finder); !ok {
		return false
	}
	switch can.Lookup {
	case LookupByReference, LookupByRecipient:
		return true
	case LookupByMessageID:
		return messageID != ""
	}
	return false
}

// record stores a result: for as long as the process lives, until the store has it. The worker stays busy with it, so that a store that does
// not take results brings the sending to a stop. It reports whether the result is stored.
func (p *Pool) record(hard context.Context, job Job, x Exchange, f FinishFacts) bool {
	for tries := 1; ; tries++ {
		err := safely(func() error { return p.cfg.Queue.Finish(hard, job.Reference, x, f) })
		if err == nil || errors.Is(err, ErrStale) {
			p.storeWorks()
			return true
		}
		if tries == 1 {
			p.log.Warn("a result cannot be stored; trying again until it can", "notification", job.Reference.Notification,
				"attempt", job.Reference.Number, "error", err)
			p.storeFailed()
		}
		if !pause(hard, storeRetry(tries, p.cfg.Random())) {
			p.lost.Add(1)
			p.log.Error("a result was not stored before the stop; the attempt becomes unknown at the next start",
				"notification", job.Reference.Notification, "attempt", job.Reference.Number, "tries", tries, "error", err)
			return false
		}
	}
}

// tell passes a gate's changes on: to the log, the journal and the observer.
func (p *Pool) tell(g *gate, news []gateNews) {
	for _, n := range news {
		p.cfg.Observer.GateChanged(g.status(p.cfg.Mono(), p.cfg.Clock.Now()))
		if n.quiet {
			continue
		}
		ev := Event{At: p.cfg.Clock.Now(), By: Worker(), Action: ActionProviderResumed, Provider: g.route.Name, Cause: string(n.cause)}
		switch {
		case !n.paused:
			p.log.Info("provider takes calls again", "provider", g.route.Name, "cause", string(n.cause))
		case n.cause == PauseAccountRefusing:
			ev.Action = ActionProviderPaused
			p.log.Error("provider refuses our account; it is paused and probed", "provider", g.route.Name, "for", n.length)
		default:
			ev.Action = ActionProviderPaused
			p.log.Warn("provider paused", "provider", g.route.Name, "cause", string(n.cause), "for", n.length)
		}
		p.notes.add(ev)
	}
}
