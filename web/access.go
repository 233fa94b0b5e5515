package web

import (
	"net/http"
	"slices"
	"strings"

	"sentonce/dispatch"
	"sentonce/store"
)

// access is what a route demands. The zero value admits nobody: a route that forgets it does not start.
type access struct {
	open    bool           // nothing, or its handler authenticates the request in its own way
	scope   dispatch.Scope // an API key with this scope
	visitor bool           // a page for those who are not signed in (yet)
	roles   []store.Role   // a page for those who are signed in with one of these roles
	early   bool           // also for those who must enrol a second factor first
}

func open() access                    { return access{open: true} }
func key(scope dispatch.Scope) access { return access{scope: scope} }

// visitor is a page before the sign-in.
func visitor() access { return access{visitor: true} }

// page is a page for people who are signed in with one of the roles.
func page(roles ...store.Role) access { return access{roles: roles} }

// everybody is a page for whoever is signed in.
func everybody() access { return page(store.Roles()...) }

// beforeFactor is everybody, also those who must enrol a second factor before anything else.
func beforeFactor() access { return access{roles: store.Roles(), early: true} }

// The groups of roles of DESIGN §9.
func readers() access { return page(store.RoleSupport, store.RoleCompliance, store.RoleAuditor) }
func settlers() access {
	return page(store.RoleSupport, store.RoleCompliance)
}

func (a access) nobody() bool { return !a.open && a.scope == "" && !a.visitor && len(a.roles) == 0 }
func (a access) isPage() bool { return a.visitor || len(a.roles) > 0 }

// allows reports whether a role may use the route.
func (a access) allows(r store.Role) bool { return slices.Contains(a.roles, r) }

// pageTable is the pages by path and method.
type pageTable map[string]map[string]access

func (t pageTable) add(rt route) {
	if !rt.needs.isPage() {
		return
	}
	if t[rt.path] == nil {
		t[rt.path] = map[string]access{}
	}
	t[rt.path][rt.method] = rt.needs
}

// maySee reports whether a role may open the page at a path of the table, without its query.
func (t pageTable) maySee(r store.Role, path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return t[path][http.MethodGet].allows(r)
}
