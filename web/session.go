package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
	"sentonce/web/auth"
)

// Identities is what the pages need of the store to know who is there.
type Identities interface {
	auth.Accounts
	auth.SessionStore
	People
	Invitations
	Profiles
	Person(ctx context.Context, id dispatch.StaffID) (store.Person, error)
	NoteRefusal(ctx context.Context, who dispatch.StaffID, what, requestID string) error
}

// The name of the session's cookie. Browsers take one that begins with __Host- over TLS alone, from this host alone, for all of it.
const (
	cookieName  = "__Host-sentonce"
	cookiePlain = "sentonce" // where public_url is plain http
	mostCookie  = 100        // a token of ours is shorter
	pollHeader  = "HX-Request"
	nextParam   = "next"
)

// login is how people get in and stay in.
type login struct {
	door     *auth.Door
	sessions *auth.Sessions
	secure   bool
}

func newLogin(d Deps) (*login, error) {
	door, err := auth.NewDoor(d.Staff, d.Clock)
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return &login{door, auth.NewSessions(d.Staff), d.PublicURL.Scheme == "https"}, nil
}

// cookie is the session's cookie; an empty token takes it away. It ends with the browser; the store ends the session earlier.
func (l *login) cookie(token string) *http.Cookie {
	c := &http.Cookie{Name: cookiePlain, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: l.secure}
	if l.secure {
		c.Name = cookieName
	}
	if token == "" {
		c.MaxAge = -1
	}
	return c
}

// token is what the browser sent as the session's, "" when that is nothing.
func (l *login) token(r *http.Request) string {
	c, err := r.Cookie(l.cookie("").Name)
	if err != nil || len(c.Value) > mostCookie {
		return ""
	}
	return c.Value
}

// refuseForeign is the first thing that a request for a page passes: what another site lets a browser send has no effect here.
func (s *Server) refuseForeign(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		protectPage(c)
		if err := s.desk.origin.Check(c.Request()); err != nil {
			return pageFail(http.StatusForbidden, "This form came from another site, so nothing was done.")
		}
		return next(c)
	}
}

// signedIn lets those in whose role the route names. It is asked anew at each request, so that the end of a session, an account or a role
// counts at once.
func (s *Server) signedIn(needs access) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			err := s.recognise(c)
			if needs.visitor && (err == nil || errors.Is(err, dispatch.ErrNotFound)) {
				return next(c)
			}
			if errors.Is(err, dispatch.ErrNotFound) {
				return s.askToSignIn(c)
			}
			if err != nil {
				return err
			}
			if who := personOf(c); !needs.allows(who.Role) {
				return s.refuseRole(c, who)
			}
			if callOf(c).mustEnrol && !needs.early {
				return s.askToEnrol(c)
			}
			return next(c)
		}
	}
}

// recognise finds out who is there. The error is dispatch.ErrNotFound where nobody is, or nobody who may still work.
func (s *Server) recognise(c echo.Context) error {
	token, cl, ctx := s.desk.login.token(c.Request()), callOf(c), c.Request().Context()
	if token == "" {
		return fmt.Errorf("no session: %w", dispatch.ErrNotFound)
	}
	session, id, err := s.desk.login.sessions.Load(ctx, token)
	if err != nil {
		return err
	}
	p, err := s.deps.Staff.Person(ctx, id)
	if err != nil {
		return fmt.Errorf("person of a session: %w", err)
	}
	if !p.Active(s.deps.Clock.Now()) {
		if err := s.desk.login.sessions.End(session, dispatch.Worker()); err != nil {
			s.deps.Log.Warn("a session could not be ended", "request_id", cl.id, "error", err.Error())
		}
		return fmt.Errorf("the account has ended: %w", dispatch.ErrNotFound)
	}
	cl.session, cl.who, cl.mustEnrol = session, newPerson(p), p.MustTOTP && p.TOTPSince.IsZero()
	if c.Request().Header.Get(pollHeader) == "" { // what a page does by itself does not keep a session alive
		if err := s.desk.login.sessions.Touch(session); err != nil {
			s.deps.Log.Warn("the use of a session could not be noted", "request_id", cl.id, "error", err.Error())
		}
	}
	return nil
}

