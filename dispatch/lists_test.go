package dispatch

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
)

// unique reports the values of a list as text, and fails for doubles and blanks.
func unique[T ~string](t *testing.T, name string, list []T) []string {
	t.Helper()
	var texts []string
	for _, v := range list {
		if s := string(v); s == "" || slices.Contains(texts, s) {
			t.Errorf("%s lists %q twice or blank", name, s)
		}
		texts = append(texts, string(v))
	}
	return texts
}

// Each list function names every constant of its type: a new one that is not listed would be missing in the schema, the docs and the tables.
func TestEveryConstantIsOnItsList(t *testing.T) {
	t.Parallel()
	lists := map[string][]string{
		"State": unique(t, "States", States()), "Reason": unique(t, "Reasons", Reasons()), "Outcome": unique(t, "Outcomes", Outcomes()),
		"Phase": unique(t, "Phases", Phases()), "Rule": unique(t, "Rules", Rules()), "Ruling": unique(t, "Rulings", Rulings()),
		"Grade": unique(t, "Grades", Grades()), "LookupResult": unique(t, "LookupResults", LookupResults()),
		"IncidentKind": unique(t, "IncidentKinds", IncidentKinds()), "ActorKind": unique(t, "ActorKinds", ActorKinds()),
		"Action": unique(t, "Actions", Actions()), "EvidenceKind": unique(t, "EvidenceKinds", EvidenceKinds()),
		"Cause": unique(t, "Causes", Causes()), "Scope": unique(t, "Scopes", Scopes()),
		"ReceiptStatus": unique(t, "ReceiptStatuses", ReceiptStatuses()), "ReceiptFate": unique(t, "ReceiptFates", ReceiptFates()),
	}
	declared := map[string][]string{}
	for _, file := range []string{"state", "outcome", "verdict", "notification", "event", "admit", "provider", "commands", "actions_reading", "actions_identity", "actions_deciding"} {
		src, err := os.ReadFile(file + ".go")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^\t\w+\s+(\w+)\s*= "(\w+)"`).FindAllSubmatch(src, -1) {
			declared[string(m[1])] = append(declared[string(m[1])], string(m[2]))
		}
	}
	for name, list := range lists {
		if got, want := fmt.Sprint(slices.Sorted(slices.Values(declared[name]))), fmt.Sprint(slices.Sorted(slices.Values(list))); got != want {
			t.Errorf("%s: declared %s, listed %s", name, got, want)
		}
	}
}
