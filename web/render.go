package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"sentonce/views"
)

// pagePolicy is what a page may load: its own files, nothing inline, nothing of others, and nobody may frame it.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// protectPage sets the headers of a page beside those of every answer.
func protectPage(c echo.Context) {
	h := c.Response().Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Cookie")
}

// render makes a component whole before the first byte is written: a fault in it gives an error page, never half a page with 200.
func render(c echo.Context, status int, component templ.Component) error {
	var b bytes.Buffer
	// The page of an error is written when the request's time has been given back.
	if err := component.Render(context.WithoutCancel(c.Request().Context()), &b); err != nil {
		return fmt.Errorf("render: %w", err)
	}
	return c.HTMLBlob(status, b.Bytes())
}

// filled is a component with content between its tags.
func filled(frame, content templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return frame.Render(templ.WithChildren(ctx, content), w)
	})
}

// seeOther answers a form: the browser goes on to a page of ours.
func seeOther(c echo.Context, path string) error {
	return c.Redirect(http.StatusSeeOther, localPath(path))
}

// localPath is an address on this service, or "/" for one that leads anywhere else: with a host, with a backslash that browsers read as a
// slash, or with a character that cannot be seen.
func localPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") ||
		strings.ContainsFunc(path, func(r rune) bool { return r == '\\' || r <= ' ' || r > '~' }) {
		return "/"
	}
	return path
}

// formOf reads the form of a request.
func formOf(c echo.Context) (url.Values, error) {
	media, _, err := mime.ParseMediaType(c.Request().Header.Get(echo.HeaderContentType))
	if err != nil || media != echo.MIMEApplicationForm {
		if c.Request().ContentLength == 0 {
			return url.Values{}, nil
		}
		return nil, pageFail(http.StatusUnsupportedMediaType, "This address takes the form of a page.")
	}
	body, err := readBody(c)
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, pageFail(http.StatusBadRequest, "The form cannot be read.")
	}
	return values, nil
}

// pageError is an error that a page has already classified. All of it but the cause is shown.
type pageError struct {
	status  int
	detail  string       // "": the usual words for the status
	changed []views.Fact // 409: what is so now
	kept    string       // what the person had typed
	links   []views.Link // where to go from here; none: to the overview
	cause   error        // for the log alone
}

func (e *pageError) Error() string { return fmt.Sprintf("page %d: %s", e.status, e.detail) }
func (e *pageError) Unwrap() error { return e.cause }

// pageFail makes the error whose page has a status (403, 404, 409 …) and says why. A form that is not complete renders itself again with 422
// instead.
func pageFail(status int, detail string) *pageError {
	return &pageError{status: status, detail: detail}
}

// keeping shows the person what was typed into the form that was not carried out.
func (e *pageError) keeping(note string) *pageError {
	e.kept = note
	return e
}

// now shows what is so instead of what the form expected.
func (e *pageError) now(facts ...views.Fact) *pageError {
	e.changed = facts
	return e
}

// leading says where to go from here.
func (e *pageError) leading(links ...views.Link) *pageError {
	e.links = links
	return e
}

// because adds the cause, for the log.
func (e *pageError) because(cause error) *pageError {
	e.cause = cause
	return e
}

// asPageError turns any error into one that has a page.
func asPageError(err error) *pageError {
	var own *pageError
	if errors.As(err, &own) {
		return own
	}
	if status, detail := pageStatus(err); status != 0 {
		return &pageError{status: status, detail: detail}
	}
	f := classify(err)
	return &pageError{status: f.kind.status, cause: f.cause}
}
