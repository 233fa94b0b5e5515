package dispatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const canary = "493817-hunter2"

// leaks reports whether an output shows the canary in any of the forms that fmt knows.
func leaks(out string) bool {
	lower := strings.ToLower(out)
	hex := fmt.Sprintf("%x", canary)
	spaced := fmt.Sprintf("% x", canary)
	for _, form := range []string{canary, "hunter", "493817", hex, spaced, fmt.Sprint([]byte(canary))} {
		if strings.Contains(lower, form) {
			return true
		}
	}
	return false
}

type credentials struct {
	Name   string
	Shown  Secret
	hidden Secret
	nested struct{ deep Secret }
	list   []Secret
	byName map[string]Secret
	ptr    *Secret
	any    any
}

func secretHolders() map[string]any {
	s := NewSecret(canary)
	c := credentials{Name: "main", Shown: s, hidden: s, list: []Secret{s}, byName: map[string]Secret{"a": s}, ptr: &s, any: s}
	c.nested.deep = s
	return map[string]any{"value": s, "pointer": &s, "struct": c, "pointer to struct": &c, "slice": []Secret{s}, "map": map[string]Secret{"k": s},
		"any slice": []any{s}, "array": [1]Secret{s}, "admission": Admission{Recipient: s, Text: s, Subject: s}, "message": Message{Recipient: s, Text: s},
		"job": &Job{Recipient: s, Text: s}, "question": Question{Recipient: s}}
}

func TestNoVerbShowsASecret(t *testing.T) {
	t.Parallel()
	flags := []string{"", "+", "#", " ", "-40", "040", ".3", "# "}
	for name, v := range secretHolders() {
		for verb := rune('A'); verb <= 'z'; verb++ {
			for _, f := range flags {
				if out := fmt.Sprintf("%"+f+string(verb), v); leaks(out) {
					t.Errorf("%s with %%%s%c: %s", name, f, verb, out)
				}
			}
		}
		format := "no verb at all"
		for _, out := range []string{fmt.Sprint(v), fmt.Sprintln(v), fmt.Sprintf(format, v), fmt.Errorf("send: %v", v).Error()} {
			if leaks(out) {
				t.Errorf("%s: %s", name, out)
			}
		}
	}
}

func TestEveryVerbPrintsTheSameWord(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t", "%z"} {
		if got := fmt.Sprintf(format, NewSecret(canary)); got != "[redacted]" {
			t.Errorf("%s: %s", format, got)
		}
		if got := fmt.Sprintf(format, Secret{}); got != "[redacted]" {
			t.Errorf("%s of none: %s", format, got)
		}
	}
	if s := NewSecret(canary); s.String() != "[redacted]" || s.GoString() != "[redacted]" {
		t.Error("String shows it")
	}
}

func TestNoLogOrEncodingShowsASecret(t *testing.T) {
	t.Parallel()
	for name, v := range secretHolders() {
		var out bytes.Buffer
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			log := slog.New(h)
			log.Info("a", "k", v)
			log.With("k", v).WithGroup("g").Info("b", slog.Any("k", v), slog.Group("h", "k", v))
			log.Error("c", "err", fmt.Errorf("send to %v: %w", v, ErrUnavailable))
		}
		if enc, err := json.Marshal(v); err == nil {
			out.Write(enc)
		}
		if out.Len() == 0 || leaks(out.String()) {
			t.Errorf("%s: %s", name, out.String())
		}
	}
	if enc, err := json.Marshal(NewSecret(canary)); err != nil || string(enc) != `"[redacted]"` {
		t.Errorf("%s, %v", enc, err)
	}
}

func TestRevealIsTheOnlyWay(t *testing.T) {
	t.Parallel()
	if s := NewSecret(canary); s.Reveal() != canary || s.IsZero() {
		t.Errorf("revealed %q", s.Reveal())
	}
	if s := NewSecret(""); !s.IsZero() || s.Reveal() != "" || !(Secret{}).IsZero() {
		t.Error("an empty secret is not zero")
	}
}
