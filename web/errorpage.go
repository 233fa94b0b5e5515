package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// wantsPage reports whether an error is answered with a page: on the addresses of pages, and where nothing is for whoever prefers HTML.
func (s *Server) wantsPage(c echo.Context) bool {
	if s.desk == nil {
		return false
	}
	if s.pages[c.Path()] != nil {
		return true
	}
	return !s.patterns[c.Path()] && strings.Contains(c.Request().Header.Get(echo.HeaderAccept), "text/html")
}

// pageStatus is the page of the domain's own errors, 0 for others.
func pageStatus(err error) (status int, detail string) {
	switch {
	case errors.Is(err, dispatch.ErrStale):
		return http.StatusConflict, ""
	case errors.Is(err, dispatch.ErrForbidden):
		return http.StatusForbidden, ""
	case errors.Is(err, store.ErrExists):
		return http.StatusConflict, "There is one of that name already."
	}
	return 0, ""
}

// answerErrorPage writes the page of an error. An answer that has begun is left alone.
func (s *Server) answerErrorPage(err error, c echo.Context) {
	e := asPageError(err)
	s.logFailure(c, &failure{kind: problemKind{name: "page", status: e.status}, detail: e.detail, cause: e.cause})
	if c.Response().Committed {
		return
	}
	protectPage(c)
	if e.status == http.StatusServiceUnavailable || e.status == http.StatusTooManyRequests {
		c.Response().Header().Set(echo.HeaderRetryAfter, seconds(storeRetry))
	}
	if err := render(c, e.status, s.errorPage(c, e)); err != nil {
		s.deps.Log.Error("the error page failed", "request_id", callOf(c).id, "error", err)
		if err := c.String(e.status, http.StatusText(e.status)); err != nil {
			s.deps.Log.Info("the answer could not be written", "request_id", callOf(c).id, "error", err)
		}
	}
}

// errorPage says what is wrong, whether anything was changed, and under which id the log knows it.
func (s *Server) errorPage(c echo.Context, e *pageError) templ.Component {
	m := views.ErrorOf(e.status, callOf(c).id)
	if e.detail != "" {
		m.Text = e.detail
	}
	m.Changed, m.Kept = e.changed, e.kept
	if len(e.links) > 0 {
		m.Links = e.links
	}
	return views.ErrorPage(s.frame(c), m)
}
