package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	post, read, broken := commands[0], commands[1], commands[2]
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
	if status, _, body := broken.run(t); status != http.StatusOK || !strings.Contains(body, "accept_then_drop") {
		t.Errorf("the command to break the provider answers %d: %s", status, body)
	}
	if code := r.stop(t); code != exitOK || strings.Contains(told, "failed:") {
		t.Errorf("exit code %d, log %q:\n%s", code, r.log, told)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("the demo left %v behind, %v", filepath.Join(temp), left)
	}
}

// command is a curl command, taken apart as a shell and curl would.
type command struct{ words []string }

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
