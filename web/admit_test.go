package web_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/phone"
	"sentonce/web"
)

func TestAdmissionAnswersTheStatusDocument(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	ans := b.post(a.with("subject", "user-7").with("occurred_at", "2026-01-02T03:04:05+01:00"))
	d := ans.document(t)
	if ans.code != http.StatusAccepted || d.State != "accepted" || d.Version != 1 || d.Advice != "wait" || d.Final {
		t.Fatalf("got %d %s", ans.code, ans.body)
	}
	if got := ans.header.Get("Location"); got != "/v1/notifications/"+d.ID {
		t.Errorf("Location %q", got)
	}
	if ans.header.Get("Idempotency-Replayed") != "" || ans.header.Get("ETag") == "" {
		t.Errorf("headers %v", ans.header)
	}
	for _, null := range []string{`"reason":null`, `"incident":null`, `"stopped_at":null`, `"withdrawn_at":null`, `"attempts":[]`} {
		if !bytes.Contains(ans.body, []byte(null)) {
			t.Errorf("%s is missing: %s", null, ans.body)
		}
	}
}

func TestReplayAnswersTheCurrentDocumentAndIsCountedAfterwards(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	first := b.admit(a)
	b.start(first.ID)
	ans := b.post(a)
	if d := ans.document(t); ans.code != http.StatusAccepted || d.ID != first.ID || d.State != "dispatching" {
		t.Errorf("got %d %s", ans.code, ans.body)
	}
	if ans.header.Get("Idempotency-Replayed") != "true" {
		t.Error("the replay is not marked")
	}
	select {
	case id := <-b.store.Replays():
		if id.String() != first.ID {
			t.Errorf("counted for %s", id)
		}
	case <-time.After(10 * time.Second):
		t.Error("the replay was not counted")
	}
	if b.store.Count() != 1 {
		t.Errorf("%d records", b.store.Count())
	}
}

func TestMalformedMembersAre400WithPointers(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	base, _ := fresh()
	for _, c := range []struct {
		name  string
		body  admission
		rules string
	}{
		{"unknown member", base.with("colour", "red"), " unknown_member"},
		{"wrong case", base.with("event_id", remove).with("Event_ID", "e"), "/event_id wrong_case"},
		{"no event_id", base.with("event_id", remove), "/event_id required"},
		{"no recipient", base.with("recipient", remove), "/recipient required"},
		{"no message", base.with("message", remove), "/message required"},
		{"no expires_at", base.with("expires_at", remove), "/expires_at required"},
		{"null message", base.with("message", nil), "/message required"},
		{"blank event_id", base.with("event_id", "  "), "/event_id visible_ascii"},
		{"empty event_id", base.with("event_id", ""), "/event_id visible_ascii"},
		{"event_id of two lines", base.with("event_id", "a\nb"), "/event_id visible_ascii"},
		{"event_id with a space", base.with("event_id", "a b"), "/event_id visible_ascii"},
		{"event_id in Greek", base.with("event_id", "αβγ"), "/event_id visible_ascii"},
		{"event_id of 129", base.with("event_id", strings.Repeat("x", 129)), "/event_id visible_ascii"},
		{"event_id as a number", base.with("event_id", 12345678901234567), "/event_id type"},
		{"message as an object", base.with("message", map[string]any{"a": 1}), "/message type"},
		{"recipient as an array", base.with("recipient", []string{"x"}), "/recipient type"},
		{"recipient as a bool", base.with("recipient", true), "/recipient type"},
		{"purpose in capitals", base.with("purpose", "Reset"), "/purpose charset"},
		{"empty purpose", base.with("purpose", ""), "/purpose charset"},
		{"purpose of 65", base.with("purpose", strings.Repeat("p", 65)), "/purpose charset"},
		{"blank subject", base.with("subject", " "), "/subject visible"},
		{"invisible subject", base.with("subject", "a\u200bb"), "/subject visible"},
		{"subject of 257", base.with("subject", strings.Repeat("ü", 257)), "/subject visible"},
		{"two faults", base.with("event_id", 1).with("message", nil), "/event_id type, /message required"},
		{"form before content", base.with("event_id", "").with("recipient", "12"), "/event_id visible_ascii"},
	} {
		ans := b.do(request{method: "POST", path: "/v1/notifications", body: c.body.json(t), invalid: true})
		p := ans.problem(t)
		if ans.code != http.StatusBadRequest || p.rules() != c.rules || p.Type != "/problems/invalid-request" {
			t.Errorf("%s: got %d %s [%s], want 400 [%s]", c.name, ans.code, p.Type, p.rules(), c.rules)
		}
	}
	if b.store.Count() != 0 {
		t.Errorf("%d records were made", b.store.Count())
	}
}

