package systemtest

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sentonce/cmd/fakesms/sim"
)

// atOnce posts several bodies in the same instant and returns the answers, in their order.
func (s *site) atOnce(t *testing.T, client string, bodies ...string) []answer {
	t.Helper()
	answers, errs := make([]answer, len(bodies)), make([]error, len(bodies))
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, body := range bodies {
		wg.Go(func() {
			<-start
			answers[i], errs[i] = s.try(t.Context(), request{method: http.MethodPost, path: "/v1/notifications", client: client, body: body})
		})
	}
	close(start)
	wg.Wait()
	must(t, errors.Join(errs...))
	return answers
}

func TestFieldF13_FiftyTwinsAtOnceAreOneMessage(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	s.start(t)
	for range 6 {
		a := s.fresh(5 * time.Minute)
		answers := s.atOnce(t, "shop", slices.Repeat([]string{encode(t, a)}, 50)...)
		created := 0
		for _, got := range answers {
			if got.code != http.StatusAccepted || got.doc.ID != answers[0].doc.ID {
				t.Fatalf("a twin got %d and %q; the first got %q: %s", got.code, got.doc.ID, answers[0].doc.ID, got.body)
			}
			if got.header.Get("Idempotency-Replayed") == "" {
				created++
			}
		}
		if created != 1 {
			t.Errorf("%d of them created it", created)
		}
		s.reach(t, answers[0].doc.ID, "sent")
		s.wantCalls(t, a.Recipient, 1, 1)
	}
	if n := len(s.audit(t).Entries); n != 6 {
		t.Errorf("%d notifications", n)
	}
}

func TestFieldF14_AReusedKeyOrEventIsNamedAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	s.start(t)
	a, other := s.fresh(5*time.Minute), s.fresh(5*time.Minute)
	first := encode(t, a)
	changed, stolen, rekeyed := a, other, a
	changed.Recipient, stolen.Key, rekeyed.Key = other.Recipient, a.Key, other.Key+"-x"
	both := s.atOnce(t, "shop", first, encode(t, changed)) // e: while the first is still being handled
	winner, loser := both[0], both[1]
	if winner.code != http.StatusAccepted {
		winner, loser, a, changed = loser, winner, changed, a
		rekeyed.Recipient = a.Recipient
	}
	if winner.code != http.StatusAccepted || loser.code != http.StatusUnprocessableEntity {
		t.Fatalf("two requests with one key: %d and %d", winner.code, loser.code)
	}
	for name, c := range map[string]struct {
		body string
		code int
	}{
		"a: another number":    {encode(t, changed), http.StatusUnprocessableEntity},
		"b: another event":     {encode(t, stolen), http.StatusUnprocessableEntity},
		"c: another key":       {encode(t, rekeyed), http.StatusConflict},
		"d: order and spacing": {reordered(a), http.StatusAccepted},
	} {
		got := s.call(t, http.MethodPost, "/v1/notifications", c.body)
		if got.code != c.code {
			t.Errorf("%s: %d: %s", name, got.code, got.body)
		}
		if c.code != http.StatusAccepted && (got.doc.Existing != winner.doc.ID || strings.Contains(got.body, "4915")) {
			t.Errorf("%s: %s", name, got.body)
		}
		if c.code == http.StatusAccepted && got.doc.ID != winner.doc.ID {
			t.Errorf("%s: another id", name)
		}
	}
	s.reach(t, winner.doc.ID, "sent")
	s.wantCalls(t, a.Recipient, 1, 1)
	s.wantCalls(t, changed.Recipient, 0, 0)
	s.audit(t)
}

// reordered is the same admission with its members in another order, with spaces, and with the plus sign escaped.
func reordered(a admission) string {
	return fmt.Sprintf("{\n \"expires_at\" : %q ,\n\t\"message\":%q, \"recipient\": \"\\u002b%s\",\"idempotency_key\":%q,  \"event_id\":%q }",
		a.ExpiresAt, a.Message, a.Recipient[1:], a.Key, a.EventID)
}

