package web

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

const (
	drainTime  = 3 * time.Second // how long the rest of a refused body is read, so that the client gets to see the answer
	drainBytes = 1 << 20
)

// limitBody refuses bodies over a size, whether they announce it or come in chunks, and bounds the time in which a body must arrive.
func (s *Server) limitBody(limit int64) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			req := c.Request()
			if limit == 0 || req.Body == nil || req.Body == http.NoBody {
				return next(c)
			}
			raw := req.Body
			if req.ContentLength > limit {
				drain(c, raw)
				return fail(problemTooLarge, "")
			}
			setReadDeadline(c, s.deps.Deadline)
			req.Body = http.MaxBytesReader(nil, raw, limit)
			err := next(c)
			if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
				drain(c, raw)
			}
			return err
		}
	}
}

// drain reads what a refused body still holds. A server that closes a connection with unread bytes resets it, and the answer is lost on the
// way; so the rest is read up to a bound, and what is longer than that closes the connection.
func drain(c echo.Context, body io.Reader) {
	if c.Request().Header.Get("Expect") != "" {
		return // the client waits for a word before it sends anything
	}
	setReadDeadline(c, drainTime)
	if _, err := io.CopyN(io.Discard, body, drainBytes); !errors.Is(err, io.EOF) {
		c.Response().Header().Set(echo.HeaderConnection, "close")
	}
}

// setReadDeadline bounds the reading of the connection; 0 takes the bound away. A transport without deadlines has none to set.
func setReadDeadline(c echo.Context, d time.Duration) {
	at := time.Time{}
	if d > 0 {
		at = time.Now().Add(d)
	}
	_ = http.NewResponseController(c.Response()).SetReadDeadline(at)
}

// readBody reads the whole body within its bounds.
func readBody(c echo.Context) ([]byte, error) {
	body, err := io.ReadAll(c.Request().Body)
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case err == nil:
		setReadDeadline(c, 0)
		return body, nil
	case errors.As(err, &tooLarge):
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.Response().Header().Set(echo.HeaderConnection, "close")
		return nil, fail(problemSlow, "")
	}
	c.Response().Header().Set(echo.HeaderConnection, "close")
	return nil, fail(problemInvalid, "the body ended before its announced end").because(err)
}

// readJSON reads a body that says that it is JSON in UTF-8, uncompressed.
func readJSON(c echo.Context) ([]byte, error) {
	h := c.Request().Header
	types := h.Values(echo.HeaderContentType)
	if len(types) != 1 || !isJSON(types[0]) {
		return nil, fail(problemMediaType, "the body must be application/json")
	}
	if coding := h.Get(echo.HeaderContentEncoding); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, fail(problemMediaType, "the body must not be compressed")
	}
	return readBody(c)
}

// isJSON reports whether a Content-Type is JSON in UTF-8, the only encoding that JSON has (RFC 8259, §8.1).
func isJSON(contentType string) bool {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != echo.MIMEApplicationJSON {
		return false
	}
	charset, has := params["charset"]
	return !has || strings.EqualFold(charset, "utf-8")
}
