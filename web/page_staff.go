package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// People is what the pages about staff need of the store.
type People interface {
	People(ctx context.Context) ([]store.Person, error)
	Invite(ctx context.Context, s store.NewStaff, mustTOTP bool) (dispatch.StaffID, dispatch.Secret, error)
	InviteAgain(ctx context.Context, id dispatch.StaffID, by dispatch.Actor) (dispatch.Secret, error)
	ChangeStaff(ctx context.Context, c store.StaffChange) error
	DisableStaff(ctx context.Context, id dispatch.StaffID, by dispatch.Actor) error
	EnableStaff(ctx context.Context, id dispatch.StaffID, by dispatch.Actor) error
}

func staffRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	admin, person := page(store.RoleAdmin), views.PathStaff+"/:id"
	return []route{
		{method: get, path: views.PathStaff, needs: admin, serve: (*Server).showStaff},
		{method: get, path: views.PathInvite, needs: admin, serve: (*Server).showInvite},
		{method: post, path: views.PathInvite, needs: admin, serve: (*Server).invite, body: formBody},
		{method: get, path: person, needs: admin, serve: (*Server).showAccount},
		{method: post, path: person, needs: admin, serve: (*Server).changeAccount, body: formBody},
		{method: get, path: person + "/:step", needs: admin, serve: (*Server).askStep},
		{method: post, path: person + "/:step", needs: admin, serve: (*Server).takeStep, body: formBody},
	}
}

// showStaff serves GET /staff.
func (s *Server) showStaff(c echo.Context) error {
	all, err := s.deps.Staff.People(c.Request().Context())
	if err != nil {
		return fmt.Errorf("staff: %w", err)
	}
	m := views.Staff{MayEdit: true, Roles: views.RoleLines()}
	bare := 0
	for _, p := range all {
		m.Rows = append(m.Rows, s.personRow(p))
		if p.Active(s.deps.Clock.Now()) && p.TOTPSince.IsZero() && !p.Invited {
			bare++
		}
	}
	if bare > 0 {
		m.Notices = append(m.Notices, views.Alert{Tone: views.ToneWarn, Title: views.Plural(bare, "account has", "accounts have") +
			" no second factor.", Text: "A stolen password alone opens them. You can require a second factor on each account's page."})
	}
	return render(c, http.StatusOK, views.StaffPage(s.shell(c), m))
}

// personRow is an account as the list shows it.
func (s *Server) personRow(p store.Person) views.Person {
	row := views.Person{ID: p.ID.String(), Name: p.Name, Email: p.Email, Role: roleWord(p.Role), State: "Active", Tone: views.ToneGood,
		SecondFactor: !p.TOTPSince.IsZero(), LastSeen: p.SeenAt, EndsOn: lastDay(p.EndsAt)}
	switch {
	case !p.DisabledAt.IsZero():
		row.State, row.Tone = "Disabled", views.ToneMuted
	case !p.Active(s.deps.Clock.Now()):
		row.State, row.Tone = "Ended", views.ToneMuted
	case p.Invited:
		row.State, row.Tone = "Invited", views.ToneInfo
	}
	return row
}

const dayForm = "2006-01-02"

// lastDay is the last whole day (UTC) before an account ends, "" for one without an end.
func lastDay(ends time.Time) string {
	if ends.IsZero() {
		return ""
	}
	return ends.UTC().Add(-time.Nanosecond).Format(dayForm)
}

// endOf is the instant at which the last day of an account is over.
func endOf(day string) (time.Time, error) {
	if day == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(dayForm, day)
	if err != nil {
		return t, err
	}
	return t.AddDate(0, 0, 1), nil
}

// showInvite serves the form of an invitation.
func (s *Server) showInvite(c echo.Context) error {
	return render(c, http.StatusOK, views.InvitePage(s.shell(c), views.Invite{}))
}

// invite makes an account and shows the link with which its person sets a password, once.
func (s *Server) invite(c echo.Context) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	m := views.Invite{Email: strings.TrimSpace(form.Get("email")), Name: strings.TrimSpace(form.Get("name")), Role: form.Get("role"),
		EndsOn: form.Get("ends_on")}
	ends, faults := s.roleFaults(m.Role, m.EndsOn)
	m.Errors = append(nameFaults(m.Name, m.Email), faults...)
	var token dispatch.Secret
	if len(m.Errors) == 0 {
		_, token, err = s.deps.Staff.Invite(c.Request().Context(), store.NewStaff{Email: m.Email, Name: m.Name, Role: store.Role(m.Role),
			EndsAt: ends, By: personOf(c).actor()}, form.Get("must_totp") == "yes")
		if errors.Is(err, store.ErrExists) {
			m.Errors, err = views.FieldErrors{{Field: "email", Text: "There is an account with this address."}}, nil
		}
	}
	if err != nil {
		return fmt.Errorf("invite: %w", err)
	}
	if len(m.Errors) > 0 {
		return render(c, http.StatusUnprocessableEntity, views.InvitePage(s.shell(c), m))
	}
	return s.showLink(c, m.Name, token)
}

