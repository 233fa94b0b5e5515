package web

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
)

// admit serves POST /v1/notifications. It answers 202 only when the record is on disk.
func (s *Server) admit(c echo.Context) error {
	if err := s.deps.Accepting(); err != nil {
		return unavailable("no new notifications are taken at the moment", err)
	}
	body, err := readJSON(c)
	if err != nil {
		return err
	}
	cmd, err := parseAdmission(c.Request().Header, body)
	if err != nil {
		return err
	}
	cl := callOf(c)
	cmd.Client, cmd.By, cmd.RequestID = cl.key.Client, cl.by(), cl.id
	rec, replayed, err := s.admitter.Admit(c.Request().Context(), cmd)
	if err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	h := c.Response().Header()
	h.Set(echo.HeaderLocation, "/v1/notifications/"+rec.ID.String())
	if replayed {
		h.Set("Idempotency-Replayed", "true")
	}
	if err := answerRecord(c, http.StatusAccepted, rec); err != nil {
		return err
	}
	s.deps.Metrics.admitted(replayed)
	if replayed {
		s.deps.Store.CountReplay(rec.ID, cl.by())
	}
	return nil
}
