package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentonce/static"
	"sentonce/views/sample"
)

func newGallery(t *testing.T) gallery {
	t.Helper()
	assets, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	return gallery{assets}
}

func TestAFolderHoldsEveryStateInEveryDress(t *testing.T) {
	t.Parallel()
	g, folder := newGallery(t), t.TempDir()
	if err := g.write(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(folder, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variants() {
		for _, s := range sample.States(sample.Options{Assets: g.assets}) {
			name := v.folder() + "/" + s.Name + ".html"
			body, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Error(err)
				continue
			}
			if !strings.Contains(string(body), `data-theme="`+v.theme+`"`) || !strings.HasSuffix(string(body), "</html>") {
				t.Errorf("%s is not whole, or in another dress", name)
			}
			if !strings.Contains(string(index), `href="`+name+`"`) {
				t.Errorf("the index does not lead to %s", name)
			}
		}
	}
	for _, name := range static.Names() {
		if _, err := os.Stat(filepath.Join(folder, g.assets.URL(name))); err != nil {
			t.Error(err)
		}
	}
}

func TestItServesUnderThePolicyOfTheProduct(t *testing.T) {
	t.Parallel()
	h := newGallery(t).handler()
	for path, want := range map[string]int{"/": http.StatusOK, "/light/overview.html": http.StatusOK, "/dark/item-unknown.html": http.StatusOK,
		"/unknown?rev=212": http.StatusNoContent, "/notifications": http.StatusOK} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("GET %s: %d, want %d", path, w.Code, want)
		}
		if want == http.StatusOK && w.Header().Get("Content-Security-Policy") != policy {
			t.Errorf("GET %s: policy %q", path, w.Header().Get("Content-Security-Policy"))
		}
	}
}

func TestItWantsToKnowWhereTo(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), nil); err == nil {
		t.Error("no place was given, and nothing was said")
	}
	if err := run(t.Context(), []string{"-out", filepath.Join(t.TempDir(), "pages")}); err != nil {
		t.Error(err)
	}
}