func TestFieldF16_ARepetitionLongAfterTheEndSendsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	p := s.start(t)
	sent, dead := s.fresh(5*time.Minute), s.fresh(6*time.Second)
	s.script(t, dead.Recipient, sim.Behaviour{Status: 429, Code: 20429})
	first, second := s.admit(t, sent), s.admit(t, dead)
	s.reach(t, first, "sent")
	s.reach(t, second, "expired")
	p.terminate(t)
	p.ended(t, patience)
	s.start(t)
	for id, a := range map[string]admission{first: sent, second: dead} {
		calls := s.calls(a.Recipient)
		got := s.post(t, a)
		if got.code != http.StatusAccepted || got.doc.ID != id || got.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("the repetition is answered with %d, %q: %s", got.code, got.header.Get("Idempotency-Replayed"), got.body)
		}
		key, event := a, a
		key.EventID += "-new"
		event.Key += "-new"
		if got := s.post(t, key); got.code != http.StatusUnprocessableEntity {
			t.Errorf("only the key equal: %d", got.code)
		}
		if got := s.post(t, event); got.code != http.StatusConflict {
			t.Errorf("only the event equal: %d", got.code)
		}
		if s.calls(a.Recipient) != calls {
			t.Error("it was sent again")
		}
	}
	s.audit(t)
}

func TestFieldF18_TwoShopsWithTheSameIdsHaveNothingInCommon(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	s.start(t)
	a, b, onlyA := s.fresh(5*time.Minute), s.fresh(5*time.Minute), s.fresh(5*time.Minute)
	a.EventID, a.Key, b.EventID, b.Key = "1", "1", "1", "1"
	id := s.admit(t, a)
	got := s.callAs(t, "travel", http.MethodPost, "/v1/notifications", b)
	if got.code != http.StatusAccepted || got.doc.ID == id || got.header.Get("Idempotency-Replayed") != "" {
		t.Fatalf("the other shop gets %d: %s", got.code, got.body)
	}
	s.reach(t, id, "sent")
	eventually(t, "both are sent", func() bool { return s.taken(a.Recipient) == 1 && s.taken(b.Recipient) == 1 })
	if found := s.callAs(t, "travel", http.MethodGet, "/v1/notifications?event_id=1", nil); !strings.Contains(found.body, got.doc.ID) || strings.Contains(found.body, id) {
		t.Errorf("the other shop finds %s", found.body)
	}
	foreign := s.admit(t, onlyA)
	for _, try := range []request{{method: http.MethodGet, path: "/v1/notifications/%s"}, {method: http.MethodPost, path: "/v1/notifications/%s/cancel", body: `{"reason":"other"}`}} {
		var seen []string
		for _, of := range []string{foreign, "ntf_00000000000000000000000001", foreign[:len(foreign)-1] + "0"} {
			got := s.callAs(t, "travel", try.method, fmt.Sprintf(try.path, of), try.body)
			seen = append(seen, fmt.Sprint(got.code, strings.ReplaceAll(got.body, got.header.Get("X-Request-Id"), "")))
		}
		if seen[0] != seen[1] || !strings.HasPrefix(seen[0], "404") {
			t.Errorf("a foreign id and one that does not exist can be told apart: %q", seen)
		}
	}
	s.audit(t)
}

func TestFieldF32_F35_F37_WhatIsRefusedNeverReachesTheProvider(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	s.start(t)
	now := time.Now()
	for _, c := range []struct {
		member, value string
		code          int
	}{
		{"expires_at", fmt.Sprint(now.Add(time.Minute).Unix()), 400},
		{"expires_at", fmt.Sprint(now.Add(time.Minute).UnixMilli()), 400},
		{"expires_at", `"` + now.Add(time.Minute).UTC().Format(time.DateTime) + `"`, 400},
		{"expires_at", `"` + now.Add(-time.Second).UTC().Format(time.RFC3339) + `"`, 422},
		{"expires_at", `"` + now.Add(25*time.Hour).UTC().Format(time.RFC3339) + `"`, 422},
		{"expires_at", `"9999-12-31T23:59:59Z"`, 422},
		{"recipient", `"+4903012345678"`, 422}, {"recipient", `"030 12345678"`, 422}, {"recipient", `"+1 415 555 2671 x123"`, 422},
		{"recipient", `"+1 415 555 2671;ext=9"`, 422}, {"recipient", `"+4915112345678901"`, 422}, {"recipient", `"+0151123456"`, 422},
		{"recipient", `"004915112345678"`, 422}, {"recipient", `"+49151CALLME"`, 422}, {"recipient", `"+49 151 12345678"`, 422},
		{"message", `"` + strings.Repeat("a", 1601) + `"`, 422}, {"message", `""`, 422}, {"message", `"a\u0000b"`, 422},
	} {
		a := s.fresh(time.Minute)
		body := encode(t, a)
		old := map[string]string{"expires_at": a.ExpiresAt, "recipient": a.Recipient, "message": a.Message}[c.member]
		got := s.call(t, http.MethodPost, "/v1/notifications", strings.Replace(body, `"`+old+`"`, c.value, 1))
		if got.code != c.code || len(got.doc.Errors) != 1 || got.doc.Errors[0].Pointer != "/"+c.member {
			t.Errorf("%s %.40s: %d, want %d: %s", c.member, c.value, got.code, c.code, got.body)
		}
	}
	if n := s.sim.Counters().Requests; n != 0 {
		t.Errorf("%d calls to the provider", n)
	}
	if n := len(s.audit(t).Entries); n != 0 {
		t.Errorf("%d notifications", n)
	}
}