func TestBodiesThatAreNotOneObjectAre400(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	good := string(a.json(t))
	for name, body := range map[string]string{
		"two documents":   good + good,
		"something after": good + "x",
		"not JSON":        "event_id=1",
		"array":           "[]",
		"string":          `"a"`,
		"null":            "null",
		"empty":           "",
		"cut":             good[:len(good)-9],
		"duplicate":       `{"event_id":"other",` + good[1:],
		"invalid UTF-8":   strings.Replace(good, "Your code", "Your \xff code", 1),
		"half a pair":     strings.Replace(good, "Your code", `Your \ud83d code`, 1),
		"a low half":      strings.Replace(good, "Your code", `Your \ude00 code`, 1),
		"deep nesting":    strings.Repeat("[", 12000),
		"deep member":     `{"message":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
		"byte order mark": "\ufeff" + good,
	} {
		ans := b.do(request{method: "POST", path: "/v1/notifications", body: []byte(body), invalid: true})
		if p := ans.problem(t); ans.code != http.StatusBadRequest || len(p.Errors) == 0 {
			t.Errorf("%s: got %d %s", name, ans.code, ans.body)
		}
	}
	emoji := strings.Replace(good, "Your code", `Your \ud83d\ude00 code \\ud83d`, 1)
	if ans := b.do(request{method: "POST", path: "/v1/notifications", body: []byte(emoji)}); ans.code != http.StatusAccepted {
		t.Errorf("a whole pair: got %d %s", ans.code, ans.body)
	}
}

func TestContentThatIsNotAcceptedIs422WithItsRule(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(d *web.Deps) { d.Countries = func() phone.Countries { return phone.Countries{"DE", "IT"} } })
	base, _ := fresh()
	for _, c := range []struct {
		name string
		body admission
		rule string
	}{
		{"expired", base.with("expires_at", time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)), "/expires_at expired"},
		{"too short a life", base.with("expires_at", time.Now().Add(500*time.Millisecond).UTC().Format(time.RFC3339Nano)), "/expires_at life_too_short"},
		{"too long a life", base.with("expires_at", time.Now().Add(25*time.Hour).UTC().Format(time.RFC3339)), "/expires_at life_too_long"},
		{"empty text", base.with("message", ""), "/message blank"},
		{"blank text", base.with("message", " \n "), "/message blank"},
		{"long text", base.with("message", strings.Repeat("ä", 1601)), "/message too_long"},
		{"NUL in the text", base.with("message", "a\x00b"), "/message control_character"},
		{"tab in the text", base.with("message", "a\tb"), "/message control_character"},
		{"no plus", base.with("recipient", "015112345678"), "/recipient not_e164"},
		{"leading zero", base.with("recipient", "+4903012345678"), "/recipient leading_zero"},
		{"extension", base.with("recipient", "+4915112345678 ext 5"), "/recipient extension"},
		{"Arabic digits", base.with("recipient", "+49151\u0661\u0662345678"), "/recipient non_ascii_digit"},
		{"direction mark", base.with("recipient", "\u202a+4915112345678"), "/recipient invisible_character"},
		{"foreign", base.with("recipient", "+33612345678"), "/recipient country_not_allowed"},
		{"two refusals", base.with("recipient", "x").with("message", ""), "/message blank, /recipient letters"},
	} {
		ans := b.post(c.body)
		if p := ans.problem(t); ans.code != http.StatusUnprocessableEntity || p.rules() != c.rule || p.Type != "/problems/refused" {
			t.Errorf("%s: got %d %s", c.name, ans.code, ans.body)
		}
	}
	long, _ := fresh()
	b.admit(long.with("message", strings.Repeat("ä", 1600)).with("recipient", "+390612345678"))
}

func TestFieldF32_OnlyTimesWithAZoneAreTimes(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	at := time.Now().Add(10 * time.Minute)
	for name, v := range map[string]any{"epoch seconds": at.Unix(), "epoch milliseconds": at.UnixMilli(), "epoch as text": fmt.Sprint(at.Unix()),
		"a space": "2030-01-02 03:04:05", "no zone": "2030-01-02T03:04:05", "a date": "2030-01-02", "a leap second": "2016-12-31T23:59:60Z",
		"a comma": "2030-01-02T03:04:05,5Z", "one digit": "2030-1-2T3:04:05Z", "year 10000 by its zone": "9999-12-31T23:59:59-01:00",
		"year 0": "0000-01-02T03:04:05Z", "month 13": "2030-13-02T03:04:05Z", "zone of 25 hours": "2030-01-02T03:04:05+25:00", "empty": ""} {
		a, _ := fresh()
		for _, member := range []string{"expires_at", "occurred_at"} {
			ans := b.do(request{method: "POST", path: "/v1/notifications", body: a.with(member, v).json(t), invalid: true})
			if p := ans.problem(t); ans.code != http.StatusBadRequest || !strings.HasPrefix(p.rules(), "/"+member+" ") {
				t.Errorf("%s in %s: got %d %s", name, member, ans.code, ans.body)
			}
		}
	}
	a, _ := fresh()
	if ans := b.post(a.with("expires_at", "9999-12-31T23:59:59Z")); ans.code != http.StatusUnprocessableEntity {
		t.Errorf("the year 9999: got %d", ans.code)
	}
	kathmandu := time.FixedZone("", 5*3600+45*60)
	d := b.admit(a.with("expires_at", at.In(kathmandu).Format("2006-01-02T15:04:05.000999-07:00")))
	if want := at.UTC().Format("2006-01-02T15:04:05") + ".000Z"; d.Expires != want {
		t.Errorf("the same instant must come back as %s, got %s", want, d.Expires)
	}
	same := b.post(a.with("expires_at", at.UTC().Format("2006-01-02T15:04:05")+"Z"))
	if same.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("one instant in two zones is one content: %d %s", same.code, same.body)
	}
}

func TestIdempotencyKeyIsAHeaderAMemberOrBoth(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for _, c := range []struct {
		header []string
		member any
		code   int
	}{
		{[]string{`"h-1"`}, remove, 202},
		{[]string{`"h\"\\2"`}, remove, 202},
		{[]string{"h-3"}, remove, 202},
		{[]string{` "h-4" `}, remove, 202},
		{[]string{`"h-5"`}, "h-5", 202},
		{nil, "h-6", 202},
		{nil, remove, 400},
		{nil, nil, 400},
		{[]string{"h-7"}, "other", 400},
		{[]string{"h-8", "h-8"}, remove, 400},
		{[]string{`"h-9`}, remove, 400},
		{[]string{`"h-10";a=1`}, remove, 400},
		{[]string{`"h\n"`}, remove, 400},
		{[]string{`""`}, remove, 400},
		{[]string{"h 11"}, remove, 400},
		{[]string{strings.Repeat("h", 129)}, remove, 400},
	} {
		a, _ := fresh()
		h := http.Header{}
		if c.header != nil {
			h["Idempotency-Key"] = c.header
		}
		ans := b.do(request{method: "POST", path: "/v1/notifications", body: a.with("idempotency_key", c.member).json(t), header: h, invalid: c.code == 400})
		if ans.code != c.code {
			t.Errorf("header %q, member %v: got %d %s", c.header, c.member, ans.code, ans.body)
		}
		if c.code == 400 && ans.problem(t).Type != "/problems/idempotency-key" {
			t.Errorf("header %q: %s", c.header, ans.body)
		}
	}
}

