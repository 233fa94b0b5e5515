package web

import "net/http"

// What the tests of the package's outside need of its inside.

// RouteLine is one line of the route table.
type RouteLine struct{ Method, Path string }

// RouteTable lists the routes.
func RouteTable() []RouteLine {
	var all []RouteLine
	for _, r := range routes() {
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
