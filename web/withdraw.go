package web

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
)

// cancel serves POST /v1/notifications/{id}/cancel. The body is read before the id is looked at, so that a malformed request is answered
// alike whether the id exists or not.
func (s *Server) cancel(c echo.Context) error {
	body, err := readJSON(c)
	if err != nil {
		return err
	}
	f, err := parseForm(body, []member{{"reason", true}})
	if err != nil {
		return err
	}
	cause := f.cause()
	if err := f.err(); err != nil {
		return err
	}
	id, err := dispatch.ParseNotificationID(c.Param("id"))
	if err != nil {
		return err
	}
	cl := callOf(c)
	rec, err := s.deps.Store.Withdraw(c.Request().Context(), dispatch.Withdrawal{Client: cl.key.Client, ID: id, Cause: cause, By: cl.by(),
		RequestID: cl.id})
	if err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	return answerRecord(c, http.StatusOK, rec)
}

// cancelSubject serves POST /v1/cancellations.
func (s *Server) cancelSubject(c echo.Context) error {
	body, err := readJSON(c)
	if err != nil {
		return err
	}
	f, err := parseForm(body, []member{{"subject", true}, {"reason", true}, {"occurred_at", false}})
	if err != nil {
		return err
	}
	cl := callOf(c)
	cmd := dispatch.SubjectWithdrawal{Client: cl.key.Client, Subject: f.subject(), OccurredAt: f.instant("occurred_at"), Cause: f.cause(),
		By: cl.by(), RequestID: cl.id}
	if err := f.err(); err != nil {
		return err
	}
	n, err := s.deps.Store.WithdrawSubject(c.Request().Context(), cmd)
	if err != nil {
		return fmt.Errorf("cancel for a subject: %w", err)
	}
	return answerJSON(c, struct {
		Withdrawn int `json:"withdrawn"`
	}{n})
}