func TestFieldF13_TwinsInParallelConverge(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for range 20 {
		a, _ := fresh()
		answers := make([]answer, 50)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				<-start
				answers[i], _ = b.try(request{method: "POST", path: "/v1/notifications", body: a.json(t)})
			})
		}
		close(start)
		wg.Wait()
		replays := 0
		for _, ans := range answers {
			if ans.code != http.StatusAccepted || ans.document(t).ID != answers[0].document(t).ID {
				t.Fatalf("got %d %s", ans.code, ans.body)
			}
			if ans.header.Get("Idempotency-Replayed") == "true" {
				replays++
			}
		}
		if replays != len(answers)-1 {
			t.Errorf("%d replays of %d", replays, len(answers))
		}
	}
	if b.store.Count() != 20 {
		t.Errorf("%d records after 20 rounds", b.store.Count())
	}
}

func TestFieldF14_AKeyOrAnEventReusedIsNamedAsSuch(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, token := fresh()
	d := b.admit(a)
	other, _ := fresh()
	for name, c := range map[string]struct {
		body    admission
		code    int
		differs string
	}{
		"other number":   {a.with("recipient", other["recipient"]), 422, "recipient"},
		"other text":     {a.with("message", "hello"), 422, "message"},
		"other event":    {a.with("event_id", other["event_id"]), 422, "event_id"},
		"other purpose":  {a.with("purpose", "login"), 422, "purpose"},
		"other life":     {a.with("expires_at", time.Now().Add(time.Hour).UTC().Format(time.RFC3339)), 422, "expires_at"},
		"now a subject":  {a.with("subject", "u"), 422, "subject"},
		"two differ":     {a.with("message", "hello").with("recipient", other["recipient"]), 422, "message recipient"},
		"expired by now": {a.with("expires_at", "2020-01-01T00:00:00Z"), 422, "expires_at"},
		"other key":      {a.with("idempotency_key", other["idempotency_key"]), 409, ""},
	} {
		ans := b.post(c.body)
		p := ans.problem(t)
		if ans.code != c.code || p.Existing != d.ID || strings.Join(p.Differs, " ") != c.differs {
			t.Errorf("%s: got %d %s", name, ans.code, ans.body)
		}
		for _, secret := range []string{token, a["recipient"].(string)[1:], other["recipient"].(string)[1:]} {
			if bytes.Contains(ans.body, []byte(secret)) {
				t.Errorf("%s: the answer repeats what was sent", name)
			}
		}
	}
	reordered := fmt.Sprintf("{\n \"message\" : %q , \"recipient\":\"\\u002b%s\",\"purpose\":\"password_reset\",\"subject\":null, \"idempotency_key\":%q,\"expires_at\":%q,\"event_id\":%q}\n",
		a["message"], a["recipient"].(string)[1:], a["idempotency_key"], a["expires_at"], a["event_id"])
	ans := b.do(request{method: "POST", path: "/v1/notifications", body: []byte(reordered)})
	if ans.code != http.StatusAccepted || ans.header.Get("Idempotency-Replayed") != "true" || ans.document(t).ID != d.ID {
		t.Errorf("the same content in another order and spelling: got %d %s", ans.code, ans.body)
	}
}

