package web

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"sentonce/dispatch"
)

const (
	maxWait    = 30 * time.Second // the longest that a request is held
	maxWaiting = 4096             // requests held at once; beyond that they are answered as if they had not asked
	maxOfOne   = 1024             // of one client
)

// waitingRoom counts the requests that are held.
type waitingRoom struct {
	mu  sync.Mutex
	all int
	of  map[dispatch.ClientID]int
}

// enter lets one more of a client's requests be held, unless there are too many; who is let in has to leave.
func (w *waitingRoom) enter(c dispatch.ClientID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all >= maxWaiting || w.of[c] >= maxOfOne {
		return false
	}
	if w.of == nil {
		w.of = map[dispatch.ClientID]int{}
	}
	w.all++
	w.of[c]++
	return true
}

func (w *waitingRoom) leave(c dispatch.ClientID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all--
	if w.of[c]--; w.of[c] == 0 {
		delete(w.of, c)
	}
}

// preferredWait reads the preference "wait" (RFC 7240, §4.3): the first one counts, at most maxWait, and what cannot be read is ignored, as
// the RFC has it.
func preferredWait(h http.Header) time.Duration {
	for _, preference := range strings.Split(strings.Join(h.Values("Prefer"), ","), ",") {
		preference, _, _ = strings.Cut(preference, ";")
		name, value, _ := strings.Cut(preference, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		n, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
		if err != nil {
			return 0
		}
		return min(time.Duration(n)*time.Second, maxWait)
	}
	return 0
}
