package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// module is the path of this module.
const module = "sentonce"

// goPackage is what `go list` tells of a package.
type goPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Module     *struct{ Main bool }
}

func (p goPackage) ours() bool { return p.Module != nil && p.Module.Main }

// layers says which of our packages the packages below a folder may import. The first entry that covers a package counts. DESIGN §12.
func layers() []layer {
	return []layer{
		{"cmd/fakesms", []string{"cmd/fakesms/..."}},
		{"cmd/sentonce/config", []string{"dispatch"}},
		{"cmd/sentonce", []string{"cmd/sentonce/config", "cmd/fakesms/sim", "web/...", "views", "store/...", "migrations", "dispatch/..."}},
		{"cmd", []string{"web/...", "views/...", "static", "store/...", "migrations", "dispatch/..."}},
		{"web", []string{"web/...", "views/...", "static", "store/...", "dispatch/..."}},
		{"views", []string{"views/...", "static", "dispatch"}},
		{"store", []string{"store/...", "migrations", "dispatch/..."}},
		{"migrations", nil},
		{"static", nil},
		{"dispatch/dispatchtest", []string{"dispatch/..."}},
		{"dispatch/providers", []string{"dispatch", "dispatch/providers/..."}},
		{"dispatch/phone", []string{"dispatch"}},
		{"dispatch", nil},
	}
}

type layer struct {
	folder string
	may    []string
}

// guarded says where alone a foreign package may be imported.
func guarded() []layer {
	return []layer{
		{"github.com/labstack/echo", []string{"web/..."}},
		{"database/sql", []string{"store/..."}},
		{"modernc.org/sqlite", []string{"store/..."}},
		{"github.com/pressly/goose", []string{"store/..."}},
		{"github.com/a-h/templ", []string{"views/...", "web/..."}},
		{"github.com/prometheus", []string{"web/..."}},
		{"github.com/alecthomas/kong", []string{"cmd/..."}},
		{"github.com/BurntSushi/toml", []string{"cmd/..."}},
	}
}

// domainLibraries are the small pure libraries that the domain may use beside the standard library, itself and its leaves.
func domainLibraries() []string {
	return []string{"github.com/sony/gobreaker/v2", "github.com/nyaruka/phonenumbers"}
}

func covers(pattern, path string) bool {
	folder, below := strings.CutSuffix(pattern, "/...")
	return path == folder || below && strings.HasPrefix(path, folder+"/")
}

func within(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return covers(p, path) })
}

func TestImportsPointInwards(t *testing.T) {
	t.Parallel()
	packages := list(t)
	seen := 0
	for _, p := range packages {
		if !p.ours() {
			continue
		}
		seen++
		for _, imported := range p.Imports {
			if fault := judge(packages, strings.TrimPrefix(p.ImportPath, module+"/"), imported); fault != "" {
				t.Errorf("%s imports %s: %s", p.ImportPath, imported, fault)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d packages of ours were looked at", seen)
	}
}

// TestTheRuleOfImportsCatchesWhatItForbids holds the test above against imports that must never be.
func TestTheRuleOfImportsCatchesWhatItForbids(t *testing.T) {
	t.Parallel()
	packages := map[string]goPackage{}
	for from, imported := range map[string]string{
		"dispatch":                  "sentonce/store",
		"dispatch/phone":            "sentonce/store/seal",
		"dispatch/providers/twilio": "sentonce/web",
		"store":                     "sentonce/web",
		"store/seal":                "sentonce/cmd/sentonce/config",
		"views":                     "sentonce/store",
		"web":                       "sentonce/cmd/sentonce/config",
		"migrations":                "sentonce/store",
		"cmd/sentonce":              "database/sql",
		"cmd/fakesms/sim":           "sentonce/dispatch",
		"web/auth":                  "modernc.org/sqlite",
		"views/format":              "github.com/labstack/echo/v4",
		"dispatch/dispatchtest":     "github.com/labstack/echo/v4",
		"newfolder":                 "sentonce/dispatch",
	} {
		packages[imported] = goPackage{ImportPath: imported, Standard: imported == "database/sql"}
		if judge(packages, from, imported) == "" {
			t.Errorf("%s may import %s", from, imported)
		}
	}
}

// judge says what is wrong with an import of one of our packages; "" when nothing is.
func judge(packages map[string]goPackage, from, imported string) string {
	if own, ok := strings.CutPrefix(imported, module+"/"); ok {
		for _, l := range layers() {
			if covers(l.folder+"/...", from) {
				if within(own, l.may) {
					return ""
				}
				return "packages below " + l.folder + " may import " + strings.Join(append(l.may, "nothing else of ours"), ", ")
			}
		}
		return "DESIGN §12 does not know the folder"
	}
	for _, g := range guarded() {
		if covers(g.folder+"/...", imported) && !within(from, g.may) {
			return "it stands only under " + strings.Join(g.may, ", ")
		}
	}
	if covers("dispatch/...", from) && !packages[imported].Standard && !slices.Contains(domainLibraries(), imported) {
		return "the domain uses the standard library and a few small ones"
	}
	return ""
}

// list asks the go command for every package that this module is built from, tests left out.
func list(t *testing.T) map[string]goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,Module", "./...")
	cmd.Dir = "../.."
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, &wrong)
	}
	all := map[string]goPackage{}
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		var p goPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}
