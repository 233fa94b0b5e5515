package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"sentonce/cmd/fakesms/sim"
	"sentonce/dispatch"
)

// printer writes for a person, one line at a time.
type printer struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
}

// line writes a line. A person who has closed the terminal misses nothing that has to be kept.
func (p *printer) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}

// progress tells that something happened to an event.
func (p *printer) progress(name, state, words string) {
	p.line("%6.1fs  %-13s %-17s %s", time.Since(p.start).Seconds(), name, state, words)
}

// pasteLife is how long the printed command can be pasted. Real resets live minutes.
const pasteLife = 12 * time.Hour

// numberLost is the number whose answers are lost when a person asks for it. Its digits mean nothing else.
const numberLost = "+4915112345679"

// intro says where everything is and what to try.
func (p *printer) intro(d *demo) {
	p.line(`sentonce demo: all of it on this machine. Nothing reaches a phone, nothing is kept.

  service    %s  (its API: /openapi.yaml, its figures: /metrics)
  provider   %s  a simulator that fails on demand
  control    %s  its page: break it, and see what it really took
  staff      %s/login  the pages for people, as one of

%s

Post an event from another terminal. Paste it twice: the second answer is the same record, and nothing is sent again.

%s

Read what became of it:

%s

Lose an answer: for the number …79 the provider takes the message, and neither answers nor reports it:

%s

  Post again, with recipient +4915112345679 and another event_id and idempotency_key, and read that event_id every second. It is dispatching
  for 2 s, until the call is given up; dispatch_unknown for 2 s, until the provider is asked; then sent: found, one call, one message.

The control page breaks the provider for every number: accept_then_drop, slow, drop, throttle, down; normal mends it. A delivery report settles
most of those doubts within a second. Or leave it whole and choose a fault by the last two digits of the number:

%s

Now watch: these events show every kind of outcome within half a minute.
`, d.shop.base, d.sim.BaseURL(), d.sim.ControlURL(), d.shop.base, staffLines(d.logins), indent(d.postCommand()), indent(d.readCommand()), indent(d.loseCommand()), patterns())
}

func (p *printer) outro() {
	p.line(`
Each kind of outcome has been shown, and no event was sent twice. The service keeps running: post, lose an answer, watch. Ctrl-C ends it.`)
}

func (p *printer) farewell() { p.line("\nstopped; nothing was kept") }

// postCommand is a command that works when it is pasted into a shell.
func (d *demo) postCommand() string {
	body, err := json.Marshal(event{EventID: "my-reset-1", Key: "my-key-1", Recipient: "+4915112345678",
		Message: "Your reset code is 271828", ExpiresAt: time.Now().Add(pasteLife).UTC().Truncate(time.Second)})
	if err != nil {
		return err.Error() // a struct of texts and a time cannot fail
	}
	return fmt.Sprintf(`curl -i -X POST %s/v1/notifications \
  -H 'Authorization: Bearer %s' \
  -H 'Content-Type: application/json' \
  -d '%s'`, d.shop.base, d.shop.key.Reveal(), body)
}

func (d *demo) readCommand() string {
	return fmt.Sprintf(`curl -s '%s/v1/notifications?event_id=my-reset-1' \
  -H 'Authorization: Bearer %s'`, d.shop.base, d.shop.key.Reveal())
}

func (d *demo) loseCommand() string {
	return fmt.Sprintf(`curl -X POST %s/admin/script -H 'Content-Type: application/json' \
  -d '{"to":"%s","behaviour":"no_receipt","ending":"%s"}'`, strings.TrimSuffix(d.sim.ControlURL(), "/"), numberLost, sim.EndHang)
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }

// patterns lists what the last digits of a number do.
func patterns() string {
	var b strings.Builder
	for _, p := range sim.Patterns() {
		if p.Suffix != "" {
			fmt.Fprintf(&b, "    …%s  %s\n", p.Suffix, p.What)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// explain puts a document into words; "" when there is nothing to tell.
func explain(n news) (state, words string) {
	state = string(n.State)
	var outcome dispatch.Outcome
	var rule dispatch.Rule
	if len(n.Attempts) > 0 {
		last := n.Attempts[len(n.Attempts)-1]
		outcome, rule = last.Outcome, last.Rule
	}
	switch n.State {
	case dispatch.StateAccepted:
		if outcome == dispatch.OutcomeNotSent {
			return state, "proven not sent (rule " + string(rule) + "): a new permit, and it waits for the provider"
		}
	case dispatch.StateUnknown:
		return state, "no answer: sent or not, nobody knows. Nothing is sent again until that is known"
	case dispatch.StateSent:
		return state, sentWords(n, rule)
	case dispatch.StateDelivered:
		return state, "the provider reports: the phone has it"
	case dispatch.StateUndelivered:
		return state, "the provider reports: it did not arrive"
	case dispatch.StateFailed:
		return state, "the provider refused it for good (rule " + string(rule) + ")"
	case dispatch.StateExpired:
		if n.Reason == dispatch.ReasonOutcomeUnknown {
			return state, "its life ended in doubt (outcome_unknown): never sent again, still asked about"
		}
		return state, "its life ended unsent (" + string(n.Reason) + ")"
	case dispatch.StateCancelled:
		return state, "stopped unsent (" + string(n.Reason) + ")"
	}
	return state, ""
}

func sentWords(n news, rule dispatch.Rule) string {
	switch {
	case n.Incident != nil:
		return "found at the provider, twice: an incident is open, for a person to look at"
	case rule == dispatch.R3:
		return "the provider took it"
	}
	return "the doubt is settled by evidence: the provider has it. One call, one message"
}
