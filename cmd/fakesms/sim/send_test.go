package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestAMessageIsAcceptedAndShownAsTwilioDoes(t *testing.T) {
	t.Parallel()
	ctx, c := testContext(t), newClient(t)
	s := startServer(t, Options{Clock: newManualClock()})
	form := formTo(plainNumber)
	form.Set("StatusCallback", "http://127.0.0.1:1/receipts/main?ref=x")

	got := sendForm(ctx, c, s, form)
	if got.err != nil || got.status != http.StatusCreated {
		t.Fatalf("answer %+v", got)
	}
	var r resource
	got.decode(t, &r)
	if !regexp.MustCompile(`^SM[0-9a-f]{32}$`).MatchString(r.SID) {
		t.Errorf("sid %q", r.SID)
	}
	if r.Status != "queued" || r.DateCreated != "Sun, 29 Nov 2026 14:00:00 +0000" || r.DateSent != nil || r.NumSegments != "1" {
		t.Errorf("resource %+v", r)
	}
	m, err := s.WaitAccepted(ctx, plainNumber)
	if err != nil {
		t.Fatal(err)
	}
	if m.SID != r.SID || m.Body != form.Get("Body") || m.Validity != "60" || m.Callback != form.Get("StatusCallback") || m.Conn == 0 {
		t.Errorf("ledger %+v", m)
	}
}

func TestAMessagingServiceAcceptsWithoutASender(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{Clock: newManualClock()})
	form := formTo(plainNumber)
	form.Del("From")
	form.Set("MessagingServiceSid", "MG"+strings.Repeat("0a", 16))
	var r resource
	sendForm(testContext(t), newClient(t), s, form).decode(t, &r)
	if r.Status != "accepted" || r.From != nil || r.NumSegments != "0" || r.ServiceSID == nil {
		t.Errorf("resource %+v", r)
	}
}

func TestInvalidRequestsAreRefusedWithTwiliosCodes(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{Clock: newManualClock()})
	c := newClient(t)
	for _, test := range []struct {
		name, member, value string
		code                int
	}{
		{"no recipient", "To", "", 21604},
		{"a national number", "To", "015112345678", 21211},
		{"letters for a number", "To", "+49151x", 21211},
		{"no sender", "From", "", 21603},
		{"a strange sender", "From", "?", 21212},
		{"the same at both ends", "From", plainNumber, 21266},
		{"a strange service", "MessagingServiceSid", "MG1", 21701},
		{"no text", "Body", "", 21602},
		{"a text of 1601", "Body", strings.Repeat("é", 1601), 21617},
		{"no life", "ValidityPeriod", "0", 21624},
		{"too much life", "ValidityPeriod", "36001", 21624},
		{"half a second", "ValidityPeriod", "0.5", 21624},
		{"a life without a value", "ValidityPeriod", "", 21624},
		{"a call-back nowhere", "StatusCallback", "ftp://x", 21609},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			form := formTo(plainNumber)
			form.Set(test.member, test.value)
			got := sendForm(testContext(t), c, s, form)
			var refusal twilioError
			got.decode(t, &refusal)
			if got.status != 400 || refusal.Code != test.code || refusal.Status != 400 {
				t.Errorf("got %d %+v, want %d", got.status, refusal, test.code)
			}
		})
	}
	t.Cleanup(func() {
		if n := s.Counters().Accepted; n != 0 {
			t.Errorf("%d were accepted", n)
		}
	})
}

