package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
)

// status serves GET /v1/notifications/{id} from local state; it never asks a provider.
func (s *Server) status(c echo.Context) error {
	id, err := dispatch.ParseNotificationID(c.Param("id"))
	if err != nil {
		return err
	}
	r, h := c.Request(), c.Response().Header()
	wait, release := s.mayWait(callOf(c).key.Client, preferredWait(r.Header))
	defer release()
	if wait > 0 {
		h.Set("Preference-Applied", "wait="+itoa(int(wait/time.Second)))
	}
	q := question{client: callOf(c).key.Client, id: id, ifNoneMatch: strings.Join(r.Header.Values("If-None-Match"), ","), wait: wait}
	rec, err := s.await(r.Context(), q)
	if err != nil {
		return err
	}
	body, tag, err := encode(rec)
	if err != nil {
		return fmt.Errorf("status document: %w", err)
	}
	h.Set("ETag", tag)
	if !rec.Final {
		h.Set(echo.HeaderRetryAfter, seconds(pollAfter(rec.State)))
	}
	if q.ifNoneMatch != "" && matches(q.ifNoneMatch, tag) {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, body)
}

// mayWait grants a wait unless too many requests are held already, and takes note of its end.
func (s *Server) mayWait(client dispatch.ClientID, asked time.Duration) (granted time.Duration, release func()) {
	if asked <= 0 || !s.waiting.enter(client) {
		return 0, func() {}
	}
	return asked, func() { s.waiting.leave(client) }
}

// question is one status request.
type question struct {
	client      dispatch.ClientID
	id          dispatch.NotificationID
	ifNoneMatch string
	wait        time.Duration
}

// await reads a record and, when the question asks for it, holds until its document is another one than the client has (or, where the client
// does not say, than at the first look), until it is final, the time is over or the server stops. While it holds it occupies nothing but its
// goroutine. A watch begins before the look that follows it, so that no change falls between the two.
func (s *Server) await(ctx context.Context, q question) (dispatch.Record, error) {
	rec, tag, err := s.look(ctx, q)
	known := q.ifNoneMatch
	if known == "" {
		known = tag
	}
	if err != nil || q.wait == 0 || rec.Final || !matches(known, tag) {
		return rec, err
	}
	timer := time.NewTimer(q.wait)
	defer timer.Stop()
	for {
		changed, stop := s.deps.Store.Watch(q.id)
		rec, tag, err = s.look(ctx, q)
		if err != nil || rec.Final || !matches(known, tag) {
			stop()
			return rec, err
		}
		over := s.hold(ctx, changed, timer.C)
		stop()
		if over {
			return rec, ctx.Err()
		}
	}
}

// look reads the record and the tag of its document.
func (s *Server) look(ctx context.Context, q question) (rec dispatch.Record, tag string, err error) {
	rec, err = s.deps.Store.Notification(ctx, q.client, q.id)
	if err != nil {
		return rec, "", fmt.Errorf("notification: %w", err)
	}
	_, tag, err = encode(rec)
	return rec, tag, err
}

// hold waits for a change and reports whether there is no more to wait for.
func (s *Server) hold(ctx context.Context, changed <-chan struct{}, timeout <-chan time.Time) (over bool) {
	select {
	case <-changed:
		return false
	case <-timeout:
	case <-s.deps.Draining:
	case <-ctx.Done():
	}
	return true
}

// pollAfter is the pace at which a client may ask again.
func pollAfter(state dispatch.State) time.Duration {
	switch state {
	case dispatch.StateUnknown:
		return 5 * time.Second
	case dispatch.StateSent:
		return 30 * time.Second
	}
	return time.Second
}

// list is the answer of a search: nothing found is an empty list.
type list struct {
	Notifications []statusDocument `json:"notifications"`
}

// find serves GET /v1/notifications?event_id= or ?idempotency_key=.
func (s *Server) find(c echo.Context) error {
	by, value, err := searchBy(c.Request().URL.RawQuery)
	if err != nil {
		return err
	}
	ctx, client := c.Request().Context(), callOf(c).key.Client
	var found []dispatch.Record
	if by == "event_id" {
		found, err = s.deps.Store.NotificationsByEvent(ctx, client, value)
	} else {
		found, err = s.byKey(ctx, client, value)
	}
	if err != nil && !errors.Is(err, dispatch.ErrNotFound) {
		return fmt.Errorf("find: %w", err)
	}
	answer := list{[]statusDocument{}}
	for _, r := range found {
		answer.Notifications = append(answer.Notifications, describe(r))
	}
	return answerJSON(c, answer)
}

func (s *Server) byKey(ctx context.Context, client dispatch.ClientID, key string) ([]dispatch.Record, error) {
	r, err := s.deps.Store.NotificationByKey(ctx, client, key)
	if err != nil {
		return nil, err
	}
	return []dispatch.Record{r}, nil
}

// searchBy reads the query, which must be exactly one of the two parameters.
func searchBy(rawQuery string) (name, value string, err error) {
	q, err := url.ParseQuery(rawQuery)
	if err != nil {
		return "", "", fail(problemInvalid, "the query cannot be read")
	}
	if len(q) != 1 || !q.Has("event_id") && !q.Has("idempotency_key") {
		return "", "", fail(problemInvalid, "the query must have exactly one of event_id and idempotency_key, and nothing else")
	}
	for n, values := range q {
		if len(values) != 1 || !isID(values[0]) {
			return "", "", fail(problemInvalid, "the query parameter "+n+" must be given once and have 1 to 128 visible ASCII characters")
		}
		name, value = n, values[0]
	}
	return name, value, nil
}
