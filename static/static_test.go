package static_test

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"sentonce/static"
)

func assets(t *testing.T) *static.Assets {
	t.Helper()
	a, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func get(a http.Handler, method, path, encoding string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w.Result()
}

// TestFieldF60_ANameHoldsTheHashOfWhatItNames: a changed file has another address, so no browser keeps an old one.
func TestFieldF60_ANameHoldsTheHashOfWhatItNames(t *testing.T) {
	t.Parallel()
	a := assets(t)
	form := regexp.MustCompile(`^/static/[a-z.]+\.([0-9a-f]{12})\.(css|js|svg)$`)
	for _, name := range static.Names() {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(body)
		m := form.FindStringSubmatch(a.URL(name))
		if m == nil || m[1] != hex.EncodeToString(sum[:6]) {
			t.Errorf("%s is served as %q, which does not hold its hash %x", name, a.URL(name), sum[:6])
		}
	}
}

func TestFilesAreServedForGoodAndAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	a := assets(t)
	for name, kind := range map[string]string{static.StyleSheet: "text/css; charset=utf-8", static.Script: "text/javascript; charset=utf-8", static.Icon: "image/svg+xml"} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r := get(a, http.MethodGet, a.URL(name), "")
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		if r.StatusCode != http.StatusOK || string(body) != string(want) {
			t.Errorf("%s: %d, %d bytes", name, r.StatusCode, len(body))
		}
		if got := r.Header.Get("Content-Type"); got != kind {
			t.Errorf("%s is %q, want %q", name, got, kind)
		}
		if got := r.Header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
			t.Errorf("%s: Cache-Control %q", name, got)
		}
	}
}

func TestPackedFilesUnpackToTheSame(t *testing.T) {
	t.Parallel()
	a := assets(t)
	for _, name := range static.Names() {
		want, err := a.Content(name)
		if err != nil {
			t.Fatal(err)
		}
		r := get(a, http.MethodGet, a.URL(name), "br, gzip;q=0.8")
		if r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("Vary") != "Accept-Encoding" {
			t.Fatalf("%s was not packed: %v", name, r.Header)
		}
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(z)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s unpacks to %d bytes, want %d: %v", name, len(got), len(want), err)
		}
	}
	for _, refused := range []string{"gzip;q=0", "br, gzip; q=0.0", "identity", ""} {
		if r := get(a, http.MethodGet, a.URL(static.Script), refused); r.Header.Get("Content-Encoding") != "" {
			t.Errorf("Accept-Encoding %q got a packed answer", refused)
		}
	}
}

func TestWhatIsNotThereIsNotServed(t *testing.T) {
	t.Parallel()
	a := assets(t)
	for _, path := range []string{"/static/", "/static/app.css", "/static/static.go", "/static/../static.go", "/static/app.000000000000.css", a.URL("nothing.css")} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = path
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if w.Code != http.StatusNotFound || strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d, %v", path, w.Code, w.Header())
		}
	}
	if r := get(a, http.MethodPost, a.URL(static.Script), ""); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", r.StatusCode)
	}
	if _, err := a.Content("nothing.css"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Content of what is not there: %v", err)
	}
}

// TestHTMXIsTheFileThatWasReviewed: npm htmx.org 4.0.1, dist/htmx.min.js, under the licence in htmx.LICENSE.
func TestHTMXIsTheFileThatWasReviewed(t *testing.T) {
	t.Parallel()
	body, err := assets(t).Content(static.HTMX)
	if err != nil {
		t.Fatal(err)
	}
	const want = "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130"
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != want {
		t.Errorf("htmx.min.js has the hash %x, want %s", sum, want)
	}
}

// TestOwnFilesStaySmall: the script does little, and the sheet can be read in one sitting.
func TestOwnFilesStaySmall(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{static.Script: 300, static.StyleSheet: 900} {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(body), "\n"); lines > most {
			t.Errorf("%s has %d lines, at most %d are allowed", name, lines, most)
		}
	}
	script, err := os.ReadFile(static.Script)
	if err != nil {
		t.Fatal(err)
	}
	for _, forbidden := range []string{"innerHTML", "insertAdjacentHTML", "eval(", "new Function", ".style", "document.write", "localStorage"} {
		if strings.Contains(string(script), forbidden) {
			t.Errorf("the script uses %s", forbidden)
		}
	}
}
