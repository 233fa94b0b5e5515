package web_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"sentonce/web"
)

func TestDescriptionIsValidWithItsExamples(t *testing.T) {
	t.Parallel()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.doc.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
		t.Error(err)
	}
	if !c.doc.IsOpenAPI31OrLater() {
		t.Error("the description must be OpenAPI 3.1")
	}
}

func TestDescriptionHasEveryRouteAndNoOther(t *testing.T) {
	t.Parallel()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for path, item := range c.doc.Paths.Map() {
		for method := range item.Operations() {
			described[method+" "+path] = true
		}
	}
	parameter := regexp.MustCompile(`:([a-z]+)`)
	for _, r := range web.RouteTable() {
		line := r.Method + " " + parameter.ReplaceAllString(r.Path, "{$1}")
		if !described[line] {
			t.Errorf("%s is not described", line)
		}
		delete(described, line)
	}
	for line := range described {
		t.Errorf("%s is described and does not exist", line)
	}
}

func TestEveryProblemIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/problems.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := web.ProblemSections()
	for name, section := range sections {
		if !strings.Contains(string(page), section) {
			t.Errorf("docs/problems.md lacks this section:\n%s", section)
		}
		if described := strings.Contains(string(web.OpenAPIDocument()), "/problems/"+name); !described && name != "method-not-allowed" && name != "client-closed" {
			t.Errorf("openapi.yaml lacks /problems/%s", name)
		}
	}
	for _, line := range strings.Split(string(page), "\n") {
		if name, is := strings.CutPrefix(line, "## "); is && sections[name] == "" {
			t.Errorf("docs/problems.md has a section for %q, which does not exist", name)
		}
	}
}
