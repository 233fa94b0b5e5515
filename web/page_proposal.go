package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// approve takes a second person's yes; the call that it allows is made at once.
func (s *Server) approve(c echo.Context) error {
	return s.answerProposal(c, true, "Approved. One more call is made.")
}

// decline takes a second person's no.
func (s *Server) decline(c echo.Context) error {
	return s.answerProposal(c, false, "Declined. Nothing is sent.")
}

func (s *Server) answerProposal(c echo.Context, yes bool, done string) error {
	id, err := notificationID(c)
	if err != nil {
		return err
	}
	proposal, err := dispatch.ParseProposalID(c.Param("proposal"))
	if err != nil {
		return err
	}
	word, err := secondWord(c)
	if err != nil {
		return err
	}
	err = s.deps.Staff.AnswerProposal(c.Request().Context(), store.ProposalAnswer{Notification: id, Proposal: proposal, Word: word, Approve: yes,
		RequestID: callOf(c).id})
	var incomplete *dispatch.FormError
	switch {
	case errors.As(err, &incomplete):
		return s.proposalAgain(c, id, word.Note, fieldErrors(incomplete))
	case err != nil:
		return s.decisionFailed(c, id, err, word.Note)
	}
	s.flash(c, done)
	return seeOther(c, views.NotificationPath(id.String()))
}

// secondWord reads a form of a note and a version.
func secondWord(c echo.Context) (dispatch.SecondWord, error) {
	form, err := formOf(c)
	if err != nil {
		return dispatch.SecondWord{}, err
	}
	return dispatch.SecondWord{By: decider(c), Version: wholeNumber(form.Get("version")), Note: form.Get("note")}, nil
}

func (s *Server) proposalAgain(c echo.Context, id dispatch.NotificationID, note string, faults views.FieldErrors) error {
	m, err := s.notificationPage(c, id)
	if err != nil {
		return err
	}
	if m.Proposal == nil {
		return s.conflict(c, id, "the proposal has ended", note)
	}
	m.Proposal.OwnNote, m.Proposal.Errors = safeText(note), faults
	return render(c, http.StatusUnprocessableEntity, views.NotificationPage(s.shell(c), m))
}

// closeIncident takes what became of an incident.
func (s *Server) closeIncident(c echo.Context) error {
	id, err := notificationID(c)
	if err != nil {
		return err
	}
	incident, err := dispatch.ParseIncidentID(c.Param("incident"))
	if err != nil {
		return err
	}
	word, err := secondWord(c)
	if err != nil {
		return err
	}
	err = s.deps.Staff.CloseIncident(c.Request().Context(), id, incident, word, callOf(c).id)
	var incomplete *dispatch.FormError
	switch {
	case errors.As(err, &incomplete):
		return s.noteMissing(c, id, word.Note, incomplete)
	case err != nil:
		return s.decisionFailed(c, id, err, word.Note)
	}
	s.flash(c, "The incident is closed.")
	return seeOther(c, views.NotificationPath(id.String()))
}

// noteMissing answers a small form whose one field is wrong: the page says what, and keeps what was typed.
func (s *Server) noteMissing(c echo.Context, id dispatch.NotificationID, note string, e *dispatch.FormError) error {
	text := "The form is not complete. Nothing was changed."
	if len(e.Faults) > 0 {
		text = e.Faults[0].Text + " Nothing was changed."
	}
	return pageFail(http.StatusUnprocessableEntity, text).keeping(safeText(note)).
		leading(views.Link{Text: "Back to the notification", Path: views.NotificationPath(id.String())})
}
