package web

import (
	"context"
	"net/http"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/web/auth"
)

// What the tests of the package's outside need of its inside.

// RouteLine is one line of the route table.
type RouteLine struct{ Method, Path string }

// PageLine is one page of the route table.
type PageLine struct {
	Method, Path string
	Visitor      bool         // for those who are not signed in
	Roles        []store.Role // who may use it
}

// PageTable lists the pages.
func PageTable() []PageLine {
	var all []PageLine
	for _, r := range routes(true) {
		if r.needs.isPage() {
			all = append(all, PageLine{r.method, r.path, r.needs.visitor, r.needs.roles})
		}
	}
	return all
}

// LocalPath is where an address that a form carries may lead.
func LocalPath(path string) string { return localPath(path) }

// SignInAs begins a session of a person without a password, and returns its cookie.
func (s *Server) SignInAs(ctx context.Context, id dispatch.StaffID) (*http.Cookie, error) {
	c, err := s.deps.Staff.CredentialsOf(ctx, id)
	if err != nil {
		return nil, err
	}
	token, err := s.desk.login.sessions.Begin(ctx, auth.Proof{Person: c.Person, PasswordHash: c.PasswordHash, Continues: true}, auth.Circumstances{})
	if err != nil {
		return nil, err
	}
	return s.desk.login.cookie(token), nil
}

// RouteTable lists the routes of the API.
func RouteTable() []RouteLine {
	var all []RouteLine
	for _, r := range apiRoutes() {
		all = append(all, RouteLine{r.method, r.path})
		if r.method == http.MethodGet {
			all = append(all, RouteLine{http.MethodHead, r.path})
		}
	}
	return all
}

// ProblemSections returns the sections of docs/problems.md by the name of the problem.
func ProblemSections() map[string]string {
	all := map[string]string{}
	for _, k := range problemKinds() {
		all[k.name] = k.section()
	}
	return all
}

// OpenAPIDocument is the embedded description.
func OpenAPIDocument() []byte { return openAPIDocument }

// DecodeStrict decodes a body of an admission and lists the pointers and rules of what is wrong.
func DecodeStrict(body []byte) (values map[string]string, faults []string, details string) {
	values, all := decodeStrict(body, admissionMembers())
	for _, f := range all {
		faults = append(faults, f.Pointer+" "+f.Rule)
		details += f.Detail + "\n"
	}
	return values, faults, details
}

// ParseKeyHeader reads a value of Idempotency-Key.
func ParseKeyHeader(v string) (string, bool) { return parseKeyHeader(v) }
