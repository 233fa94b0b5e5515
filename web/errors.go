package web

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
)

// failure is an error that a handler has already classified. It repeats nothing of the request, so that it may be shown.
type failure struct {
	kind     problemKind
	detail   string
	faults   []fault
	existing dispatch.NotificationID
	differs  []string
	retry    time.Duration // not 0: when to try again
	cause    error         // for the log alone
}

// fault is what is wrong with one member of a request.
type fault struct {
	Pointer string `json:"pointer"` // JSON pointer (RFC 6901) of a documented member, "" for the whole body
	Rule    string `json:"rule"`    // a stable word
	Detail  string `json:"detail"`
}

func (f *failure) Error() string { return "problem " + f.kind.name + ": " + f.detail }
func (f *failure) Unwrap() error { return f.cause }

// fail makes a failure of a kind.
func fail(kind func() problemKind, detail string, faults ...fault) *failure {
	return &failure{kind: kind(), detail: detail, faults: faults}
}

// because adds the cause, for the log.
func (f *failure) because(cause error) *failure {
	f.cause = cause
	return f
}

// unavailable makes a 503 with its cause, nil when there is nothing to log.
func unavailable(detail string, cause error) *failure {
	f := fail(problemUnavailable, detail).because(cause)
	f.retry = storeRetry
	return f
}

const (
	storeRetry   = 2 * time.Second // what a client is told to wait when the store cannot be written
	longestRetry = time.Hour
)

// classify turns any error into a failure. It is the only place that decides which status an error has.
func classify(err error) *failure {
	var own *failure
	var refused *dispatch.RefusalError
	var conflict *dispatch.ConflictError
	var limited *limitError
	var tooLarge *http.MaxBytesError
	var framework *echo.HTTPError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &refused):
		return fail(problemRefused, refused.Detail, fault{"/" + refused.Member, string(refused.Rule), refused.Detail})
	case errors.As(err, &conflict):
		return conflictFailure(conflict)
	case errors.As(err, &limited):
		f := fail(problemRateLimited, "the limit of the API key or of its client is used up")
		f.retry = limited.wait
		return f
	case errors.Is(err, dispatch.ErrNotFound):
		return fail(problemNotFound, "")
	case errors.Is(err, dispatch.ErrUnavailable):
		return unavailable("nothing was kept; try again", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fail(problemTimeout, "").because(err)
	case errors.Is(err, context.Canceled):
		return fail(problemClientGone, "")
	case errors.As(err, &tooLarge):
		return fail(problemTooLarge, "")
	case errors.As(err, &framework) && framework.Code == http.StatusNotFound:
		return fail(problemNotFound, "")
	case errors.As(err, &framework) && framework.Code == http.StatusMethodNotAllowed:
		return fail(problemMethod, "")
	}
	return fail(problemInternal, "the log has the reason under the request id").because(err)
}

func conflictFailure(e *dispatch.ConflictError) *failure {
	f := fail(problemEventTaken, "the event was accepted under another idempotency key")
	if e.SameKey() {
		f = fail(problemKeyReused, "the idempotency key belongs to a notification with other content")
		f.differs = e.Differs
	}
	f.existing = e.Existing
	return f
}

// problem is the body of an error (RFC 9457).
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty"`
	Instance string   `json:"instance"` // the request's id as a URN
	Errors   []fault  `json:"errors,omitempty"`
	Existing string   `json:"existing,omitempty"`
	Differs  []string `json:"differs,omitempty"`
}

const problemJSON = "application/problem+json"

// answerError writes the problem for an error, and its cause into the log when the fault is ours. An answer that has begun is left alone.
func (s *Server) answerError(err error, c echo.Context) {
	if s.wantsPage(c) {
		s.answerErrorPage(err, c)
		return
	}
	f, cl := classify(err), callOf(c)
	s.logFailure(c, f)
	if c.Response().Committed {
		return
	}
	if f.retry > 0 {
		c.Response().Header().Set(echo.HeaderRetryAfter, seconds(f.retry))
	}
	body, err := encodeJSON(problem{Type: f.kind.uri(), Title: f.kind.title, Status: f.kind.status, Detail: f.detail,
		Instance: "urn:uuid:" + cl.id, Errors: f.faults, Existing: f.existing.String(), Differs: f.differs})
	if err == nil {
		err = c.Blob(f.kind.status, problemJSON, body)
	}
	if err != nil {
		s.deps.Log.Info("the answer could not be written", "request_id", cl.id, "error", err)
	}
}

// logFailure writes the cause of a failure under the request's id. The causes that reach it are ours and the store's.
func (s *Server) logFailure(c echo.Context, f *failure) {
	if f.cause == nil {
		return
	}
	attrs := []slog.Attr{slog.String("request_id", callOf(c).id), slog.String("problem", f.kind.name), slog.String("error", f.cause.Error())}
	if p := (*panicError)(nil); errors.As(f.cause, &p) {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	level := slog.LevelWarn
	if f.kind.status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	s.deps.Log.LogAttrs(c.Request().Context(), level, "request failed", attrs...)
}

// seconds is a duration as a Retry-After: whole seconds, rounded up, from 1 s to an hour.
func seconds(d time.Duration) string {
	return itoa(int(math.Ceil(min(max(d, time.Second), longestRetry).Seconds())))
}

func itoa(n int) string { return strconv.Itoa(n) }
