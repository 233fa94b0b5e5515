package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
)

// outer is what every request passes, matched by a route or not, from the outside in.
func (s *Server) outer() []echo.MiddlewareFunc {
	return []echo.MiddlewareFunc{s.identify, s.logAccess, s.protect, s.answerErrors, s.recoverPanics}
}

// inner is what a request for a route passes after that.
func (s *Server) inner(rt route) []echo.MiddlewareFunc {
	if rt.needs.isPage() {
		return []echo.MiddlewareFunc{s.refuseForeign, s.limitBody(rt.body), s.limitTime(rt.holds), s.signedIn(rt.needs)}
	}
	return []echo.MiddlewareFunc{s.limitBody(rt.body), s.limitTime(rt.holds), s.authenticate(rt.needs), s.limitRate(rt)}
}

// call is what is known of a request beside the request itself.
type call struct {
	id      string // of the request, ours
	key     dispatch.APIKey
	who     *person         // of a page: who is signed in
	session context.Context // of a page: holds the session; nil: there is none

	mustEnrol bool // the person needs a second factor before anything else
}

type callKey struct{}

// callOf finds the call in a request's context. Every request has one: identify is the first thing that it passes.
func callOf(c echo.Context) *call {
	found, _ := c.Request().Context().Value(callKey{}).(*call)
	if found == nil {
		return &call{}
	}
	return found
}

// by is the actor on whose behalf an authenticated request acts.
func (c *call) by() dispatch.Actor {
	return dispatch.Actor{Kind: dispatch.ActorClient, ID: c.key.ID.String()}
}

// identify gives the request an id of ours. One that the client sends is ignored: it could carry anything into the logs.
func (s *Server) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id, err := dispatch.NewID[[16]byte](s.deps.Clock.Now(), s.deps.Random)
		if err != nil {
			return fmt.Errorf("request id: %w", err)
		}
		text := fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
		c.Response().Header().Set(echo.HeaderXRequestID, text)
		c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), callKey{}, &call{id: text})))
		return next(c)
	}
}

// logAccess writes one line and counts once for every request, when its answer is written.
func (s *Server) logAccess(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := s.deps.Clock.Now()
		err := next(c)
		took := s.deps.Clock.Now().Sub(start)
		res, cl, method, pattern := c.Response(), callOf(c), knownMethod(c.Request().Method), s.pattern(c)
		attrs := []slog.Attr{slog.String("request_id", cl.id), slog.String("method", method), slog.String("route", pattern),
			slog.Int("status", res.Status), slog.Int64("bytes", res.Size), slog.Duration("took", took), slog.String("from", c.RealIP())}
		if cl.who != nil {
			attrs = append(attrs, slog.String("staff", cl.who.ID.String()))
		}
		if !cl.key.ID.IsZero() {
			attrs = append(attrs, slog.String("client", cl.key.Client.String()), slog.String("key", cl.key.ID.String()))
		}
		level := slog.LevelInfo
		if health(pattern) && res.Status < http.StatusInternalServerError {
			level = slog.LevelDebug
		}
		s.deps.Log.LogAttrs(c.Request().Context(), level, "request", attrs...)
		s.deps.Metrics.served(pattern, method, res.Status, took)
		return err
	}
}

// pattern is the route's path as the table has it: never what the client wrote.
func (s *Server) pattern(c echo.Context) string {
	if s.patterns[c.Path()] {
		return c.Path()
	}
	return "none"
}

func health(pattern string) bool {
	return pattern == "/livez" || pattern == "/readyz" || pattern == "/metrics"
}

// knownMethod keeps invented methods out of logs and metrics.
func knownMethod(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}

// protect sets the headers that keep answers out of caches, sniffers and Referer lines.
func (s *Server) protect(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		return next(c)
	}
}

// answerErrors turns the error of a handler into its answer, inside the log, so that the line has the status that the client gets.
func (s *Server) answerErrors(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := next(c); err != nil {
			s.answerError(err, c)
		}
		return nil
	}
}

// panicError is a panic as an error.
type panicError struct {
	what  string
	stack []byte
}

func (e *panicError) Error() string { return "panic: " + e.what }

// recoverPanics makes an error of a panic. The value goes into the log only where it is the runtime's own: any other may hold what the
// request carried.
func (s *Server) recoverPanics(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if e, ok := v.(error); ok && errors.Is(e, http.ErrAbortHandler) {
				panic(v)
			}
			what := fmt.Sprintf("a value of type %T", v)
			if e, ok := v.(runtime.Error); ok {
				what = e.Error()
			}
			err = &panicError{what, debug.Stack()}
		}()
		return next(c)
	}
}

// limitTime bounds the work on a request by its context.
func (s *Server) limitTime(longer time.Duration) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			ctx, cancel := context.WithTimeout(c.Request().Context(), s.deps.Deadline+longer)
			defer cancel()
			c.SetRequest(c.Request().WithContext(ctx))
			return next(c)
		}
	}
}
