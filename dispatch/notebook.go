package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	notebookMost  = 256 // events that wait for the store; changes of state are rare, so that more means that it has failed for hours
	notebookFlush = time.Second
)

// notebook writes events to the journal beside the work: whoever has an event must not wait for the store.
type notebook struct {
	journal Journal
	log     *slog.Logger
	random  func() float64
	news    alarm

	mu      sync.Mutex
	waiting []Event
}

func newNotebook(j Journal, log *slog.Logger, random func() float64) *notebook {
	return &notebook{journal: j, log: log, random: random, news: newAlarm()}
}

// add never blocks. When too many wait, the event is dropped with a log line.
func (n *notebook) add(ev Event) {
	n.mu.Lock()
	full := len(n.waiting) >= notebookMost
	if !full {
		n.waiting = append(n.waiting, ev)
	}
	n.mu.Unlock()
	if full {
		n.log.Error("event dropped: the journal has not taken any for too long", "action", string(ev.Action), "provider", ev.Provider)
	}
	n.news.ring()
}

// run writes until ctx ends, then tries for one more second to write what is left.
func (n *notebook) run(ctx context.Context) {
	for ctx.Err() == nil {
		if n.write(ctx) {
			n.news.sleep(ctx, safetyLook)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), notebookFlush)
	defer cancel()
	if !n.write(last) {
		n.log.Error("events were not journalled before the stop", "count", len(n.waiting))
	}
}

// write writes all that waits, in order, trying again after errors until ctx ends; it reports whether all is written.
func (n *notebook) write(ctx context.Context) bool {
	tries := 0
	for {
		n.mu.Lock()
		if len(n.waiting) == 0 {
			n.mu.Unlock()
			return true
		}
		ev := n.waiting[0]
		n.mu.Unlock()
		if err := safely(func() error { return n.journal.Note(ctx, ev) }); err != nil {
			tries++
			if tries == 1 {
				n.log.Warn("the journal does not take an event; trying again", "action", string(ev.Action), "error", err)
			}
			if !pause(ctx, storeRetry(tries, n.random())) {
				return false
			}
			continue
		}
		tries = 0
		n.mu.Lock()
		n.waiting = n.waiting[1:]
		n.mu.Unlock()
	}
}
