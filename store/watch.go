package store

import (
	"context"
	"sync"
	"time"

	"sentonce/dispatch"
)

// watchers wakes who waits for a notification to change.
type watchers struct {
	mu     sync.Mutex
	closed bool
	byID   map[dispatch.NotificationID][]chan struct{}
}

// Watch returns a channel that is closed at the next committed change of a notification, or when the store closes. Callers watch first and
// read then, so that no change falls between the two, and call stop when they are done.
func (db *DB) Watch(id dispatch.NotificationID) (changed <-chan struct{}, stop func()) {
	w := &db.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	ch := make(chan struct{})
	if w.closed {
		close(ch)
		return ch, func() {}
	}
	if w.byID == nil {
		w.byID = map[dispatch.NotificationID][]chan struct{}{}
	}
	w.byID[id] = append(w.byID[id], ch)
	return ch, func() { w.forget(id, ch) }
}

func (w *watchers) forget(id dispatch.NotificationID, ch chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.byID[id]
	for i, c := range rest {
		if c == ch {
			rest = append(rest[:i], rest[i+1:]...)
			break
		}
	}
	if len(rest) == 0 {
		delete(w.byID, id)
	} else {
		w.byID[id] = rest
	}
}

func (w *watchers) notify(id dispatch.NotificationID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ch := range w.byID[id] {
		close(ch)
	}
	delete(w.byID, id)
}

func (w *watchers) notifyAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, all := range w.byID {
		for _, ch := range all {
			close(ch)
		}
		delete(w.byID, id)
	}
}

func (w *watchers) closeAll() {
	w.notifyAll()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}

// foreignPace is how soon the server notices what another process wrote.
const foreignPace = 300 * time.Millisecond

// watchForeign looks whether another process has written, and treats it like a commit of ours that made everything possible. The writer asks,
// because its data_version moves only with the commits of others.
func (db *DB) watchForeign(ctx context.Context) {
	tick := time.NewTicker(foreignPace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var version int64
		err := db.write(ctx, "look for foreign writes", func(tx *Tx) error { return tx.row(`PRAGMA data_version`, nil, &version) })
		if err != nil {
			continue // the writer's own callers are told; here there is nothing to do but to look again
		}
		if old := db.foreign.Swap(version); old != 0 && old != version {
			db.keys.forget()
			db.commits.Add(1)
			db.watch.notifyAll()
			if db.cfg.OnCommit != nil {
				db.cfg.OnCommit(Signal{Work: true, Doubt: true, Keys: true, EndsAt: db.cfg.Clock.Now()})
			}
		}
	}
}