func TestFieldF18_ClientsDoNotShareKeysOrRecords(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	stranger := b.store.AddKey(webtestClient(), nil, dispatch.Scopes()...)
	a, _ := fresh()
	mine := b.admit(a)
	theirs, _ := fresh()
	theirs = theirs.with("event_id", a["event_id"]).with("idempotency_key", a["idempotency_key"])
	ans := b.do(request{method: "POST", path: "/v1/notifications", token: stranger, body: theirs.json(t)})
	if ans.code != http.StatusAccepted || ans.document(t).ID == mine.ID {
		t.Fatalf("the stranger got %d %s", ans.code, ans.body)
	}
	found := b.do(request{method: "GET", path: fmt.Sprint("/v1/notifications?event_id=", a["event_id"]), token: stranger})
	if bytes.Contains(found.body, []byte(mine.ID)) || !bytes.Contains(found.body, []byte(ans.document(t).ID)) {
		t.Errorf("the stranger finds %s", found.body)
	}
	cancel := []byte(`{"reason":"other"}`)
	var bodies []string
	for _, id := range []string{mine.ID, "ntf_nonsense", "ntf_" + strings.Repeat("0", 26), "x"} {
		for _, r := range []request{{method: "GET", path: "/v1/notifications/" + id}, {method: "POST", path: "/v1/notifications/" + id + "/cancel", body: cancel}} {
			r.token = stranger
			ans := b.do(r)
			p := ans.problem(t)
			if ans.code != http.StatusNotFound {
				t.Errorf("%s %s: got %d", r.method, r.path, ans.code)
			}
			bodies = append(bodies, strings.Replace(string(ans.body), p.Instance, "", 1))
		}
	}
	for _, body := range bodies {
		if body != bodies[0] {
			t.Errorf("answers tell records apart: %s, %s", body, bodies[0])
		}
	}
}