func TestFieldF35_F37_NumberTextAndPartsArriveAsTheyWereGiven(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	s.start(t)
	for _, c := range []struct {
		text  string
		parts string
	}{
		{strings.Repeat("a", 160), "GSM-7 1"}, {strings.Repeat("a", 161), "GSM-7 2"}, {strings.Repeat("a", 306), "GSM-7 2"},
		{strings.Repeat("a", 69) + "’", "UCS-2 1"}, {strings.Repeat("a", 69) + "😀", "UCS-2 2"}, {strings.Repeat("[", 80), "GSM-7 1"},
		{strings.Repeat("|", 69) + "Ж", "UCS-2 1"}, {"https://shop.example/reset?t=a%2Bb&x=1+2 ÄÖÜ €\n" + strings.Repeat("ж", 500), "UCS-2 9"},
	} {
		a := s.fresh(5 * time.Minute)
		a.Message = c.text
		s.reach(t, s.admit(t, a), "sent")
		m := s.sim.Ledger("")[len(s.sim.Ledger(""))-1]
		if m.Body != c.text || m.To != a.Recipient {
			t.Errorf("the provider got %q for %q", m.Body, c.text)
		}
		if got := s.ask(t, `SELECT encoding || ' ' || segments FROM notifications WHERE event_id = ?`, a.EventID); got != c.parts {
			t.Errorf("%.20q…: recorded are %s, want %s", c.text, got, c.parts)
		}
	}
	s.audit(t)
}

func TestFieldF43_DroppedRequestsAreWholeOrAbsent(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	p := s.start(t)
	id := s.admit(t, s.fresh(10*time.Minute))
	stop := make(chan struct{})
	var readers, droppers sync.WaitGroup
	for range 10 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got, err := s.try(t.Context(), request{method: http.MethodGet, path: "/v1/notifications/" + id, client: "shop"}); err != nil || got.code != http.StatusOK {
					t.Errorf("a reader got %d, %v", got.code, err)
					return
				}
			}
		})
	}
	const drops = 200
	dropped := make([]admission, drops)
	for i := range dropped {
		dropped[i] = s.fresh(10 * time.Minute)
	}
	for shop := range 8 {
		droppers.Go(func() {
			for i := shop; i < drops; i += 8 {
				s.drop(t, dropped[i], time.Duration(i%16)*time.Millisecond)
			}
		})
	}
	droppers.Wait()
	close(stop)
	readers.Wait()
	began := time.Now()
	s.status(t, id)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("afterwards one request takes %v", took)
	}
	before := s.audit(t).Entries
	for _, a := range dropped {
		again := s.admit(t, a)
		for key, n := range before {
			if key.Event == a.EventID && n.ID != again {
				t.Errorf("%s was stored as %s, and repeated as %s", a.EventID, n.ID, again)
			}
		}
	}
	eventually(t, "all are sent", func() bool { return s.sim.Counters().Accepted == drops+1 })
	noLockErrors(t, p)
	s.audit(t)
}

// drop posts an event and closes the connection a moment later, whatever has come back.
func (s *site) drop(t *testing.T, a admission, after time.Duration) {
	conn, err := net.Dial("tcp", s.listen)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	body := encode(t, a)
	fmt.Fprintf(conn, "POST /v1/notifications HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		s.keys["shop"], len(body), body)
	if err := conn.SetReadDeadline(time.Now().Add(after)); err != nil {
		t.Error(err)
	}
	_, _ = conn.Read(make([]byte, 1)) // an answer or the deadline, either ends it
}
