package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
	"sentonce/web/auth"
)

// Invitations is what the page behind an invitation's link needs of the store.
type Invitations interface {
	Invitation(ctx context.Context, token dispatch.Secret) (store.Person, error)
	AcceptInvitation(ctx context.Context, token dispatch.Secret, passwordHash string) (dispatch.StaffID, error)
}

// accountRoutes are the pages about who one is.
func accountRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return append([]route{
		{method: get, path: "/static/*", needs: open(), serve: (*Server).staticFile},
		{method: get, path: views.PathLogin, needs: visitor(), serve: (*Server).showLogin},
		{method: post, path: views.PathLogin, needs: visitor(), serve: (*Server).signIn, body: formBody},
		{method: post, path: views.PathLogout, needs: beforeFactor(), serve: (*Server).signOut, body: formBody},
		{method: get, path: views.PathInvitation, needs: visitor(), serve: (*Server).showInvitation},
		{method: post, path: views.PathInvitation, needs: visitor(), serve: (*Server).acceptInvitation, body: formBody},
	}, append(profileRoutes(), staffRoutes()...)...)
}

func (s *Server) staticFile(c echo.Context) error {
	s.desk.assets.ServeHTTP(c.Response(), c.Request())
	return nil
}

const signedOutParam = "signed_out"

// showLogin serves GET /login.
func (s *Server) showLogin(c echo.Context) error {
	q := c.QueryParams()
	m := views.Login{Next: ownPath(q.Get(nextParam))}
	switch {
	case q.Has(signedOutParam):
		m.Problem = views.LoginSignedOut
	case s.desk.login.token(c.Request()) != "" && callOf(c).who == nil:
		m.Problem = views.LoginEnded
	}
	return render(c, http.StatusOK, views.LoginPage(s.shell(c), m))
}

// ownPath is where a sign-in leads: a path of ours, "" for the start.
func ownPath(next string) string {
	if p := localPath(next); p != "/" {
		return p
	}
	return ""
}

// signIn serves POST /login. What is wrong is not told, and neither is whether there is such an account.
func (s *Server) signIn(c echo.Context) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	m := views.Login{Email: form.Get("email"), Next: ownPath(form.Get(nextParam))}
	proof, err := s.desk.login.door.Open(c.Request().Context(), auth.Knock{Email: m.Email, Password: dispatch.NewSecret(form.Get("password")),
		Code: dispatch.NewSecret(form.Get("code")), Address: c.RealIP(), RequestID: callOf(c).id})
	if err == nil {
		err = s.begin(c, proof)
	}
	var throttled *auth.ThrottledError
	switch {
	case err == nil:
		return seeOther(c, m.Next)
	case errors.As(err, &throttled):
		m.Problem, m.Wait = views.LoginThrottled, throttled.Wait
		c.Response().Header().Set(echo.HeaderRetryAfter, seconds(throttled.Wait))
		return render(c, http.StatusTooManyRequests, views.LoginPage(s.shell(c), m))
	case errors.Is(err, dispatch.ErrUnavailable), !errors.Is(err, auth.ErrRefused) && !errors.Is(err, dispatch.ErrStale):
		return doorFailure(err)
	}
	m.Problem = views.LoginWrong
	return render(c, http.StatusUnprocessableEntity, views.LoginPage(s.shell(c), m))
}

// doorFailure turns what keeps the door from answering into a page.
func doorFailure(err error) error {
	if errors.Is(err, auth.ErrBusy) {
		return pageFail(http.StatusServiceUnavailable, "Many people are signing in at the moment. Try again in a few seconds.").because(err)
	}
	return fmt.Errorf("sign in: %w", err)
}

// signOut serves POST /logout.
func (s *Server) signOut(c echo.Context) error {
	if err := s.desk.login.sessions.End(callOf(c).session, personOf(c).actor()); err != nil {
		return err
	}
	c.SetCookie(s.desk.login.cookie(""))
	c.Response().Header().Set("Clear-Site-Data", `"cache", "storage"`)
	return seeOther(c, views.PathLogin+"?"+url.Values{signedOutParam: {"1"}}.Encode())
}

// showInvitation serves the page behind an invitation's link.
func (s *Server) showInvitation(c echo.Context) error {
	token := dispatch.NewSecret(c.QueryParam("token"))
	m, err := s.invitation(c, token)
	if err != nil {
		return err
	}
	return render(c, invitationStatus(m), views.InvitationPage(s.shell(c), m))
}

func invitationStatus(m views.Invitation) int {
	switch {
	case m.Gone:
		return http.StatusNotFound
	case len(m.Errors) > 0:
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

func (s *Server) invitation(c echo.Context, token dispatch.Secret) (views.Invitation, error) {
	found, err := s.deps.Staff.Invitation(c.Request().Context(), token)
	if errors.Is(err, dispatch.ErrNotFound) {
		return views.Invitation{Gone: true}, nil
	}
	if err != nil {
		return views.Invitation{}, err
	}
	return views.Invitation{Token: token.Reveal(), Name: found.Name, Email: found.Email, Role: roleWord(found.Role),
		ExpiresAt: found.InvitedUntil}, nil
}

// acceptInvitation sets the first password of a person, or a new one.
func (s *Server) acceptInvitation(c echo.Context) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	token := dispatch.NewSecret(form.Get("token"))
	m, err := s.invitation(c, token)
	if err != nil {
		return err
	}
	if !m.Gone {
		var hash string
		if hash, m.Errors, err = s.newPassword(c, form); err != nil {
			return err
		}
		if len(m.Errors) == 0 {
			_, err = s.deps.Staff.AcceptInvitation(c.Request().Context(), token, hash)
			m.Gone = errors.Is(err, dispatch.ErrNotFound)
			if err == nil {
				return seeOther(c, views.PathLogin)
			}
			if !m.Gone {
				return err
			}
		}
	}
	return render(c, invitationStatus(m), views.InvitationPage(s.shell(c), m))
}

// newPassword reads a new password that was typed twice and makes its hash.
func (s *Server) newPassword(c echo.Context, form url.Values) (hash string, faults views.FieldErrors, err error) {
	password, again := form.Get("new_password"), form.Get("new_password_again")
	if password != again {
		return "", views.FieldErrors{{Field: "new_password_again", Text: "The two are not the same."}}, nil
	}
	hash, err = s.desk.login.door.Hash(c.Request().Context(), dispatch.NewSecret(password))
	switch {
	case errors.Is(err, auth.ErrPassword):
		return "", views.FieldErrors{{Field: "new_password", Text: "It must have 12 to 1,024 characters."}}, nil
	case err != nil:
		return "", nil, doorFailure(err)
	}
	return hash, nil, nil
}
