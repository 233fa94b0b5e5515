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

// Profiles is what a person's own pages need of the store.
type Profiles interface {
	Prefer(ctx context.Context, id dispatch.StaffID, p store.Preferences) error
	SetPassword(ctx context.Context, id dispatch.StaffID, oldHash, newHash string) error
	TOTPSeed(id dispatch.StaffID, session string) dispatch.Secret
	EnrolTOTP(ctx context.Context, id dispatch.StaffID, secret dispatch.Secret, step int64) ([]dispatch.Secret, error)
	RemoveTOTP(ctx context.Context, id dispatch.StaffID, by dispatch.Actor) error
	NewRecoveryCodes(ctx context.Context, id dispatch.StaffID) ([]dispatch.Secret, error)
	RecoveryCodesLeft(ctx context.Context, id dispatch.StaffID) (int, error)
	SessionsOf(ctx context.Context, id dispatch.StaffID) ([]store.Session, error)
	EndSessions(ctx context.Context, id dispatch.StaffID, but string, by dispatch.Actor) error
}

func profileRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{method: get, path: views.PathProfile, needs: everybody(), serve: (*Server).showProfile},
		{method: post, path: views.PathPreference, needs: everybody(), serve: (*Server).prefer, body: formBody},
		{method: post, path: views.PathPassword, needs: everybody(), serve: (*Server).changePassword, body: formBody},
		{method: get, path: views.PathTOTP, needs: beforeFactor(), serve: (*Server).showTOTP},
		{method: post, path: views.PathTOTP, needs: beforeFactor(), serve: (*Server).enrolTOTP, body: formBody},
		{method: post, path: views.PathTOTPCodes, needs: everybody(), serve: (*Server).newRecoveryCodes, body: formBody},
		{method: post, path: views.PathTOTPRemove, needs: everybody(), serve: (*Server).removeTOTP, body: formBody},
		{method: post, path: views.PathEndOthers, needs: everybody(), serve: (*Server).endOthers, body: formBody},
	}
}

// showProfile serves GET /profile.
func (s *Server) showProfile(c echo.Context) error { return s.profile(c, http.StatusOK, nil) }

func (s *Server) profile(c echo.Context, status int, faults views.FieldErrors) error {
	ctx, who := c.Request().Context(), personOf(c)
	p, err := s.deps.Staff.Person(ctx, who.ID)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	left, err := s.deps.Staff.RecoveryCodesLeft(ctx, who.ID)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	sessions, err := s.sessionRows(c, who.ID)
	if err != nil {
		return err
	}
	return render(c, status, views.ProfilePage(s.shell(c), views.Profile{Name: p.Name, Email: p.Email, Role: roleWord(p.Role),
		Zones: zoneChoices(who.ZoneName), Zone: who.ZoneName, KeysOn: !p.KeysOff, SecondFactor: !p.TOTPSince.IsZero(), Required: p.MustTOTP,
		CodesLeft: left, Sessions: sessions, PasswordErrors: faults}))
}

// sessionRows lists where a person is signed in.
func (s *Server) sessionRows(c echo.Context, id dispatch.StaffID) (rows []views.Session, err error) {
	all, err := s.deps.Staff.SessionsOf(c.Request().Context(), id)
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	this := s.desk.login.sessions.Hash(callOf(c).session)
	for _, x := range all {
		rows = append(rows, views.Session{What: x.Agent, StartedAt: x.CreatedAt, LastSeen: x.SeenAt, This: x.Hash == this})
	}
	return rows, nil
}

// prefer changes one of the preferences and leads back to the page on which that was asked.
func (s *Server) prefer(c echo.Context) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	who := personOf(c)
	p := store.Preferences{Zone: who.ZoneName, Theme: who.Theme, Density: who.Density, Live: who.Live, KeysOff: who.KeysOff}
	if !preferred(&p, form) {
		return pageFail(http.StatusUnprocessableEntity, "There is no such choice.")
	}
	if err := s.deps.Staff.Prefer(c.Request().Context(), who.ID, p); err != nil {
		return fmt.Errorf("preferences: %w", err)
	}
	return seeOther(c, form.Get("back"))
}

// preferred puts the choices of a form into the preferences; false: one of them is not on its list.
func preferred(p *store.Preferences, form url.Values) bool {
	known := 0
	for name := range form {
		v, ok := form.Get(name), false
		switch name {
		case "theme":
			p.Theme, ok = v, v == "auto" || v == "light" || v == "dark"
		case "density":
			p.Density, ok = v, v == "comfortable" || v == "compact"
		case "live":
			p.Live, ok = v == "on", v == "on" || v == "off"
		case "shortcuts":
			p.KeysOff, ok = v == "off", v == "on" || v == "off"
		case "zone":
			p.Zone, ok = v, isZone(v)
		default:
			continue
		}
		if !ok {
			return false
		}
		known++
	}
	return known > 0
}

