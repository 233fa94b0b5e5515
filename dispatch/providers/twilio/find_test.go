package twilio_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
)

const (
	number = "+4915112345678"
	text   = "Your code is 493817"
)

// start is when the attempt of these tests began; it ended a second later.
func start() time.Time { return time.Date(2026, 11, 29, 17, 0, 0, 500e6, time.UTC) }

func question() dispatch.Question {
	return dispatch.Question{
		Recipient: dispatch.NewSecret(number), StartedAt: start(), Until: start().Add(time.Second),
		SameText: func(s string) bool { return s == text },
	}
}

func ids(f dispatch.Finding) string {
	var list []string
	for _, c := range f.Candidates {
		list = append(list, c.MessageID[30:])
	}
	return strings.Join(list, " ")
}

func TestOnlyWhatCanBeTheAttemptsIsFound(t *testing.T) {
	t.Parallel()
	const service = "MG0123456789abcdef0123456789abcdef"
	f := newFake(t)
	f.put(number, text, start(), nil)                                                     // 0001
	f.put(number, text, start().Add(-2*time.Minute), nil)                                 // 0002 at the edge of the skew
	f.put(number, text, start().Add(-2*time.Minute-time.Second), nil)                     // too early
	f.put(number, text, start().Add(time.Second+2*time.Minute), nil)                      // 0004 at the other edge
	f.put(number, text, start().Add(2*time.Second+2*time.Minute), nil)                    // too late
	f.put(number, "Your code is 111111", start(), nil)                                    // another text
	f.put(number, text, start(), map[string]any{"body": nil})                             // text removed
	f.put(number, text, start(), map[string]any{"body": ""})                              // text removed
	f.put(number, text, start(), map[string]any{"from": "+15005550009"})                  // another sender
	f.put(number, text, start(), map[string]any{"direction": "inbound"})                  // from the customer
	f.put(number, text, start(), map[string]any{"direction": "outbound-reply"})           // not by our kind of call
	f.put("+4915112345679", text, start(), nil)                                           // another recipient
	f.put(number, text, start(), map[string]any{"messaging_service_sid": service})        // 000d: by number, and in a service
	f.put(number, text, start(), map[string]any{"status": "failed", "error_code": 30005}) // 000e
	f.put(number, text, start(), map[string]any{"status": "exploded"})                    // 000f

	f.edit = func(_ int, list map[string]any) { // a list that ignores the filter
		list["messages"] = append(list["messages"].([]map[string]any), f.rows[11])
	}
	a := adapter(t, f.URL())
	got := a.Find(t.Context(), question())
	if got.Err != nil || !got.Complete || !got.LaterSeen || got.Pages != 1 || got.HTTPStatus != 200 || got.SHA256 == [32]byte{} {
		t.Errorf("%+v", got)
	}
	if want := "000f 000e 000d 0004 0002 0001"; ids(got) != want {
		t.Errorf("found %s, want %s", ids(got), want)
	}
	want := dispatch.Candidate{MessageID: "SM" + strings.Repeat("0", 31) + "e", CreatedAt: start().Truncate(time.Second), Status: dispatch.ReceiptUndelivered, Code: "30005"}
	if len(got.Candidates) > 1 && (got.Candidates[1] != want || got.Candidates[0].Status != dispatch.ReceiptTaken) {
		t.Errorf("candidates %+v", got.Candidates)
	}
	c := config(f.URL())
	c.From, c.MessagingServiceSID = "", service
	if got := adapterOf(t, c).Find(t.Context(), question()); ids(got) != "000d" {
		t.Errorf("by service: %s", ids(got))
	}
	if q := f.queries()[0]; q != "PageSize=50&To=%2B4915112345678" {
		t.Errorf("asked with %s", q)
	}
}

