package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
)

// receipt serves POST /receipts/{provider}: a delivery report, authenticated in the provider's way. Whatever is authentic is kept as
// evidence and answered 204, also when it names nothing here: a provider that gets an error sends again.
func (s *Server) receipt(c echo.Context) error {
	name := c.Param("provider")
	reader, ok := s.deps.Receipts[name]
	if !ok {
		return fail(problemNotFound, "")
	}
	body, err := readBody(c)
	if err != nil {
		return err
	}
	report, err := reader.ReadReceipt(dispatch.Callback{Method: c.Request().Method, URL: s.publicAddress(c.Request().URL),
		Header: c.Request().Header.Clone(), Body: body})
	if err != nil {
		return s.receiptFailure(name, err)
	}
	fate, err := s.deps.Store.RecordReceipt(c.Request().Context(), name, report, s.reference(c, name, report.Reference))
	if err != nil {
		return fmt.Errorf("receipt from %s: %w", name, err)
	}
	s.deps.Metrics.receipt(name, string(fate))
	return c.NoContent(http.StatusNoContent)
}

// receiptFailure classifies a call-back that was not read. The reason goes into the log: an adapter's errors repeat nothing of the request.
func (s *Server) receiptFailure(provider string, err error) error {
	switch {
	case errors.Is(err, dispatch.ErrForged):
		s.deps.Metrics.receipt(provider, "forged")
		return fail(problemReceiptForged, "").because(fmt.Errorf("receipt from %s: %w", provider, err))
	case errors.Is(err, dispatch.ErrBadReceipt):
		s.deps.Metrics.receipt(provider, "unreadable")
		return fail(problemReceiptUnreadable, "").because(fmt.Errorf("receipt from %s: %w", provider, err))
	}
	return fmt.Errorf("receipt from %s: %w", provider, err)
}

// reference checks the signed reference of a report. A bad one counts as none: the report is authentic all the same.
func (s *Server) reference(c echo.Context, provider, signed string) *dispatch.Reference {
	if signed == "" {
		return nil
	}
	ref, err := s.deps.References.Verify(signed)
	if err != nil {
		s.deps.Log.Warn("receipt with a reference that is not ours", "request_id", callOf(c).id, "provider", provider, "error", err)
		return nil
	}
	return &ref
}

// publicAddress is the address that the provider called: public_url, then the path and the query as they were received. Host and
// X-Forwarded-* are not asked, because whoever calls chooses them.
func (s *Server) publicAddress(received *url.URL) *url.URL {
	u := *s.deps.PublicURL
	prefix := strings.TrimSuffix(u.Path, "/")
	if received.RawPath != "" {
		u.RawPath = strings.TrimSuffix(u.EscapedPath(), "/") + received.RawPath
	} else {
		u.RawPath = ""
	}
	u.Path = prefix + received.Path
	u.RawQuery, u.ForceQuery, u.Fragment = received.RawQuery, received.ForceQuery, ""
	return &u
}
