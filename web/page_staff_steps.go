package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// step is one thing that an admin does to an account, after a page that asks.
type step struct {
	title, button string
	effects       []string
	danger        bool
	done          string
	do            func(context.Context, StaffStore, store.Person, dispatch.Actor) error
}

const inviteStep = "invite"

// steps are what can be done to an account, by the last part of the address.
func steps() map[string]step {
	return map[string]step{
		"disable": {title: "Disable the account", button: "Disable", danger: true, done: "The account is disabled.",
			effects: []string{"The person is signed out everywhere at once and cannot sign in.", "What the person did stays in the records."},
			do: func(ctx context.Context, db StaffStore, p store.Person, by dispatch.Actor) error {
				return db.DisableStaff(ctx, p.ID, by)
			}},
		"enable": {title: "Enable the account again", button: "Enable", done: "The account is enabled.",
			effects: []string{"The person can sign in again, with the password as before."},
			do: func(ctx context.Context, db StaffStore, p store.Person, by dispatch.Actor) error {
				return db.EnableStaff(ctx, p.ID, by)
			}},
		"reset-totp": {title: "Remove the second factor", button: "Remove it", danger: true, done: "The second factor is removed.",
			effects: []string{"The person is signed out everywhere, and signs in with the password alone.", "The recovery codes are void."},
			do: func(ctx context.Context, db StaffStore, p store.Person, by dispatch.Actor) error {
				return db.RemoveTOTP(ctx, p.ID, by)
			}},
		"require-totp": {title: "Require a second factor", button: "Require it", done: "A second factor is required.",
			effects: []string{"The person is signed out everywhere, and must set one up before anything else."}, do: duty(true)},
		"waive-totp": {title: "Require no second factor", button: "Require none", done: "A second factor is no longer required.",
			effects: []string{"The person may remove the second factor. The sessions end."}, do: duty(false)},
		"end-sessions": {title: "Sign the person out everywhere", button: "Sign out", done: "All sessions have ended.",
			effects: []string{"Every session ends at once. The person can sign in again."},
			do: func(ctx context.Context, db StaffStore, p store.Person, by dispatch.Actor) error {
				return db.EndSessions(ctx, p.ID, "", by)
			}},
		inviteStep: {title: "Make a new link", button: "Make the link",
			effects: []string{"The link lets the person set a new password. It works once, for 24 hours.", "Older links end now; the sessions end when it is used."}},
	}
}

func duty(must bool) func(context.Context, StaffStore, store.Person, dispatch.Actor) error {
	return func(ctx context.Context, db StaffStore, p store.Person, by dispatch.Actor) error {
		return db.ChangeStaff(ctx, store.StaffChange{ID: p.ID, Role: p.Role, EndsAt: p.EndsAt, MustTOTP: must, By: by})
	}
}

// stepOf finds the step and the account of the address.
func (s *Server) stepOf(c echo.Context) (step, store.Person, error) {
	st, ok := steps()[c.Param("step")]
	if !ok {
		return st, store.Person{}, pageFail(http.StatusNotFound, "")
	}
	p, err := s.account(c)
	return st, p, err
}

// askStep shows what a step does.
func (s *Server) askStep(c echo.Context) error {
	st, p, err := s.stepOf(c)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, views.ConfirmPage(s.shell(c), views.Confirm{Title: st.title, Object: p.Name + ", " + p.Email,
		Effects: st.effects, Action: views.PersonStepPath(p.ID.String(), c.Param("step")), Button: st.button, Danger: st.danger,
		Back: views.PersonPath(p.ID.String())}))
}

// takeStep does it.
func (s *Server) takeStep(c echo.Context) error {
	st, p, err := s.stepOf(c)
	if err != nil {
		return err
	}
	ctx, by := c.Request().Context(), personOf(c).actor()
	if by.ID == p.ID.String() {
		return staffFailure(store.ErrSelf)
	}
	if c.Param("step") == inviteStep {
		token, err := s.deps.Staff.InviteAgain(ctx, p.ID, by)
		if err != nil {
			return staffFailure(err)
		}
		return s.showLink(c, p.Name, token)
	}
	if err := st.do(ctx, s.deps.Staff, p, by); err != nil {
		return staffFailure(err)
	}
	s.flash(c, st.done)
	return seeOther(c, views.PersonPath(p.ID.String()))
}