func TestTheWatermarkIsALaterMessageOfOurs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		at   time.Time
		more map[string]any
		want bool
	}{
		"later":            {start().Add(3 * time.Second), nil, true},
		"earlier":          {start().Add(-time.Hour), nil, false},
		"not ours":         {start().Add(3 * time.Second), map[string]any{"from": "+15005550009"}, false},
		"a customer's own": {start().Add(3 * time.Second), map[string]any{"direction": "inbound"}, false},
	} {
		f := newFake(t)
		f.put(number, "another text", tt.at, tt.more)
		if got := adapter(t, f.URL()).Find(t.Context(), question()); got.LaterSeen != tt.want || !got.Complete || len(got.Candidates) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAllPagesAreReadUntilTheyAreTooOld(t *testing.T) {
	t.Parallel()
	fill := func(f *fake, n int, step time.Duration) {
		for i := range n {
			f.put(number, "filler", start().Add(-time.Duration(n-i)*step), nil)
		}
	}
	t.Run("stops where rows are older than the window", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		fill(f, 500, time.Minute)
		f.put(number, text, start(), nil)
		got := adapter(t, f.URL()).Find(t.Context(), question())
		if got.Pages != 2 || !got.Complete || len(got.Candidates) != 1 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("reads on where the order is not the documented one", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.put(number, text, start(), nil) // last in the list, behind rows that are too old, the oldest first
		for i := range 120 {
			f.put(number, "filler", start().Add(-time.Duration(i+10)*time.Minute), nil)
		}
		got := adapter(t, f.URL()).Find(t.Context(), question())
		if got.Pages != 3 || !got.Complete || len(got.Candidates) != 1 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("gives up after so many pages", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		fill(f, 1001, 0)
		got := adapter(t, f.URL()).Find(t.Context(), question())
		if got.Pages != 20 || got.Complete || got.Err != nil {
			t.Errorf("%+v", got)
		}
	})
	t.Run("counts a row once that moves to the next page", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.put(number, text, start(), nil)
		fill(f, 50, 0)
		f.edit = func(page int, list map[string]any) {
			if page == 0 {
				rows := list["messages"].([]map[string]any)
				list["messages"] = append(rows, f.rows[0])
			}
		}
		got := adapter(t, f.URL()).Find(t.Context(), question())
		if got.Pages != 2 || len(got.Candidates) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestTheNextPageIsNeverFetchedFromElsewhere(t *testing.T) {
	t.Parallel()
	elsewhere := dispatchtest.NewRawServer(t, dispatchtest.AnswerAlways(dispatchtest.Answer(200, "{}")))
	for name, next := range map[string]any{
		"another host":      elsewhere.URL() + path + ".json?Page=1",
		"another host, //":  "//" + elsewhere.Addr() + path + ".json?Page=1",
		"another path":      "/2010-04-01/Accounts.json?Page=1",
		"another account":   strings.Replace(path, account, "AC1", 1) + ".json?Page=1",
		"a path around":     path + "/../Calls.json",
		"another recipient": path + ".json?Page=1&To=%2B4915112345679",
		"a number":          7,
		"an unreadable one": "http://[::1",
	} {
		f := newFake(t)
		f.put(number, "filler", start(), nil)
		f.edit = func(_ int, list map[string]any) { list["next_page_uri"] = next }
		got := adapter(t, f.URL()).Find(t.Context(), question())
		if got.Err == nil || got.Complete || len(f.queries()) != 1 || strings.Contains(got.Err.Error(), "4915112345678") {
			t.Errorf("%s: %+v, %d requests", name, got, len(f.queries()))
		}
	}
	if n := elsewhere.Accepted(); n != 0 {
		t.Errorf("%d connections elsewhere", n)
	}
}

// What was found counts although the rest cannot be read; what was not found does not.
func TestALaterPageThatFailsLeavesWhatWasFound(t *testing.T) {
	t.Parallel()
	for found, first := range map[bool]string{true: text, false: "another text"} {
		f := newFake(t)
		for range 50 {
			f.put(number, "filler", start(), nil)
		}
		f.put(number, first, start(), nil)
		f.edit = func(page int, list map[string]any) {
			if page == 1 {
				list["messages"] = "gone"
			}
		}
		got := adapter(t, f.URL()).Find(t.Context(), question())
		if got.Complete || (len(got.Candidates) == 1) != found || (got.Err == nil) != found || got.Pages != 2 {
			t.Errorf("found %v: %+v", found, got)
		}
	}
}

func TestAKnownIdIsAskedForFirst(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	known := f.put(number, text, start(), map[string]any{"body": nil, "status": "delivered"})
	q := question()
	q.MessageID = known
	a := adapter(t, f.URL())
	got := a.Find(t.Context(), q)
	if got.Err != nil || ids(got) != "0001" || got.Candidates[0].Status != dispatch.ReceiptDelivered || len(f.queries()) != 0 {
		t.Errorf("known: %+v, lists %v", got, f.queries())
	}
	f.put(number, text, start(), nil)
	q.MessageID = sid // Twilio has no such message
	if got := a.Find(t.Context(), q); got.Err != nil || ids(got) != "0002" || got.Pages != 2 || !got.Complete {
		t.Errorf("not known to Twilio: %+v", got)
	}
	q.MessageID = "../../Calls"
	if got := a.Find(t.Context(), q); got.Err != nil || ids(got) != "0002" || got.Pages != 1 {
		t.Errorf("not an id: %+v", got)
	}
}

func TestARowThatCannotBeReadEndsTheLookup(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]map[string]any{
		"no date":      {"date_created": nil},
		"other date":   {"date_created": "2026-11-29T17:00:00Z"},
		"no id":        {"sid": nil},
		"text as list": {"body": []string{text}},
		"to as number": {"from": 15005550006},
	} {
		f := newFake(t)
		f.put(number, "filler", start(), more)
		if got := adapter(t, f.URL()).Find(t.Context(), question()); got.Err == nil || got.Complete {
			t.Errorf("%s: %+v", name, got)
		}
	}
	zone := newFake(t)
	zone.put(number, text, start(), map[string]any{"date_created": start().Truncate(time.Second).Format("Mon, 02 Jan 2006 15:04:05 ") + "GMT"})
	if got := adapter(t, zone.URL()).Find(t.Context(), question()); ids(got) != "0001" {
		t.Errorf("a date in GMT: %+v", got)
	}
}

// TestFieldF03_ALookupThatFailsSaysNothing: 503, 429 and a malformed answer are no conclusion.
func TestFieldF03_ALookupThatFailsSaysNothing(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		dispatchtest.Answer(503, "<html>503</html>"), refusal(429, 20429), refusal(401, 20003), refusal(404, 20404), dispatchtest.Answer(200, `{"messages":[`),
		dispatchtest.Answer(200, `{"messages":[]}`), dispatchtest.Answer(404, "<html>"), dispatchtest.Answer(307, "", "Location: /x"),
	} {
		s := dispatchtest.NewRawServer(t, dispatchtest.AnswerAlways(raw))
		got := adapter(t, s.URL()).Find(t.Context(), question())
		if got.Err == nil || got.Complete || len(got.Candidates) != 0 || len(s.Requests()) != 1 || s.Requests()[0].Method != http.MethodGet {
			t.Errorf("%.30q: %+v, %d requests", raw, got, len(s.Requests()))
		}
	}
}

func TestAQuestionWithoutARecipientIsNotAsked(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("", text, start(), nil)
	q := question()
	q.Recipient = dispatch.Secret{}
	if got := adapter(t, f.URL()).Find(t.Context(), q); got.Err == nil || len(f.queries()) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestLookupsWorkBelowAPath(t *testing.T) {
	t.Parallel()
	s := dispatchtest.NewRawServer(t, func(p *dispatchtest.Peer) {
		for next := `"` + path + `.json?Page=1"`; p.Next(); next = "null" {
			p.Say(dispatchtest.Answer(200, `{"messages":[],"next_page_uri":`+next+`}`))
		}
	})
	got := adapter(t, s.URL()+"/gateway").Find(t.Context(), question())
	if got.Err != nil || got.Pages != 2 || !got.Complete || s.Requests()[1].Target != "/gateway"+path+".json?Page=1" {
		t.Errorf("%+v, %+v", got, s.Requests())
	}
}
