package web

import (
	_ "embed"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
)

//go:embed openapi.yaml
var openAPIDocument []byte

const plainText = "text/plain; charset=utf-8"

// livez answers as long as the process serves.
func (s *Server) livez(c echo.Context) error { return c.Blob(http.StatusOK, plainText, []byte("ok\n")) }

// readyz answers 200 while requests can be served: the store is writable and current, and the server is not stopping. A provider's outage
// does not make it unready. Why it is not ready is in the log.
func (s *Server) readyz(c echo.Context) error {
	select {
	case <-s.deps.Draining:
		return unavailable("the service is stopping", nil)
	default:
	}
	if err := s.deps.Store.Ready(c.Request().Context()); err != nil {
		return unavailable("the service is not ready", fmt.Errorf("readiness: %w", err))
	}
	return c.Blob(http.StatusOK, plainText, []byte("ok\n"))
}

// openAPI serves the description of this API.
func (s *Server) openAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", openAPIDocument)
}

// metrics serves the Prometheus exposition.
func (s *Server) metrics(c echo.Context) error {
	s.deps.Metrics.handler.ServeHTTP(c.Response(), c.Request())
	return nil
}