func TestWrongCredentialsUseUpNoScript(t *testing.T) {
	t.Parallel()
	ctx, c := testContext(t), newClient(t)
	s := startServer(t, Options{})
	script(t, s, plainNumber, Behaviour{Status: 400, Code: 21610, Times: 1})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, messagesURL(s), strings.NewReader(formTo(plainNumber).Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(s.AccountSID(), "wrong")
	var refusal twilioError
	got := do(c, req)
	got.decode(t, &refusal)
	if got.status != 401 || refusal.Code != 20003 {
		t.Errorf("got %+v", got)
	}
	if n := len(s.Requests(plainNumber)); n != 1 {
		t.Errorf("the witness saw %d requests", n)
	}
	if got := sendForm(ctx, c, s, formTo(plainNumber)); got.status != 400 {
		t.Errorf("the script was used up: %+v", got)
	}
}

// TestEachPatternLooksAsItSays sends to one number of each pattern through a real client and compares what the client saw with what the
// ledger knows: the same symptom can hide opposite truths.
func TestEachPatternLooksAsItSays(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{})
	short := func(seen seen) error { // nothing came within the client's patience
		if !errors.Is(seen.err, context.DeadlineExceeded) {
			return fmt.Errorf("want a time-out")
		}
		return nil
	}
	status := func(want int, marks ...string) func(seen) error {
		return func(got seen) error {
			for _, mark := range marks {
				if !strings.Contains(got.body, mark) {
					return fmt.Errorf("%q is missing", mark)
				}
			}
			if got.err != nil || got.status != want {
				return fmt.Errorf("want %d", want)
			}
			return nil
		}
	}
	broken := func(want error) func(seen) error {
		return func(got seen) error {
			if !errors.Is(got.err, want) {
				return fmt.Errorf("want %w", want)
			}
			return nil
		}
	}
	for suffix, test := range map[string]struct {
		accepted int
		look     func(seen) error
	}{
		"01": {1, short}, "02": {0, short}, "12": {1, short}, "19": {0, short},
		"03": {1, broken(syscall.ECONNRESET)}, "13": {0, broken(io.EOF)}, "22": {1, broken(io.EOF)}, "08": {1, broken(io.ErrUnexpectedEOF)},
		"04": {1, status(500, "20500")}, "05": {0, status(400, "21211")}, "06": {0, status(429, "20429")}, "20": {0, status(400, "21610")},
		"07": {0, status(502, "<html>")}, "09": {0, status(200, "<html>")}, "11": {0, status(401, "20003")}, "14": {0, status(307)},
		"15": {1, status(201, "queued")}, "16": {1, status(201)}, "17": {1, status(201)}, "18": {1, status(201)},
		"21": {1, status(201, `{"sid":"SM`)}, "99": {1, status(201, "queued")},
	} {
		t.Run(suffix, func(t *testing.T) {
			t.Parallel()
			to := "+491511234" + suffix
			ctx, cancel := context.WithTimeout(testContext(t), time.Second)
			defer cancel()
			got := sendForm(ctx, newClient(t), s, formTo(to))
			if err := test.look(got); err != nil {
				t.Errorf("saw %+v: %v", got, err)
			}
			if n := len(s.Ledger(to)); n != test.accepted {
				t.Errorf("%d in the ledger, want %d", n, test.accepted)
			}
			if n := len(s.Requests(to)); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestASlowAnswerComesAfterItsDelayAndIsAcceptedBefore(t *testing.T) {
	t.Parallel()
	ctx, clock := testContext(t), newManualClock()
	s := startServer(t, Options{Clock: clock, Receipts: ReceiptPlan{Off: true}})
	script(t, s, plainNumber, Behaviour{Accept: true, Delay: 3 * time.Second, Receipts: Early()})
	answered := make(chan seen, 1)
	go func() { answered <- sendForm(ctx, newClient(t), s, formTo(plainNumber)) }()
	if _, err := s.WaitAccepted(ctx, plainNumber); err != nil {
		t.Fatal(err)
	}
	clock.awaitTimer(ctx, t)
	clock.advance(3*time.Second - 1)
	select {
	case got := <-answered:
		t.Fatalf("answered early: %+v", got)
	default:
	}
	clock.advance(1)
	if got := <-answered; got.status != 201 {
		t.Errorf("got %+v", got)
	}
}

func TestALateAcceptanceHappensAlthoughTheClientHasGone(t *testing.T) {
	t.Parallel()
	ctx, clock := testContext(t), newManualClock()
	s := startServer(t, Options{Clock: clock})
	script(t, s, plainNumber, Behaviour{Accept: true, AcceptAfter: 20 * time.Second, Ending: EndHang})
	hasty, leave := context.WithCancel(ctx)
	gone := make(chan seen, 1)
	go func() { gone <- sendForm(hasty, newClient(t), s, formTo(plainNumber)) }()
	if err := s.WaitHeld(ctx, plainNumber); err != nil {
		t.Fatal(err)
	}
	leave()
	if got := <-gone; got.err == nil {
		t.Fatalf("got %+v", got)
	}
	if n := len(s.Ledger(plainNumber)); n != 0 {
		t.Fatalf("accepted at once: %d", n)
	}
	clock.awaitTimer(ctx, t)
	clock.advance(20 * time.Second)
	if _, err := s.WaitAccepted(ctx, plainNumber); err != nil {
		t.Error(err)
	}
}

func TestAScriptRunsItsStepsAndThenEnds(t *testing.T) {
	t.Parallel()
	ctx, c := testContext(t), newClient(t)
	s := startServer(t, Options{})
	script(t, s, plainNumber, Behaviour{Status: 429, Code: 20429, Times: 2, Header: http.Header{"Retry-After": {"7"}}},
		Behaviour{Status: 503, ContentType: "text/plain", Body: "no", Times: 1})
	for i, want := range []int{429, 429, 503, 201, 201} {
		got := sendForm(ctx, c, s, formTo(plainNumber))
		if got.status != want || want == 429 && got.header.Get("Retry-After") != "7" {
			t.Errorf("send %d: %+v, want %d", i+1, got, want)
		}
	}
}

func TestAThrottledNumberIsAcceptedTheSecondTime(t *testing.T) {
	t.Parallel()
	ctx, c := testContext(t), newClient(t)
	s := startServer(t, Options{})
	for i, want := range []int{429, 201, 201} {
		if got := sendForm(ctx, c, s, formTo("+4915112345606")); got.status != want {
			t.Errorf("send %d: %d, want %d", i+1, got.status, want)
		}
	}
}

func TestScriptBeatsModeAndModeBeatsDigits(t *testing.T) {
	t.Parallel()
	ctx, c := testContext(t), newClient(t)
	s := startServer(t, Options{})
	if err := s.SetMode(ModeAcceptThenDrop); err != nil {
		t.Fatal(err)
	}
	refused := "+4915112345605"
	if got := sendForm(ctx, c, s, formTo(refused)); got.err == nil || len(s.Ledger(refused)) != 1 {
		t.Errorf("the mode did not win over the digits: %+v", got)
	}
	script(t, s, plainNumber, Normal())
	if got := sendForm(ctx, c, s, formTo(plainNumber)); got.status != 201 {
		t.Errorf("the script did not win over the mode: %+v", got)
	}
	if err := s.SetMode(ModeNormal); err != nil {
		t.Fatal(err)
	}
	if got := sendForm(ctx, c, s, formTo(refused)); got.status != 400 {
		t.Errorf("the digits do not count again: %+v", got)
	}
}

func TestWithoutPatternsDigitsMeanNothing(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{NoPatterns: true})
	if got := sendForm(testContext(t), newClient(t), s, formTo("+4915112345605")); got.status != 201 {
		t.Errorf("got %+v", got)
	}
}

func TestReleasedRequestsEndByWhetherTheyWereAccepted(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := startServer(t, Options{})
	for to, look := range map[string]func(seen) bool{
		"+4915112345601": func(got seen) bool { return got.status == 201 && got.err == nil },
		"+4915112345602": func(got seen) bool { return errors.Is(got.err, io.EOF) },
		"+4915112345612": func(got seen) bool {
			return got.status == 201 && got.err == nil && strings.Contains(got.body, `"sid":"SM`)
		},
	} {
		answered := make(chan seen, 1)
		go func() { answered <- sendForm(ctx, newClient(t), s, formTo(to)) }()
		if err := s.WaitHeld(ctx, to); err != nil {
			t.Fatal(err)
		}
		if n := s.Release(to); n != 1 {
			t.Errorf("%s: released %d", to, n)
		}
		if got := <-answered; !look(got) {
			t.Errorf("%s: %+v", to, got)
		}
	}
}

func TestARedirectThatIsFollowedIsCounted(t *testing.T) {
	t.Parallel()
	ctx, c := testContext(t), newClient(t)
	s := startServer(t, Options{})
	got := sendForm(ctx, c, s, formTo("+4915112345614"))
	if got.status != 307 || s.Foreign() != 0 {
		t.Fatalf("got %+v, foreign %d", got, s.Foreign())
	}
	get(ctx, c, s, s.BaseURL()+got.header.Get("Location"))
	if s.Foreign() != 1 {
		t.Errorf("foreign %d", s.Foreign())
	}
}

func TestTwoHundredSendersAtOnceAreAllInTheLedger(t *testing.T) {
	t.Parallel()
	ctx, c := testContext(t), newClient(t)
	s := startServer(t, Options{Receipts: ReceiptPlan{Off: true}, NoPatterns: true})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			to := fmt.Sprintf("+491511%07d", i%50)
			if got := sendForm(ctx, c, s, formTo(to)); got.status != 201 {
				t.Errorf("%s: %+v", to, got)
			}
		})
	}
	wg.Wait()
	sids := map[string]bool{}
	for _, m := range s.Ledger("") {
		sids[m.SID] = true
	}
	if len(sids) != 200 {
		t.Errorf("%d different messages", len(sids))
	}
	for i := range 50 {
		if to := fmt.Sprintf("+491511%07d", i); len(s.Ledger(to)) != 4 || len(s.Requests(to)) != 4 {
			t.Errorf("%s: %d messages, %d requests", to, len(s.Ledger(to)), len(s.Requests(to)))
		}
	}
}

func TestTheConnectionOfEachMessageIsKnown(t *testing.T) {
	t.Parallel()
	ctx, kept := testContext(t), newClient(t)
	s := startServer(t, Options{})
	for _, c := range []*http.Client{kept, kept, newClient(t)} {
		sendForm(ctx, c, s, formTo(plainNumber))
	}
	rows := s.Ledger(plainNumber)
	if rows[0].Conn != rows[1].Conn || rows[1].Conn == rows[2].Conn {
		t.Errorf("connections %d %d %d", rows[0].Conn, rows[1].Conn, rows[2].Conn)
	}
}

func TestNonsenseIsNotScripted(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{})
	for _, b := range []Behaviour{{Ending: "explode"}, {Status: 99}, {Times: -1}, {Delay: -1}} {
		if err := s.Script(plainNumber, b); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", b, err)
		}
	}
	if err := s.SetMode("sideways"); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if got := sendForm(testContext(t), newClient(t), s, url.Values{}); got.status != 400 {
		t.Errorf("an empty form: %+v", got)
	}
}

func script(t *testing.T, s *Server, to string, steps ...Behaviour) {
	t.Helper()
	if err := s.Script(to, steps...); err != nil {
		t.Fatal(err)
	}
}