// showLink shows the link of an invitation, once: only the hash of its token is kept.
func (s *Server) showLink(c echo.Context, name string, token dispatch.Secret) error {
	const title = "The link of the invitation"
	link := s.deps.PublicURL.JoinPath(views.PathInvitation)
	link.RawQuery = url.Values{"token": {token.Reveal()}}.Encode()
	content := templ.Join(
		views.PageHead(title, "Pass it on to "+name+". It is shown now and never again, works once, and for 24 hours."),
		views.ID(link.String(), "link"),
		views.AlertBox(views.Alert{Tone: views.ToneInfo, Title: "Whoever has the link sets the password of the account.",
			Text:  "Send it in a way that only " + name + " reads.",
			Links: []views.Link{{Text: "All staff", Path: views.PathStaff}}}))
	return render(c, http.StatusOK, filled(views.Page(s.shell(c), title), content))
}

// roleFaults reads role and last day.
func (s *Server) roleFaults(role, day string) (ends time.Time, faults views.FieldErrors) {
	if !slices.Contains(store.Roles(), store.Role(role)) {
		faults = append(faults, views.FieldError{Field: "role", Text: "Choose a role."})
	}
	ends, err := endOf(day)
	switch {
	case err != nil:
		faults = append(faults, views.FieldError{Field: "ends_on", Text: "Write the day as 2026-12-31."})
	case day != "" && !ends.After(s.deps.Clock.Now()):
		faults = append(faults, views.FieldError{Field: "ends_on", Text: "That day is over."})
	case day == "" && role == string(store.RoleAuditor):
		faults = append(faults, views.FieldError{Field: "ends_on", Text: "An auditor's account needs a last day."})
	}
	return ends, faults
}

func nameFaults(name, email string) (faults views.FieldErrors) {
	unseen := func(r rune) bool { return r != ' ' && (!unicode.IsGraphic(r) || unicode.IsSpace(r)) }
	if name == "" || len(name) > 80 || strings.ContainsFunc(name, unseen) {
		faults = append(faults, views.FieldError{Field: "name", Text: "Write the person's name, at most 80 characters."})
	}
	if a, err := mail.ParseAddress(email); err != nil || a.Address != email || len(email) > 200 || strings.ContainsFunc(email, unseen) {
		faults = append(faults, views.FieldError{Field: "email", Text: "Write an e-mail address, such as name@example.org."})
	}
	return faults
}

// account finds the account of the address.
func (s *Server) account(c echo.Context) (store.Person, error) {
	id, err := dispatch.ParseStaffID(c.Param("id"))
	if err != nil {
		return store.Person{}, err
	}
	p, err := s.deps.Staff.Person(c.Request().Context(), id)
	if err != nil {
		return p, fmt.Errorf("account: %w", err)
	}
	return p, nil
}

// showAccount serves GET /staff/{id}.
func (s *Server) showAccount(c echo.Context) error {
	p, err := s.account(c)
	if err != nil {
		return err
	}
	return s.accountPage(c, http.StatusOK, p, nil)
}

func (s *Server) accountPage(c echo.Context, status int, p store.Person, faults views.FieldErrors) error {
	sessions, err := s.sessionRows(c, p.ID)
	if err != nil {
		return err
	}
	return render(c, status, views.AccountPage(s.shell(c), views.Account{Person: s.personRow(p), Role: string(p.Role), Sessions: sessions,
		MayEdit: true, Self: p.ID == personOf(c).ID, Errors: faults}))
}

// changeAccount stores role and last day.
func (s *Server) changeAccount(c echo.Context) error {
	p, err := s.account(c)
	if err != nil {
		return err
	}
	form, err := formOf(c)
	if err != nil {
		return err
	}
	ends, faults := s.roleFaults(form.Get("role"), form.Get("ends_on"))
	if len(faults) > 0 {
		p.Role = store.Role(form.Get("role"))
		return s.accountPage(c, http.StatusUnprocessableEntity, p, faults)
	}
	if lastDay(p.EndsAt) == form.Get("ends_on") {
		ends = p.EndsAt // an end within a day, set on the command line, stays
	}
	err = s.deps.Staff.ChangeStaff(c.Request().Context(), store.StaffChange{ID: p.ID, Role: store.Role(form.Get("role")), EndsAt: ends,
		MustTOTP: p.MustTOTP, By: personOf(c).actor()})
	if err != nil {
		return staffFailure(err)
	}
	s.flash(c, "The account is saved.")
	return seeOther(c, views.PersonPath(p.ID.String()))
}

func staffFailure(err error) error {
	if errors.Is(err, store.ErrSelf) {
		return pageFail(http.StatusConflict, "Nobody does this to the own account. Another admin can.")
	}
	return fmt.Errorf("staff: %w", err)
}
