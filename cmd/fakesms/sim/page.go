package sim

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"
)

//go:embed control.html
var controlHTML string

//go:embed control.css
var controlCSS []byte

const pageRows = 100

// pageView is what the control page shows.
type pageView struct {
	Mode     Mode
	Down     bool
	Modes    []choice
	Base     string
	Account  string
	Counters Counters
	Lag      string
	Hidden   bool
	Live     bool
	Held     []heldView
	Scripted []string
	Patterns []Pattern
	Messages []messageView
	Capped   bool
	Rows     int
}

type choice struct {
	Value, Words string
	Chosen       bool
}

type heldView struct {
	To, What, Since string
}

type messageView struct {
	Message
	Time, Word, Tone string
	Notes            []string
}

// controlPage is GET /: everything at a glance, and the forms. With ?live=1 the browser loads it again every two seconds.
func (s *Server) controlPage(w http.ResponseWriter, r *http.Request) {
	var out bytes.Buffer
	page, err := template.New("control").Parse(controlHTML)
	if err == nil {
		err = page.Execute(&out, s.pageView(r.URL.Query().Get("live") == "1"))
	}
	if err != nil {
		s.opt.Logger.Error("the control page cannot be written", "err", err)
		http.Error(w, "the control page cannot be written", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	w.Write(out.Bytes())
}

func controlStyle(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Write(controlCSS)
}

func (s *Server) pageView(live bool) pageView {
	lag, hidden := s.rules.visibility()
	mode := s.Mode()
	v := pageView{Mode: mode, Down: mode == ModeDown, Base: s.BaseURL(), Account: s.opt.AccountSID, Counters: s.Counters(),
		Lag: lag.String(), Hidden: hidden, Live: live, Scripted: s.rules.scripted(), Patterns: Patterns(), Rows: pageRows}
	for _, m := range Modes() {
		v.Modes = append(v.Modes, choice{string(m), m.words(), m == mode})
	}
	for _, h := range s.Holding("") {
		v.Held = append(v.Held, heldView{h.To, heldWords(h), clock(h.Since)})
	}
	slices.SortFunc(v.Held, func(a, b heldView) int { return strings.Compare(a.Since+a.To, b.Since+b.To) })
	for _, m := range s.latest("", pageRows) {
		v.Messages = append(v.Messages, viewOf(m))
	}
	v.Capped = v.Counters.Accepted > len(v.Messages)
	return v
}

func heldWords(h Held) string {
	if h.SID == "" {
		return "not accepted"
	}
	return "accepted"
}

func viewOf(m Message) messageView {
	v := messageView{Message: m, Time: clock(m.At), Word: m.Status, Tone: "quiet"}
	switch m.Status {
	case "delivered":
		v.Tone = "good"
	case "undelivered", "failed":
		v.Tone = "bad"
		v.Word += " " + m.ErrorCode
	}
	for _, r := range m.Receipts {
		note := fmt.Sprintf("%s → HTTP %d", r.Status, r.HTTP)
		if r.HTTP == 0 {
			note = r.Status + " → no answer"
		}
		v.Notes = append(v.Notes, note)
	}
	return v
}

// clock shows a time of day in UTC; the page says so once.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// words describes a mode to a person.
func (m Mode) words() string {
	switch m {
	case ModeNormal:
		return "Normal: each number does what its last digits say"
	case ModeSlow:
		return "Slow: accept at once, answer after 5 s"
	case ModeAcceptThenDrop:
		return "Accept, then drop: take the message, close without an answer"
	case ModeDrop:
		return "Drop: close without an answer, take nothing"
	case ModeThrottle:
		return "Throttle: 429 with Retry-After: 5"
	case ModeDown:
		return "Down: the port is closed, connections are refused"
	}
	return string(m)
}
