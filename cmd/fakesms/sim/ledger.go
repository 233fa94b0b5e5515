package sim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Message is one row of the ledger: a message that the simulator accepted.
type Message struct {
	SID        string
	At         time.Time // when it was accepted
	To         string
	From       string // "" when only a messaging service was named
	ServiceSID string
	Body       string
	Callback   string // StatusCallback as sent
	Validity   string // ValidityPeriod as sent; "" when it was not
	Conn       uint64 // the number of the connection that it came on
	Status     string // Twilio's word: queued, accepted, sent, delivered, undelivered …
	ErrorCode  string
	SentAt     time.Time // zero until it was sent
	UpdatedAt  time.Time
	Receipts   []ReceiptSent // call-backs that were tried for it, oldest first
}

// ReceiptSent is one call-back that was tried.
type ReceiptSent struct {
	At     time.Time
	Status string // Twilio's word that it reported
	HTTP   int    // the receiver's answer; 0 when there was none
	Err    error  // why there was none
}

// Held is a request that hangs.
type Held struct {
	To    string
	SID   string // of the message; "" when it was not accepted
	Since time.Time
}

// Counters are totals since the start.
type Counters struct {
	Accepted int // messages in the ledger
	Requests int // sends whose body was read to its end, whatever became of them
	Lookups  int // lists and fetches
	Foreign  int // requests to a path that is not the API's
	Held     int // requests that hang now
}

// book is the ledger with its counters; waiters are woken by every change.
type book struct {
	mu       sync.Mutex
	changed  chan struct{}
	all      []*Message
	byTo     map[string][]*Message
	bySID    map[string]*Message
	requests map[string][]time.Time
	held     map[*hold]struct{}
	sends    int
	lookups  int
	foreign  int
}

func newBook() *book {
	return &book{changed: make(chan struct{}), byTo: map[string][]*Message{}, bySID: map[string]*Message{},
		requests: map[string][]time.Time{}, held: map[*hold]struct{}{}}
}

// change runs f alone and wakes the waiters.
func (b *book) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

// read runs f alone.
func (b *book) read(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// wait returns when holds, asked under the lock after each change, says true. The error is the context's.
func (b *book) wait(ctx context.Context, holds func() bool) error {
	for {
		b.mu.Lock()
		ok, changed := holds(), b.changed
		b.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the simulator: %w", context.Cause(ctx))
		}
	}
}

func (b *book) add(m Message) {
	b.change(func() {
		b.all = append(b.all, &m)
		b.byTo[m.To] = append(b.byTo[m.To], &m)
		b.bySID[m.SID] = &m
	})
}

func (b *book) find(sid string) (m Message, ok bool) {
	b.read(func() {
		if found := b.bySID[sid]; found != nil {
			m, ok = found.copy(), true
		}
	})
	return m, ok
}

// to lists the messages to a number, or all when it is empty, oldest first.
func (b *book) to(number string) (list []Message) {
	b.read(func() {
		rows := b.all
		if number != "" {
			rows = b.byTo[number]
		}
		list = make([]Message, 0, len(rows))
		for _, m := range rows {
			list = append(list, m.copy())
		}
	})
	return list
}

// newest calls yield for the messages to a number, or all when it is empty, newest first, until it returns false.
func (b *book) newest(number string, yield func(*Message) bool) {
	b.read(func() {
		rows := b.all
		if number != "" {
			rows = b.byTo[number]
		}
		for _, m := range slices.Backward(rows) {
			if !yield(m) {
				return
			}
		}
	})
}

// advance moves a message's status; nothing leads away from a final one.
func (b *book) advance(sid, status, code string, now time.Time) {
	b.change(func() {
		m := b.bySID[sid]
		if m == nil || slices.Contains([]string{"delivered", "undelivered", "failed"}, m.Status) {
			return
		}
		m.Status, m.ErrorCode, m.UpdatedAt = status, code, now
		if m.SentAt.IsZero() && status != "failed" {
			m.SentAt = now
		}
	})
}

func (b *book) receipt(sid string, sent ReceiptSent) {
	b.change(func() {
		if m := b.bySID[sid]; m != nil {
			m.Receipts = append(m.Receipts, sent)
		}
	})
}

func (b *book) counters() (c Counters) {
	b.read(func() {
		c = Counters{Accepted: len(b.all), Requests: b.sends, Lookups: b.lookups, Foreign: b.foreign, Held: len(b.held)}
	})
	return c
}

func (m *Message) copy() Message {
	c := *m
	c.Receipts = slices.Clone(m.Receipts)
	return c
}
