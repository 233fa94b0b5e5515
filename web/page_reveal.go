package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// revealFor is how long a number stays on the page.
const revealFor = time.Minute

// askReveal asks why a number is to be shown.
func (s *Server) askReveal(c echo.Context) error {
	id, err := notificationID(c)
	if err != nil {
		return err
	}
	return s.revealForm(c, http.StatusOK, id, store.Reveal{}, nil)
}

func (s *Server) revealForm(c echo.Context, status int, id dispatch.NotificationID, v store.Reveal, faults views.FieldErrors) error {
	view, err := s.deps.Staff.DecisionView(c.Request().Context(), id)
	if err != nil {
		return err
	}
	r := view.Record
	m := views.Reveal{ID: id.String(), Reason: v.Reason, Note: safeText(v.Note), HideAfter: revealFor, Errors: faults,
		Recipient: views.Masked{Country: r.Country, Hint: r.Hint, Ref: r.Recipient.String(), Erased: r.Hint == ""}}
	return render(c, status, views.RevealPage(s.shell(c), m))
}

// reveal shows a number once: in this answer, which is kept nowhere, and for a minute. Where scripts are off the browser leaves the page then.
func (s *Server) reveal(c echo.Context) error {
	id, err := notificationID(c)
	if err != nil {
		return err
	}
	form, err := formOf(c)
	if err != nil {
		return err
	}
	v := store.Reveal{Notification: id, By: decider(c), Reason: form.Get("reason"), Note: form.Get("note"), RequestID: callOf(c).id}
	number, err := s.deps.Staff.RevealNumber(c.Request().Context(), v)
	var incomplete *dispatch.FormError
	switch {
	case errors.As(err, &incomplete):
		return s.revealForm(c, http.StatusUnprocessableEntity, id, v, fieldErrors(incomplete))
	case errors.Is(err, dispatch.ErrUnreadable):
		return pageFail(http.StatusGone, "The number cannot be shown: it is no longer kept.").because(err)
	case err != nil:
		return s.decisionFailed(c, id, err, "")
	}
	m, err := s.notificationPage(c, id)
	if err != nil {
		return err
	}
	m.Revealed, m.HideAfter = number.Reveal(), revealFor
	m.Live = views.Live{}
	c.Response().Header().Set("Refresh", strconv.Itoa(int(revealFor/time.Second))+"; url="+views.NotificationPath(id.String()))
	return render(c, http.StatusOK, views.NotificationPage(s.shell(c), m))
}

// askWithdraw asks before a notification is withdrawn.
func (s *Server) askWithdraw(c echo.Context) error {
	id, err := notificationID(c)
	if err != nil {
		return err
	}
	v, err := s.deps.Staff.DecisionView(c.Request().Context(), id)
	if err != nil {
		return err
	}
	r := v.Record
	effects := []string{"Nothing more is sent for it. The storefront is told to ask the customer again."}
	if a, open := r.OpenAttempt(); open {
		effects = append(effects, "A call has been made ("+views.OutcomeOf(a.Outcome).Word+"). What it sent cannot be called back; it is still found out.")
	}
	m := views.Confirm{Title: "Withdraw this notification", Object: id.String(), Effects: effects, Action: views.WithdrawPath(id.String()),
		Hidden: []views.Hide{{Name: "version", Value: strconv.Itoa(r.Version)}}, Button: "Withdraw it", Danger: true,
		Back: views.NotificationPath(id.String())}
	return render(c, http.StatusOK, views.ConfirmPage(s.shell(c), m))
}

// withdrawByStaff withdraws a notification.
func (s *Server) withdrawByStaff(c echo.Context) error {
	id, err := notificationID(c)
	if err != nil {
		return err
	}
	word, err := secondWord(c)
	if err != nil {
		return err
	}
	if err := s.deps.Staff.WithdrawByStaff(c.Request().Context(), id, word, callOf(c).id); err != nil {
		return s.decisionFailed(c, id, err, word.Note)
	}
	s.flash(c, "It is withdrawn.")
	return seeOther(c, views.NotificationPath(id.String()))
}
