package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sentonce/dispatch"
)

func TestDemoShowsEveryOutcomeAndItsCommandsWorkWhenPasted(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var s site
	r := s.background(t, "demo")
	r.out.waitFor(t, "Now watch", r.done)
	commands := pasted(r.out.String())
	if len(commands) != 3 {
		t.Fatalf("the demo prints %d commands, want 3:\n%s", len(commands), r.out)
	}
	post, read, lose := commands[0], commands[1], commands[2]
	status, header, first := post.run(t)
	if status != http.StatusAccepted || header.Get("Idempotency-Replayed") != "" {
		t.Errorf("the command to post answers %d: %s", status, first)
	}
	status, header, _ = post.run(t)
	if status != http.StatusAccepted || header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("pasted again it answers %d, replayed %q", status, header.Get("Idempotency-Replayed"))
	}
	if status, _, body := read.run(t); status != http.StatusOK || !strings.Contains(body, `"event_id":"my-reset-1"`) {
		t.Errorf("the command to read answers %d: %s", status, body)
	}

	r.out.waitFor(t, "Each kind of outcome", r.done)
	told := r.out.String()
	for _, state := range dispatch.States() {
		if state != dispatch.StateDispatching && !strings.Contains(told, " "+string(state)+" ") { // dispatching is over before anybody can read it
			t.Errorf("the demo never shows %s", state)
		}
	}
	for _, words := range []string{"outcome_unknown", "provider_unavailable", "withdrawn_by_client", "superseded)", "incident is open", "rule R5", "rule R4"} {
		if !strings.Contains(told, words) {
			t.Errorf("the demo never shows %q", words)
		}
	}
	if status, _, body := lose.run(t); status != http.StatusOK || !strings.Contains(body, numberLost) {
		t.Errorf("the command to lose an answer answers %d: %s", status, body)
	}
	lost := post.replace("my-reset-1", "my-reset-2").replace("my-key-1", "my-key-2").replace("+4915112345678", numberLost)
	if status, _, body := lost.run(t); status != http.StatusAccepted {
		t.Errorf("the event whose answer is lost: %d: %s", status, body)
	}
	seen := followed(t, read.replace("my-reset-1", "my-reset-2"), dispatch.StateSent)
	if !slices.Equal(seen, []dispatch.State{dispatch.StateDispatching, dispatch.StateUnknown, dispatch.StateSent}) {
		t.Errorf("a lost answer shows %v", seen)
	}
	if code := r.stop(t); code != exitOK || strings.Contains(told, "failed:") || !strings.HasSuffix(r.out.String(), "\nstopped; nothing was kept\n") {
		t.Errorf("exit code %d, log %q:\n%s", code, r.log, r.out)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("the demo left %v behind, %v", filepath.Join(temp), left)
	}
}

// command is a curl command, taken apart as a shell and curl would.
type command struct{ words []string }

// replace is the command with other words in it, as a person would edit it.
func (c command) replace(old, new string) command {
	words := slices.Clone(c.words)
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, old, new)
	}
	return command{words}
}

// followed runs a command that reads one notification, until it is in a state, and returns the states that were seen, accepted left out.
func followed(t *testing.T, read command, last dispatch.State) (seen []dispatch.State) {
	t.Helper()
	tick, late := time.NewTicker(50*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for len(seen) == 0 || seen[len(seen)-1] != last {
		_, _, body := read.run(t)
		var found struct{ Notifications []news }
		if err := json.Unmarshal([]byte(body), &found); err != nil || len(found.Notifications) != 1 {
			t.Fatalf("reading answers %v: %s", err, body)
		}
		if state := found.Notifications[0].State; state != dispatch.StateAccepted && !slices.Contains(seen, state) {
			seen = append(seen, state)
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%v was not followed by %s in time", seen, last)
		}
	}
	return seen
}

// pasted finds the curl commands of a text.
func pasted(text string) (all []command) {
	joined := strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(joined) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "curl ") {
			all = append(all, command{shellWords(line)})
		}
	}
	return all
}

// shellWords splits a line at spaces that no single quotes enclose.
func shellWords(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// run does what curl does with the command.
func (c command) run(t *testing.T) (status int, header http.Header, body string) {
	t.Helper()
	method, address, data, fields := http.MethodGet, "", "", http.Header{}
	for i := 1; i < len(c.words); i++ {
		switch word := c.words[i]; word {
		case "-i", "-s":
		case "-X", "-H", "-d":
			i++
			switch value := c.words[i]; word {
			case "-X":
				method = value
			case "-d":
				data = value
			default:
				name, rest, _ := strings.Cut(value, ": ")
				fields.Set(name, rest)
			}
		default:
			address = word
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(data))
	if err != nil {
		t.Fatalf("%q: %v", c.words, err)
	}
	req.Header = fields
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%q: %v", c.words, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(raw)
}
