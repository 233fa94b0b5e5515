package main

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"sentonce/static"
	"sentonce/views/sample"
)

// policy is the one that the product sends with each page: what breaks it, breaks here.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// variants are the dresses in which each page is shown.
func variants() []variant { return []variant{{"light", ""}, {"dark", ""}, {"light", "compact"}} }

type variant struct{ theme, density string }

func (v variant) folder() string { return v.theme + v.density }

type gallery struct{ assets *static.Assets }

func (g gallery) states(v variant) []sample.State {
	return sample.States(sample.Options{Assets: g.assets, Theme: v.theme, Density: v.density})
}

// write puts each page into folder/variant/name.html, the static files beside them, and an index on top.
func (g gallery) write(ctx context.Context, folder string) error {
	for _, v := range variants() {
		if err := os.MkdirAll(filepath.Join(folder, v.folder()), 0o755); err != nil {
			return fmt.Errorf("gallery folder: %w", err)
		}
		for _, s := range g.states(v) {
			var page bytes.Buffer
			if err := s.Component.Render(ctx, &page); err != nil {
				return fmt.Errorf("render %s: %w", s.Name, err)
			}
			if err := os.WriteFile(filepath.Join(folder, v.folder(), s.Name+".html"), page.Bytes(), 0o644); err != nil {
				return fmt.Errorf("write %s: %w", s.Name, err)
			}
		}
	}
	if err := g.writeStatic(folder); err != nil {
		return err
	}
	index, err := g.index()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "index.html"), index, 0o644)
}

func (g gallery) writeStatic(folder string) error {
	if err := os.MkdirAll(filepath.Join(folder, static.Root), 0o755); err != nil {
		return fmt.Errorf("static folder: %w", err)
	}
	for _, name := range static.Names() {
		body, err := g.assets.Content(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, g.assets.URL(name)), body, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// handler serves the index, each page, and the static files. Whatever a page links or posts to answers with a sentence.
func (g gallery) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(static.Root, g.assets)
	for _, v := range variants() {
		for _, s := range g.states(v) {
			mux.HandleFunc("GET /"+v.folder()+"/"+s.Name+".html", func(w http.ResponseWriter, r *http.Request) { show(w, r, s) })
		}
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		index, err := g.index()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		send(w, index)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("HX-Request") != "" || r.URL.Query().Has("rev") {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		send(w, []byte("<!DOCTYPE html><html lang=en><title>Gallery</title><h1>Nothing is behind this in the gallery</h1><a href=/>All pages</a>"))
	})
	return mux
}

func show(w http.ResponseWriter, r *http.Request, s sample.State) {
	var page bytes.Buffer
	if err := s.Component.Render(r.Context(), &page); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, page.Bytes())
}

func send(w http.ResponseWriter, page []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(page) // a browser that went away is no fault of ours
}

type group struct {
	Name   string
	States []sample.State
}

func (g gallery) index() ([]byte, error) {
	var groups []group
	for _, s := range g.states(variants()[0]) {
		i := slices.IndexFunc(groups, func(x group) bool { return x.Name == s.Group })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{Name: s.Group})
		}
		groups[i].States = append(groups[i].States, s)
	}
	t, err := template.New("index").Parse(indexPage)
	if err != nil {
		return nil, fmt.Errorf("parse the index: %w", err)
	}
	var page bytes.Buffer
	err = t.Execute(&page, map[string]any{"CSS": g.assets.URL(static.StyleSheet), "Groups": groups})
	return page.Bytes(), err
}

const indexPage = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Gallery – sentonce</title>
<link rel="stylesheet" href="{{.CSS}}"></head>
<body><main class="stack"><h1>Every page, in every state</h1>
{{range .Groups}}<section class="card"><h2>{{.Name}}</h2><ul class="facts-list">{{range .States}}
<li><span></span><span>{{.Title}}: <a href="light/{{.Name}}.html">light</a>, <a href="dark/{{.Name}}.html">dark</a>, <a href="lightcompact/{{.Name}}.html">compact</a></span></li>{{end}}</ul></section>
{{end}}</main></body></html>
`
