package dispatchtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"sentonce/dispatch"
)

func testFinder(t *testing.T, h ProviderHarness) {
	if _, ok := h.New(t, "http://127.0.0.1:1").(dispatch.Finder); !ok {
		t.Skip("this provider cannot be asked")
	}
	t.Run("a lookup that fails says nothing", func(t *testing.T) { t.Parallel(); testFailedLookups(t, h) })
	t.Run("a message that was taken is found", func(t *testing.T) { t.Parallel(); testFound(t, h) })
}

// find asks about m, which was sent between started and now.
func find(t *testing.T, p dispatch.Provider, m dispatch.Message, started time.Time) dispatch.Finding {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	f := p.(dispatch.Finder).Find(ctx, dispatch.Question{
		Reference: m.Reference, Recipient: m.Recipient, StartedAt: started, Until: time.Now(),
		SameText: func(s string) bool { return s == m.Text.Reveal() },
	})
	shown := fmt.Sprintf("%+v %v", f, f.Err)
	for _, secret := range append(secrets(m), url.QueryEscape(m.Recipient.Reveal())) {
		if strings.Contains(shown, secret) {
			t.Errorf("a finding holds %q: %s", secret, shown)
		}
	}
	if f.Err != nil && (len(f.Candidates) > 0 || f.Complete) {
		t.Errorf("a conclusion beside an error: %+v", f)
	}
	return f
}

func testFailedLookups(t *testing.T, h ProviderHarness) {
	m := h.Message()
	if f := find(t, h.New(t, "http://127.0.0.1:1"), m, time.Now()); f.Err == nil {
		t.Errorf("nobody there: %+v", f)
	}
	for _, status := range []int{200, 201, 302, 401, 404, 429, 500, 503} {
		bodies := ForeignBodies(m)
		if status == 200 {
			bodies = append(bodies, huge())
		}
		for _, body := range bodies {
			s := NewRawServer(t, AnswerAlways(Answer(status, body)))
			if f := find(t, h.New(t, s.URL()), m, time.Now()); f.Err == nil {
				t.Errorf("status %d with %.40q: %+v", status, body, f)
			}
		}
	}
}

func testFound(t *testing.T, h ProviderHarness) {
	fake := h.Fake(t)
	p := h.New(t, fake.URL())
	m, started := h.Message(), time.Now()
	if _, outcome, _ := send(t, p, m, 5*time.Second); outcome != dispatch.OutcomeAccepted {
		t.Fatalf("the fake does not take messages: %s", outcome)
	}
	doubtful := h.Message()
	fake.Hang(true)
	_, outcome, rule := send(t, p, doubtful, 300*time.Millisecond)
	if outcome != dispatch.OutcomeUnknown || rule != dispatch.R6 || fake.Taken() != 2 {
		t.Fatalf("taken without an answer: %s, %s, %d at the provider", outcome, rule, fake.Taken())
	}
	fake.Hang(false)
	fake.Hide(true)
	if f := find(t, p, doubtful, started); f.Err != nil || len(f.Candidates) != 0 {
		t.Errorf("hidden: %+v", f)
	}
	fake.Hide(false)
	f := find(t, p, doubtful, started)
	if f.Err != nil || len(f.Candidates) != 1 || f.Candidates[0].MessageID == "" || !f.Complete {
		t.Errorf("shown: %+v", f)
	}
	if again := find(t, p, doubtful, started); len(again.Candidates) != 1 || again.Candidates[0] != f.Candidates[0] {
		t.Errorf("asked again: %+v, before: %+v", again, f)
	}
	never := h.Message()
	if f := find(t, p, never, started); f.Err != nil || len(f.Candidates) != 0 {
		t.Errorf("a message that was never sent: %+v", f)
	}
}

func testReceipts(t *testing.T, h ProviderHarness) {
	p := h.New(t, "http://127.0.0.1:1")
	reader, ok := p.(dispatch.ReceiptReader)
	if !ok || h.Receipt == nil {
		t.Skip("this provider sends no signed reports")
	}
	for _, status := range dispatch.ReceiptStatuses() {
		c := h.Receipt(t, p, status)
		r, err := reader.ReadReceipt(c)
		if err != nil || r.Status != status || r.MessageID == "" {
			t.Errorf("an authentic %s: %+v, %v", status, r, err)
		}
		checkKept(t, "word", r.Raw, 64)
		checkKept(t, "code", r.Code, 64)
	}
	whole := h.Receipt(t, p, dispatch.ReceiptDelivered)
	for name, forged := range forgeries(whole) {
		if r, err := reader.ReadReceipt(forged); !errors.Is(err, dispatch.ErrForged) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if _, err := reader.ReadReceipt(whole); err != nil {
		t.Errorf("the same report again: %v", err)
	}
}

// forgeries changes a call-back in every place, one at a time.
func forgeries(c dispatch.Callback) map[string]dispatch.Callback {
	list := map[string]dispatch.Callback{"no header at all": {Method: c.Method, URL: c.URL, Body: c.Body}}
	for i := range c.Body {
		changed := c
		changed.Body = append([]byte(nil), c.Body...)
		changed.Body[i] ^= 1
		list[fmt.Sprintf("byte %d of the body", i)] = changed
	}
	for i := range len(c.URL.RawQuery) {
		query := []byte(c.URL.RawQuery)
		query[i] ^= 1
		changed, u := c, *c.URL
		u.RawQuery = string(query)
		changed.URL = &u
		list[fmt.Sprintf("byte %d of the query", i)] = changed
	}
	longer, u := c, *c.URL
	u.Path += "x"
	longer.URL = &u
	list["another path"] = longer
	more := c
	more.Body = append(append([]byte(nil), c.Body...), "&Extra=1"...)
	list["more body"] = more
	for name := range c.Header {
		if name == "Content-Type" {
			continue
		}
		without := c
		without.Header = http.Header{}
		for k, v := range c.Header {
			if k != name {
				without.Header[k] = v
			}
		}
		list["without "+name] = without
	}
	return list
}