func TestLargeBodiesAre413AndTheConnectionLivesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for _, size := range []int{17 << 10, 200_000, 600_000, 3 << 20} {
		for _, chunked := range []bool{false, true} {
			a, _ := fresh()
			body := a.with("message", strings.Repeat("a", size)).json(t)
			for range 5 {
				ans, err := b.try(request{method: "POST", path: "/v1/notifications", body: body, chunked: chunked, invalid: true})
				if err != nil {
					t.Logf("%d bytes, chunked %v: %v", size, chunked, err)
					if size < 1<<20 {
						t.Errorf("%d bytes, chunked %v: the answer was lost: %v", size, chunked, err)
					}
					continue
				}
				if ans.closed && size < 1<<20 {
					t.Errorf("%d bytes, chunked %v: the rest was not read, and the answer may be lost", size, chunked)
				}
				if ans.code != http.StatusRequestEntityTooLarge || ans.problem(t).Type != "/problems/body-too-large" {
					t.Errorf("%d bytes, chunked %v: got %d", size, chunked, ans.code)
				}
			}
		}
	}
	a, _ := fresh()
	b.admit(a)
}

func TestOnlyJSONIsTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for contentType, code := range map[string]int{"application/json": 202, "application/json; charset=utf-8": 202, "Application/JSON;charset=UTF-8": 202,
		"application/json; charset=latin1": 415, "text/plain": 415, "text/json": 415, "application/x-www-form-urlencoded": 415, "application/merge-patch+json": 415, "": 415} {
		a, _ := fresh()
		h := http.Header{"Content-Type": {contentType}}
		if ans := b.do(request{method: "POST", path: "/v1/notifications", body: a.json(t), header: h, invalid: true}); ans.code != code {
			t.Errorf("%q: got %d, want %d", contentType, ans.code, code)
		}
	}
	a, _ := fresh()
	h := http.Header{"Content-Encoding": {"gzip"}}
	if ans := b.do(request{method: "POST", path: "/v1/notifications", body: a.json(t), header: h, invalid: true}); ans.code != 415 {
		t.Errorf("gzip: got %d", ans.code)
	}
}

func TestFieldF35_ANumberReachesTheStoreByteForByte(t *testing.T) {
	t.Parallel()
	numbers := make(chan string, 1)
	b := newBench(t, func(d *web.Deps) { d.Store = spy{d.Store, numbers} })
	for _, number := range []string{"+4915112345678", "+390612345678", "+447400123456", "+12025550123"} {
		a, _ := fresh()
		b.admit(a.with("recipient", number))
		if got := <-numbers; got != number {
			t.Errorf("%s became %s", number, got)
		}
	}
	for _, number := range []string{"+4903012345678", "030 12345678", "+1 415 555 2671 x123", "+1 415 555 2671;ext=9", "+4915112345678901", "+0123456", "00491511234567",
		"+49151CALLME"} {
		a, _ := fresh()
		if ans := b.post(a.with("recipient", number)); ans.code != 422 || len(ans.problem(t).Errors) != 1 {
			t.Errorf("%s: got %d", number, ans.code)
		}
	}
}

// spy reports the number of each admission.
type spy struct {
	web.Store
	numbers chan<- string
}

func (s spy) Admit(ctx context.Context, a dispatch.Admission) (dispatch.Record, bool, error) {
	s.numbers <- a.Recipient.Reveal()
	return s.Store.Admit(ctx, a)
}

func TestMembersInAnyOrderAreTheSameContent(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	a = a.with("subject", "u-1").with("purpose", "password_reset")
	d := b.admit(a)
	var members []string
	for k, v := range a {
		members = append(members, fmt.Sprintf("%q:%q", k, v))
	}
	for range 10 {
		rand.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		ans := b.do(request{method: "POST", path: "/v1/notifications", body: []byte("{" + strings.Join(members, ",") + "}")})
		if ans.code != http.StatusAccepted || ans.document(t).ID != d.ID {
			t.Errorf("got %d %s", ans.code, ans.body)
		}
	}
}
