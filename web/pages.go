package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/static"
	"sentonce/store"
	"sentonce/views"
)

// StaffStore is what the staff app needs of the store.
type StaffStore interface {
	Identities
	Reading
	Deciding
}

// Providers is what the pages see of the engine: how the providers are, and the holds that people set.
type Providers interface {
	Status() []dispatch.ProviderStatus
	// Hold stops or resumes new calls to a provider; false: there is none of that name.
	Hold(provider string, on bool) bool
}

// Reconciler asks a provider now what became of an attempt, and records the answer.
type Reconciler interface {
	Ask(ctx context.Context, job dispatch.LookupJob, by dispatch.Actor) (dispatch.LookupResult, error)
}

// desk is what the pages need besides the store.
type desk struct {
	assets *static.Assets
	origin *http.CrossOriginProtection
	login  *login
}

// newDesk makes the desk of a service with a staff app, nil for one without.
func newDesk(d Deps) (*desk, error) {
	if d.Staff == nil {
		return nil, nil
	}
	assets, err := static.New()
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	own := &desk{assets: assets, origin: http.NewCrossOriginProtection()}
	// Behind a proxy the Host of a request may not be the public one.
	if err := own.origin.AddTrustedOrigin((&url.URL{Scheme: d.PublicURL.Scheme, Host: d.PublicURL.Host}).String()); err != nil {
		return nil, fmt.Errorf("web: public URL: %w", err)
	}
	own.login, err = newLogin(d)
	return own, err
}

// person is who is signed in.
type person struct {
	ID            dispatch.StaffID
	Name, Email   string
	Role          store.Role
	Zone          *time.Location
	ZoneName      string // as IANA writes it
	Theme         string // auto, light, dark
	Density       string // comfortable, compact
	Live, KeysOff bool
}

// actor is the person in events.
func (p person) actor() dispatch.Actor {
	return dispatch.Actor{Kind: dispatch.ActorStaff, ID: p.ID.String()}
}

// personOf is who is signed in. On a page route there is always one; on others it is the zero person, whose role nothing allows.
func personOf(c echo.Context) person {
	if who := callOf(c).who; who != nil {
		return *who
	}
	return person{}
}

// clock is the instant and the zone in which a page is written.
func (s *Server) clock(c echo.Context) views.Clock {
	who := personOf(c)
	if who.Zone == nil {
		return views.Clock{Now: s.deps.Clock.Now(), Zone: time.UTC, Name: "UTC"}
	}
	return views.Clock{Now: s.deps.Clock.Now(), Zone: who.Zone, Name: who.ZoneName}
}

// shell is the frame of a page: who is signed in, where they may go, and what came of the last action. Its title belongs to the page.
func (s *Server) shell(c echo.Context) views.Shell {
	sh := s.frame(c)
	sh.Flash = s.takeFlash(c)
	return sh
}

// frame is the shell of a page that says nothing of the last action.
func (s *Server) frame(c echo.Context) views.Shell {
	who := personOf(c)
	sh := views.Shell{Assets: s.desk.assets, Clock: s.clock(c), Environment: s.deps.Environment, Path: c.Request().URL.RequestURI(),
		Theme: who.Theme, Density: who.Density, Live: who.Live, KeysOff: who.KeysOff, Version: s.deps.Version}
	if who.ID.IsZero() {
		return sh
	}
	sh.User = &views.User{Name: who.Name, Email: who.Email, Role: roleWord(who.Role)}
	for _, item := range views.Navigation() {
		if s.pages.maySee(who.Role, item.Path) {
			item.Current = within(c.Request().URL.Path, item.Path)
			sh.Nav = append(sh.Nav, item)
		}
	}
	return sh
}

// within reports whether a page belongs to an entry of the navigation.
func within(path, entry string) bool {
	if entry == views.PathOverview {
		return path == entry
	}
	return path == entry || len(path) > len(entry) && path[:len(entry)+1] == entry+"/"
}

// roleWord is a role as pages write it.
func roleWord(r store.Role) string {
	switch r {
	case store.RoleSupport:
		return "Support"
	case store.RoleCompliance:
		return "Compliance"
	case store.RoleAuditor:
		return "Auditor"
	case store.RoleAdmin:
		return "Admin"
	}
	return string(r)
}
