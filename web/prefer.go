package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	maxWait    = 30 * time.Second // the longest that a request is held
	maxWaiting = 4096             // requests held at once; beyond that they are answered as if they had not asked
)

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
