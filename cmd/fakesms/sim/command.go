package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// command is what a POST to the control interface says; each route reads its own members.
type command struct {
	To        string            `json:"to"`        // script, release
	Behaviour string            `json:"behaviour"` // script: a name of Patterns; "" is "normal"
	Times     *int              `json:"times"`
	Delay     string            `json:"delay"` // a Go duration, like the two below
	Accept    *bool             `json:"accept"`
	Ending    *Ending           `json:"ending"`
	Status    int               `json:"status"` // script: HTTP status
	Code      int               `json:"code"`
	Body      string            `json:"body"`
	Type      string            `json:"content_type"`
	Header    map[string]string `json:"header"`
	Clear     bool              `json:"clear"` // script: remove it

	Mode Mode   `json:"mode"` // mode
	Lag  string `json:"lag"`  // list
	Hide bool   `json:"hide"` // list

	SID       string  `json:"sid"`    // receipts
	Report    string  `json:"report"` // receipts: Twilio's word, e.g. "delivered"
	ErrorCode string  `json:"error_code"`
	Forgery   Forgery `json:"forgery"`

	answered <-chan struct{} // closed when the answer has been handed to the network
}

func readCommand(w http.ResponseWriter, r *http.Request) (c command, isJSON bool, err error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "application/json":
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return c, true, fmt.Errorf("%w JSON: %w", ErrInvalid, err)
		}
		if _, err := d.Token(); err != io.EOF {
			return c, true, fmt.Errorf("something follows the JSON: %w", ErrInvalid)
		}
		return c, true, nil
	case err == nil && kind == "application/x-www-form-urlencoded":
		if err := r.ParseForm(); err != nil {
			return c, false, fmt.Errorf("%w form: %w", ErrInvalid, err)
		}
		return formCommand(r)
	}
	return c, false, fmt.Errorf("send application/json or a form: %w", ErrInvalid)
}

func formCommand(r *http.Request) (c command, isJSON bool, err error) {
	f := r.PostForm
	c = command{To: f.Get("to"), Behaviour: f.Get("behaviour"), Delay: f.Get("delay"), Clear: f.Has("clear"), Mode: Mode(f.Get("mode")),
		Lag: f.Get("lag"), Hide: f.Has("hide"), SID: f.Get("sid"), Report: f.Get("report"), ErrorCode: f.Get("error_code"),
		Forgery: Forgery(f.Get("forgery"))}
	if times := strings.TrimSpace(f.Get("times")); times != "" {
		n, err := atoi(times)
		if err != nil {
			return c, false, fmt.Errorf("times %q: %w", times, ErrInvalid)
		}
		c.Times = &n
	}
	return c, false, nil
}

// scripted is the named behaviour with the members that change it.
func (c command) scripted() (Behaviour, error) {
	name := cmp.Or(c.Behaviour, "normal")
	b, ok := Named(name)
	if !ok {
		return b, fmt.Errorf("behaviour %q: %w", name, ErrInvalid)
	}
	if c.Times != nil {
		b.Times = *c.Times
	}
	if c.Accept != nil {
		b.Accept = *c.Accept
	}
	if c.Ending != nil {
		b.Ending = *c.Ending
	}
	delay, err := duration(c.Delay)
	if err != nil {
		return b, err
	}
	b.Delay = cmp.Or(delay, b.Delay)
	b.Status, b.Code = cmp.Or(c.Status, b.Status), cmp.Or(c.Code, b.Code)
	b.Body, b.ContentType = cmp.Or(c.Body, b.Body), cmp.Or(c.Type, b.ContentType)
	for name, value := range c.Header {
		if b.Header == nil {
			b.Header = http.Header{}
		}
		b.Header.Set(name, value)
	}
	return b, nil
}

// duration reads a Go duration, or a bare number of seconds, not below zero; "" is none.
func duration(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, nil
	}
	if n, err := atoi(s); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("duration %q: %w", s, ErrInvalid)
	}
	return d, nil
}
