package dispatchtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sentonce/dispatch"
)

// Script decides how a call of a ScriptedProvider ends; n counts its calls from 1.
type Script func(ctx context.Context, n int, m dispatch.Message) dispatch.Exchange

// ScriptedProvider is a provider without a wire. It asks BeforeFirstByte as a real one does, keeps a ledger of the calls that got past it,
// and then does what its script says.
type ScriptedProvider struct {
	Can    dispatch.Capabilities
	Script Script
	// Answer, when set, answers lookups; n counts them from 1. Asked counts, whatever the answer.
	Answer func(ctx context.Context, n int, q dispatch.Question) dispatch.Finding

	mu       sync.Mutex
	calls    []Call
	asked    []Call
	now, top int
	askNow   int
	askTop   int
}

// Call is one call or question that reached the provider.
type Call struct {
	Reference dispatch.Reference
	At        time.Time
	Receipt   string // the receipt URL
}

// Send implements dispatch.Provider.
func (p *ScriptedProvider) Send(ctx context.Context, m dispatch.Message) dispatch.Exchange {
	if err := m.BeforeFirstByte(ctx); err != nil {
		return dispatch.Exchange{Phase: dispatch.PhaseConnected, Err: fmt.Errorf("send: %w", err)}
	}
	p.mu.Lock()
	p.calls = append(p.calls, Call{m.Reference, time.Now(), m.ReceiptURL})
	n := len(p.calls)
	p.now++
	p.top = max(p.top, p.now)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.now--
		p.mu.Unlock()
	}()
	return p.Script(ctx, n, m)
}

// Capabilities implements dispatch.Provider.
func (p *ScriptedProvider) Capabilities() dispatch.Capabilities { return p.Can }

// Calls lists the calls that got past BeforeFirstByte, in order.
func (p *ScriptedProvider) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// Most is how many calls were under way at once, at most.
func (p *ScriptedProvider) Most() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.top
}

// FindableProvider is a ScriptedProvider that can be asked.
type FindableProvider struct{ *ScriptedProvider }

// Find implements dispatch.Finder.
func (p FindableProvider) Find(ctx context.Context, q dispatch.Question) dispatch.Finding {
	p.mu.Lock()
	p.asked = append(p.asked, Call{Reference: q.Reference, At: time.Now()})
	n := len(p.asked)
	p.askNow++
	p.askTop = max(p.askTop, p.askNow)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.askNow--
		p.mu.Unlock()
	}()
	return p.Answer(ctx, n, q)
}

// Asked lists the questions, in order; most is how many were under way at once, at most.
func (p *ScriptedProvider) Asked() (asked []Call, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked), p.askTop
}

// ErrScripted is why scripted calls fail.
var ErrScripted = errors.New("scripted failure")

// Taken is a provider's answer that it took the message.
func Taken(id string) dispatch.Exchange {
	return dispatch.Exchange{Phase: dispatch.PhaseAnswered, Answer: dispatch.Answer{Meaning: dispatch.MeaningTaken, MessageID: id}}
}

// Answered is a complete answer of the provider with a meaning.
func Answered(m dispatch.Meaning) dispatch.Exchange {
	return dispatch.Exchange{Phase: dispatch.PhaseAnswered, Answer: dispatch.Answer{Meaning: m}}
}

// TryLater is "not now", with the time that the provider names; 0: it names none.
func TryLater(after time.Duration) dispatch.Exchange {
	x := Answered(dispatch.MeaningTryLater)
	x.Answer.RetryAfter = after
	return x
}

// Refused is a connection that was refused: nothing left.
func Refused() dispatch.Exchange {
	return dispatch.Exchange{Phase: dispatch.PhaseConnecting, Err: ErrScripted}
}

// Cut is a call that ended after its bytes left and before an answer came.
func Cut() dispatch.Exchange {
	return dispatch.Exchange{Phase: dispatch.PhaseWritten, Err: ErrScripted}
}

// AlwaysTaken takes every message.
func AlwaysTaken(_ context.Context, n int, _ dispatch.Message) dispatch.Exchange {
	return Taken(fmt.Sprintf("m%d", n))
}

// Wait waits in the bubble's time, or until ctx ends.
func Wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