func newPerson(p store.Person) *person {
	who := &person{ID: p.ID, Name: p.Name, Email: p.Email, Role: p.Role, ZoneName: p.Zone, Theme: p.Theme, Density: p.Density, Live: p.Live,
		KeysOff: p.KeysOff}
	zone, err := time.LoadLocation(p.Zone)
	if err != nil { // a zone that this machine does not know (any more)
		zone, who.ZoneName = time.UTC, "UTC"
	}
	who.Zone = zone
	return who
}

// askToSignIn sends a browser to the sign-in and from there back. A part of a page that asks for its newer self gets no page: its page says
// that the session has ended.
func (s *Server) askToSignIn(c echo.Context) error {
	r := c.Request()
	if r.Header.Get(pollHeader) != "" {
		return c.NoContent(http.StatusUnauthorized)
	}
	to := views.PathLogin
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		if next := localPath(r.URL.RequestURI()); next != "/" {
			to += "?" + url.Values{nextParam: {next}}.Encode()
		}
	}
	return seeOther(c, to)
}

// refuseRole answers who is signed in and may not do this, and keeps that it was tried.
func (s *Server) refuseRole(c echo.Context, who person) error {
	err := s.deps.Staff.NoteRefusal(c.Request().Context(), who.ID, c.Request().Method+" "+c.Path(), callOf(c).id)
	if err != nil {
		return fmt.Errorf("note a refusal: %w", err)
	}
	return pageFail(http.StatusForbidden, roleWord(who.Role)+" may not do this. Others can: ask an admin who has the role for it.")
}

func (s *Server) askToEnrol(c echo.Context) error {
	if c.Request().Method != http.MethodGet {
		return pageFail(http.StatusForbidden, "Your account needs a second factor before anything else. Set it up in your profile.")
	}
	return seeOther(c, views.PathTOTP)
}

// begin starts the session of a proven sign-in and gives the browser its cookie.
func (s *Server) begin(c echo.Context, p auth.Proof) error {
	cl, replaces := callOf(c), ""
	if cl.session != nil {
		replaces = s.desk.login.sessions.Hash(cl.session)
	}
	token, err := s.desk.login.sessions.Begin(c.Request().Context(), p, auth.Circumstances{Replaces: replaces,
		Agent: agentWords(c.Request().UserAgent()), RequestID: cl.id})
	if err != nil {
		return err
	}
	c.SetCookie(s.desk.login.cookie(token))
	return nil
}

// agentWords is a browser as its person knows it: what browsers say of themselves is long, and says too much.
func agentWords(agent string) string {
	for _, known := range []struct{ sign, word string }{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"},
		{"Safari/", "Safari"}} {
		if strings.Contains(agent, known.sign) {
			return known.word + systemWords(agent)
		}
	}
	return "Another browser"
}

func systemWords(agent string) string {
	for _, known := range []struct{ sign, word string }{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"},
		{"Macintosh", "macOS"}, {"Linux", "Linux"}} {
		if strings.Contains(agent, known.sign) {
			return " on " + known.word
		}
	}
	return ""
}

// flash keeps a sentence for the next page that the person sees.
func (s *Server) flash(c echo.Context, text string) {
	if cl := callOf(c); cl.session != nil {
		s.logFlash(c, s.desk.login.sessions.SetFlash(cl.session, text))
	}
}

// takeFlash returns the sentence for this page.
func (s *Server) takeFlash(c echo.Context) *views.Alert {
	cl := callOf(c)
	if cl.session == nil || c.Request().Header.Get(pollHeader) != "" {
		return nil
	}
	text, err := s.desk.login.sessions.TakeFlash(cl.session)
	s.logFlash(c, err)
	if text == "" {
		return nil
	}
	return &views.Alert{Tone: views.ToneGood, Title: text}
}

// logFlash: what was done is done, also where the sentence about it is lost.
func (s *Server) logFlash(c echo.Context, err error) {
	if err != nil {
		s.deps.Log.Warn("a sentence for the next page was lost", "request_id", callOf(c).id, "error", err.Error())
	}
}
