// Package static holds the files that a browser loads besides the pages: the style sheet, the script, htmx and the icon. They are part of
// the binary. Each is served under a name that contains the hash of its content, so that it may be cached for ever and a new release is
// noticed at the next page.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// Root is the path under which Assets answers.
const Root = "/static/"

// The names that pages ask URL for.
const (
	StyleSheet = "app.css"
	Script     = "app.js"
	HTMX       = "htmx.min.js"
	Icon       = "icon.svg"
)

//go:embed app.css app.js htmx.min.js icon.svg
var content embed.FS

// Assets is every file under its hashed name. It is made once and never changes.
type Assets struct {
	urls  map[string]string // by name
	files map[string]file   // by path
}

type file struct {
	kind          string
	plain, packed []byte
}

// New reads and hashes the embedded files.
func New() (*Assets, error) {
	a := &Assets{urls: map[string]string{}, files: map[string]file{}}
	for _, name := range Names() {
		plain, err := content.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("static file %s: %w", name, err)
		}
		packed, err := pack(plain)
		if err != nil {
			return nil, fmt.Errorf("pack static file %s: %w", name, err)
		}
		url := hashed(name, plain)
		a.urls[name] = url
		a.files[url] = file{mediaType(name), plain, packed}
	}
	return a, nil
}

// Names lists the files by the names that URL takes.
func Names() []string { return []string{StyleSheet, Script, HTMX, Icon} }

// URL is the address of a file, e.g. "/static/app.3f2a9c0d1b44.css" for "app.css". A name that is not there gives an address that answers 404.
func (a *Assets) URL(name string) string {
	if url, ok := a.urls[name]; ok {
		return url
	}
	return Root + "missing/" + name
}

// Content is a file as it is embedded.
func (a *Assets) Content(name string) ([]byte, error) {
	f, ok := a.files[a.urls[name]]
	if !ok {
		return nil, fmt.Errorf("static file %q: %w", name, fs.ErrNotExist)
	}
	return f.plain, nil
}

// ServeHTTP answers for every path below Root: the files for good (immutable), anything else with 404.
func (a *Assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := a.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept-Encoding")
	body := f.plain
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		body = f.packed
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // a browser that went away is no fault of ours
	}
}

// acceptsGzip reports whether the client names gzip and does not refuse it with q=0.
func acceptsGzip(header string) bool {
	for _, coding := range strings.Split(header, ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if strings.TrimSpace(name) == "gzip" {
			q := strings.TrimRight(strings.TrimSpace(weight), "0")
			return q != "q=" && q != "q=0."
		}
	}
	return false
}

func hashed(name string, plain []byte) string {
	sum := sha256.Sum256(plain)
	ext := path.Ext(name)
	return Root + strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
}

func pack(plain []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(plain); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func mediaType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	}
	return "image/svg+xml"
}