// isZone reports whether a name is a time zone's. "Local" is the machine's and no name of a place.
func isZone(name string) bool {
	if name == "" || name == "Local" {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// confirm verifies the password that a form carries, once more. faults says, in the form's words, why it is not confirmed.
func (s *Server) confirm(c echo.Context, form url.Values) (p auth.Proof, faults views.FieldErrors, err error) {
	p, err = s.desk.login.door.Confirm(c.Request().Context(), personOf(c).ID, auth.Knock{Password: dispatch.NewSecret(form.Get("password")),
		RequestID: callOf(c).id})
	var throttled *auth.ThrottledError
	switch {
	case err == nil:
		return p, nil, nil
	case errors.As(err, &throttled):
		return p, views.FieldErrors{{Field: "password", Text: "Too many tries. Wait " + views.Duration(throttled.Wait.Round(time.Second)) + "."}}, nil
	case errors.Is(err, auth.ErrRefused):
		return p, views.FieldErrors{{Field: "password", Text: "That is not your password."}}, nil
	}
	return p, nil, doorFailure(err)
}

// changePassword ends every session of the person and begins a new one here.
func (s *Server) changePassword(c echo.Context) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	proof, faults, err := s.confirm(c, form)
	if err != nil {
		return err
	}
	var hash string
	if len(faults) == 0 {
		if hash, faults, err = s.newPassword(c, form); err != nil {
			return err
		}
	}
	if len(faults) > 0 {
		return s.profile(c, http.StatusUnprocessableEntity, faults)
	}
	if err := s.deps.Staff.SetPassword(c.Request().Context(), personOf(c).ID, proof.PasswordHash, hash); err != nil {
		return fmt.Errorf("change the password: %w", err)
	}
	proof.PasswordHash = hash
	if err := s.begin(c, proof); err != nil {
		return err
	}
	return seeOther(c, views.PathProfile)
}

// seed is the secret that the person is offered in this session.
func (s *Server) seed(c echo.Context) dispatch.Secret {
	return s.deps.Staff.TOTPSeed(personOf(c).ID, s.desk.login.sessions.Hash(callOf(c).session))
}

// showTOTP offers a secret. It stores nothing.
func (s *Server) showTOTP(c echo.Context) error {
	p, err := s.deps.Staff.Person(c.Request().Context(), personOf(c).ID)
	if err != nil {
		return fmt.Errorf("second factor: %w", err)
	}
	if !p.TOTPSince.IsZero() {
		return seeOther(c, views.PathProfile)
	}
	return s.offerTOTP(c, http.StatusOK, nil)
}

func (s *Server) offerTOTP(c echo.Context, status int, faults views.FieldErrors) error {
	secret := s.seed(c)
	address := auth.TOTPAddress(secret, personOf(c).Email)
	picture, err := qrPath(address)
	if err != nil {
		return err
	}
	return render(c, status, views.TOTPPage(s.shell(c), views.TOTP{Secret: inFours(auth.TOTPText(secret)), URI: address, QR: picture,
		Forced: callOf(c).mustEnrol, Errors: faults}))
}

// quiet is the white border that a QR code needs on each side.
const quiet = 4

func qrPath(text string) (*views.QR, error) {
	rows, err := auth.QR(text)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for y, row := range rows {
		for x, dark := range row {
			if dark {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	return &views.QR{Size: len(rows) + 2*quiet, Path: b.String()}, nil
}

func inFours(s string) string {
	var parts []string
	for len(s) > 4 {
		parts, s = append(parts, s[:4]), s[4:]
	}
	return strings.Join(append(parts, s), " ")
}

// enrolTOTP stores the second factor when the person shows a code of it, and shows the recovery codes, once.
func (s *Server) enrolTOTP(c echo.Context) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	secret := s.seed(c)
	step, err := auth.TOTPStep(secret, form.Get("code"), s.deps.Clock.Now(), 0)
	if err != nil {
		return err
	}
	if step == 0 {
		return s.offerTOTP(c, http.StatusUnprocessableEntity, views.FieldErrors{{Field: "code",
			Text: "That is not the code of this moment. Type the newest one; the clock of the phone must be right."}})
	}
	codes, err := s.deps.Staff.EnrolTOTP(c.Request().Context(), personOf(c).ID, secret, step)
	if err != nil {
		return fmt.Errorf("second factor: %w", err)
	}
	return s.showCodes(c, codes)
}

func (s *Server) showCodes(c echo.Context, codes []dispatch.Secret) error {
	var m views.RecoveryCodes
	for _, code := range codes {
		m.Codes = append(m.Codes, code.Reveal())
	}
	return render(c, http.StatusOK, views.RecoveryCodesPage(s.shell(c), m))
}

// confirmed verifies the password before a step, and renews the session when it was right.
func (s *Server) confirmed(c echo.Context) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	proof, faults, err := s.confirm(c, form)
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return pageFail(http.StatusUnprocessableEntity, faults[0].Text).leading(views.Link{Text: "Back to your profile", Path: views.PathProfile})
	}
	return s.begin(c, proof)
}

// newRecoveryCodes replaces the recovery codes and shows them, once.
func (s *Server) newRecoveryCodes(c echo.Context) error {
	if err := s.confirmed(c); err != nil {
		return err
	}
	codes, err := s.deps.Staff.NewRecoveryCodes(c.Request().Context(), personOf(c).ID)
	if err != nil {
		return fmt.Errorf("recovery codes: %w", err)
	}
	return s.showCodes(c, codes)
}

// removeTOTP takes the own second factor away, where none is required.
func (s *Server) removeTOTP(c echo.Context) error {
	who := personOf(c)
	if err := s.confirmed(c); err != nil {
		return err
	}
	p, err := s.deps.Staff.Person(c.Request().Context(), who.ID)
	if err != nil {
		return fmt.Errorf("second factor: %w", err)
	}
	if p.MustTOTP {
		return pageFail(http.StatusConflict, "A second factor is required for your account. Only an admin can replace it.")
	}
	if err := s.deps.Staff.RemoveTOTP(c.Request().Context(), who.ID, who.actor()); err != nil {
		return fmt.Errorf("second factor: %w", err)
	}
	return seeOther(c, views.PathProfile)
}

// endOthers ends the person's sessions everywhere else.
func (s *Server) endOthers(c echo.Context) error {
	who := personOf(c)
	err := s.deps.Staff.EndSessions(c.Request().Context(), who.ID, s.desk.login.sessions.Hash(callOf(c).session), who.actor())
	if err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	s.flash(c, "You are signed out everywhere else.")
	return seeOther(c, views.PathProfile)
}
