package systemtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testSources finds every test function of the module: the folder of each, by name.
func testSources(t *testing.T, root string) map[string]string {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	found := map[string]string{}
	must(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		for _, m := range declared.FindAllStringSubmatch(string(raw), -1) {
			found[m[1]] = filepath.ToSlash(folder)
		}
		return err
	}))
	return found
}

func TestThePageOfFieldCasesNamesTheTestsThatThereAre(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	sources := testSources(t, root)
	page, err := os.ReadFile(filepath.Join(root, "docs", "field-cases.md"))
	must(t, err)
	name, list := regexp.MustCompile("`(Test\\w+)`"), regexp.MustCompile(`([\w./]+): ((?:`+"`Test\\w+`"+`(?:, )?)+)`)
	rows := map[string][]string{} // the tests of each case's row
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		for _, folder := range list.FindAllStringSubmatch(line, -1) {
			for _, m := range name.FindAllStringSubmatch(folder[2], -1) {
				if sources[m[1]] != folder[1] {
					t.Errorf("the page names %s in %s; it is in %q", m[1], folder[1], sources[m[1]])
				}
			}
		}
		if number := strings.TrimPrefix(cells[0], "| "); regexp.MustCompile(`^F\d\d$`).MatchString(number) {
			if rows[number] != nil || len(cells) != 5 || cells[3] == "–" && strings.HasPrefix(cells[4], "–") {
				t.Errorf("the row of %s stands twice, or has neither a test nor what waits for what", number)
			}
			rows[number] = append(rows[number], "")
			for _, m := range name.FindAllStringSubmatch(line, -1) {
				rows[number] = append(rows[number], m[1])
			}
		}
	}
	for test, folder := range sources {
		cases := regexp.MustCompile(`^TestField((?:F\d\d_)+)`).FindString(test)
		for _, number := range regexp.MustCompile(`F\d\d`).FindAllString(cases, -1) {
			if !slices.Contains(rows[number], test) {
				t.Errorf("docs/field-cases.md, row %s, lacks %s: `%s`", number, folder, test)
			}
		}
	}
	if len(rows) < 40 {
		t.Errorf("the page has %d cases", len(rows))
	}
}
