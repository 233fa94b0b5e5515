package twilio_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
	"sentonce/dispatch/providers/twilio"
)

var messages atomic.Int64

func message() dispatch.Message {
	return dispatch.Message{
		Recipient:  dispatch.NewSecret("+4915112345678"),
		Text:       dispatch.NewSecret("Your code is 493817, number " + strconv.FormatInt(messages.Add(1), 10)),
		ReceiptURL: "https://sms.example.org/receipts/main?ref=ntf_0.att_0.1.mac",
		Validity:   5 * time.Minute,
	}
}

func config(base string) twilio.Config {
	return twilio.Config{Name: "main", BaseURL: base, AccountSID: account, AuthToken: dispatch.NewSecret(token), From: sender, Now: time.Now}
}

func adapter(t testing.TB, base string) *twilio.Adapter {
	t.Helper()
	return adapterOf(t, config(base))
}

func adapterOf(t testing.TB, c twilio.Config) *twilio.Adapter {
	t.Helper()
	a, err := twilio.New(c)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(a.CloseIdle)
	return a
}

const sid = "SM0123456789abcdef0123456789ABCDEF"

func takenBody(more string) string {
	return `{"sid":"` + sid + `","account_sid":"` + account + `","status":"queued","to":"+4915112345678","body":"x","error_code":null` + more + `}`
}

// refusal is an error as Twilio writes it. Its text quotes the number, as Twilio's does.
func refusal(status, code int, lines ...string) string {
	body := fmt.Sprintf(`{"code": %d, "message": "The number +4915112345678 with 'Your code is 493817' is not good", "more_info": "https://www.twilio.com/docs/errors/%d", "status": %d}`, code, code, status)
	return dispatchtest.Answer(status, body, lines...)
}

func TestTwilioKeepsTheContractOfAProvider(t *testing.T) {
	t.Parallel()
	broken := func(change func(*dispatch.Message)) dispatch.Message { m := message(); change(&m); return m }
	dispatchtest.RunProviderTests(t, dispatchtest.ProviderHarness{
		New:     func(t testing.TB, base string) dispatch.Provider { return adapter(t, base) },
		Message: message,
		Taken:   dispatchtest.Answer(201, takenBody(""), "Twilio-Request-Id: RQ1"),
		TakenID: sid,
		Answers: answers(),
		Unbuildable: []dispatch.Message{
			broken(func(m *dispatch.Message) { m.Validity = time.Second - 1 }),
			broken(func(m *dispatch.Message) { m.Validity = -time.Hour }),
			broken(func(m *dispatch.Message) { m.Text = dispatch.NewSecret("") }),
			broken(func(m *dispatch.Message) { m.Text = dispatch.NewSecret("caf\xe9 493817") }),
			broken(func(m *dispatch.Message) { m.Text = dispatch.NewSecret(strings.Repeat("ä", 1601)) }),
			broken(func(m *dispatch.Message) { m.Recipient = dispatch.NewSecret("whatsapp:+4915112345678") }),
			broken(func(m *dispatch.Message) { m.Recipient = dispatch.NewSecret("+0915112345678") }),
		},
		Fake: func(t testing.TB) dispatchtest.ProviderFake { return newFake(t) },
		Receipt: func(t testing.TB, _ dispatch.Provider, s dispatch.ReceiptStatus) dispatch.Callback {
			return callback(wordFor(s))
		},
	})
}

func answers() []dispatchtest.ProviderAnswer {
	const (
		accepted, refused = dispatch.OutcomeAccepted, dispatch.OutcomeRefused
		notSent, unknown  = dispatch.OutcomeNotSent, dispatch.OutcomeUnknown
	)
	answer := dispatchtest.Answer
	list := []dispatchtest.ProviderAnswer{
		{Name: "taken as MMS", Raw: answer(201, `{"sid":"MM0123456789abcdef0123456789abcdef"}`), Outcome: accepted, Rule: dispatch.R3, MessageID: "MM0123456789abcdef0123456789abcdef"},
		{Name: "taken, in chunks", Raw: "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2e\r\n" + `{"sid":"` + sid + `"  }` + "\r\n0\r\n\r\n", Outcome: accepted, Rule: dispatch.R3, MessageID: sid},
		{Name: "another account's", Raw: answer(201, strings.Replace(takenBody(""), account, "AC9", 1)), Outcome: unknown, Rule: dispatch.R7},
		{Name: "200 with a message", Raw: answer(200, takenBody("")), Outcome: unknown, Rule: dispatch.R7},
		{Name: "202 with a message", Raw: answer(202, takenBody("")), Outcome: unknown, Rule: dispatch.R7},
		{Name: "id of a call", Raw: answer(201, strings.Replace(takenBody(""), "SM", "CA", 1)), Outcome: unknown, Rule: dispatch.R7},
		{Name: "id too short", Raw: answer(201, strings.Replace(takenBody(""), "SM0", "SM", 1)), Outcome: unknown, Rule: dispatch.R7},
		{Name: "id not hexadecimal", Raw: answer(201, strings.Replace(takenBody(""), "SM0", "SMg", 1)), Outcome: unknown, Rule: dispatch.R7},
		{Name: "id as a number", Raw: answer(201, `{"sid":12345}`), Outcome: unknown, Rule: dispatch.R7},
		{Name: "id as an object", Raw: answer(201, `{"sid":{"sid":"`+sid+`"}}`), Outcome: unknown, Rule: dispatch.R7},
		{Name: "id in other letters", Raw: answer(201, `{"SID":"`+sid+`"}`), Outcome: unknown, Rule: dispatch.R7},
		{Name: "id twice", Raw: answer(201, takenBody(`,"sid":"`+sid+`"`)), Outcome: unknown, Rule: dispatch.R7},
		{Name: "more after the message", Raw: answer(201, takenBody("")+"{}"), Outcome: unknown, Rule: dispatch.R7},
		{Name: "not UTF-8", Raw: answer(201, takenBody(`,"x":"`+"\xff"+`"`)), Outcome: unknown, Rule: dispatch.R7},
		{Name: "message in a list", Raw: answer(201, "["+takenBody("")+"]"), Outcome: unknown, Rule: dispatch.R7},
		{Name: "a refusal with status 201", Raw: answer(201, `{"code":21211,"message":"","status":400}`), Outcome: unknown, Rule: dispatch.R7},

		{Name: "status and status disagree", Raw: answer(400, `{"code":21211,"message":"","status":500}`), Outcome: unknown, Rule: dispatch.R7},
		{Name: "code as text", Raw: answer(400, `{"code":"21211","message":"","status":400}`), Outcome: unknown, Rule: dispatch.R7},
		{Name: "code without a message", Raw: answer(400, `{"code":21211,"status":400}`), Outcome: unknown, Rule: dispatch.R7},
		{Name: "code out of range", Raw: answer(400, `{"code":7,"message":"","status":400}`), Outcome: unknown, Rule: dispatch.R7},
		{Name: "an unlisted code of the REST range", Raw: refusal(400, 21999), Outcome: notSent, Rule: dispatch.R4, Code: "21999"},
		{Name: "a delivery code in a refusal", Raw: refusal(400, 30001), Outcome: unknown, Rule: dispatch.R7, Code: "30001"},
		{Name: "an unlisted code with an undocumented status", Raw: refusal(409, 21999), Outcome: unknown, Rule: dispatch.R7, Code: "21999"},
		{Name: "unlisted, unauthorised", Raw: refusal(401, 20999), Outcome: notSent, Rule: dispatch.R11, Code: "20999"},
		{Name: "unlisted, forbidden", Raw: refusal(403, 20999), Outcome: notSent, Rule: dispatch.R11, Code: "20999"},
		{Name: "unlisted, too many", Raw: refusal(429, 20999), Outcome: notSent, Rule: dispatch.R5, Code: "20999"},
		{Name: "too many, with a code that says otherwise", Raw: refusal(429, 21211), Outcome: unknown, Rule: dispatch.R7, Code: "21211"},
		{Name: "408 with a code", Raw: refusal(408, 21211), Outcome: unknown, Rule: dispatch.R7, Code: "21211"},
		{Name: "20500", Raw: refusal(500, 20500), Outcome: unknown, Rule: dispatch.R7, Code: "20500"},
		{Name: "20500 as 400", Raw: refusal(400, 20500), Outcome: unknown, Rule: dispatch.R7, Code: "20500"},
		{Name: "20503", Raw: refusal(503, 20503), Outcome: unknown, Rule: dispatch.R7, Code: "20503"},
		{Name: "a refusal as 500", Raw: refusal(500, 21211), Outcome: unknown, Rule: dispatch.R7, Code: "21211"},
		{Name: "20404", Raw: refusal(404, 20404), Outcome: notSent, Rule: dispatch.R11, Code: "20404"},
	}
	for value, wait := range map[string]time.Duration{
		"7": 7 * time.Second, "86400": time.Hour, "99999999999999999999": time.Hour, "-1": 0, "soon": 0, "": 0, "+7": 0, "7.5": 0,
		"Sun, 29 Nov 2026 17:00:07 GMT": 7 * time.Second, "Sun, 29 Nov 2026 16:00:00 GMT": 0, "Mon, 30 Nov 2026 17:00:00 GMT": time.Hour,
	} {
		raw := refusal(429, 20429, "Date: Sun, 29 Nov 2026 17:00:00 GMT", "Retry-After: "+value)
		list = append(list, dispatchtest.ProviderAnswer{Name: "F29 retry after " + value, Raw: raw, Outcome: notSent, Rule: dispatch.R5, Code: "20429", RetryAfter: wait})
	}
	return append(list, listed()...)
}

// listed are the answers with the codes of the table, with the status that goes with their class.
func listed() (list []dispatchtest.ProviderAnswer) {
	for _, c := range twilio.Codes() {
		a := dispatchtest.ProviderAnswer{Name: "code " + strconv.Itoa(c.Number), Code: strconv.Itoa(c.Number)}
		status := 400
		switch c.Class {
		case dispatch.MeaningRefused:
			a.Outcome, a.Rule = dispatch.OutcomeRefused, dispatch.R4
		case dispatch.MeaningRefusedHere:
			a.Outcome, a.Rule = dispatch.OutcomeNotSent, dispatch.R4
		case dispatch.MeaningTryLater:
			a.Outcome, a.Rule = dispatch.OutcomeNotSent, dispatch.R5
			status = 429
		case dispatch.MeaningAccountRefusing:
			a.Outcome, a.Rule = dispatch.OutcomeNotSent, dispatch.R11
			status = 403
		default:
			a.Outcome, a.Rule = dispatch.OutcomeUnknown, dispatch.R7
			status = 500
		}
		a.Raw = refusal(status, c.Number)
		list = append(list, a)
	}
	return list
}

// TestFieldF27_RefusalInsideA200: Twilio documents no refusal inside a 200, so one is somebody else's answer: never sent, and never read as
// a refusal either.
func TestFieldF27_RefusalInsideA200(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"error":14}`, "ERROR:14", `{"messages":[{"to":"+4915112345678","status":"could not send","sid":"None"}]}`} {
		s := dispatchtest.NewRawServer(t, dispatchtest.AnswerAlways(dispatchtest.Answer(200, body)))
		x := adapter(t, s.URL()).Send(t.Context(), message())
		if outcome, rule := dispatch.Classify(x.Phase, x.Err, x.Answer); outcome != dispatch.OutcomeUnknown || rule != dispatch.R7 {
			t.Errorf("%s: %s, %s", body, outcome, rule)
		}
	}
}

// An HTTP/1.0 answer ends where the connection ends, so only the JSON itself can say whether it is whole.
func TestAnAnswerThatEndsWithTheConnectionMustBeWholeJSON(t *testing.T) {
	t.Parallel()
	whole := takenBody("")
	for k := range len(whole) + 1 {
		s := dispatchtest.NewRawServer(t, func(p *dispatchtest.Peer) {
			if p.Next() {
				p.Say("HTTP/1.0 201 Created\r\n\r\n" + whole[:k])
			}
		})
		x := adapter(t, s.URL()).Send(t.Context(), message())
		outcome, _ := dispatch.Classify(x.Phase, x.Err, x.Answer)
		if (outcome == dispatch.OutcomeAccepted) != (k == len(whole)) || outcome != dispatch.OutcomeAccepted && outcome != dispatch.OutcomeUnknown {
			t.Fatalf("after %d of %d bytes: %s", k, len(whole), outcome)
		}
	}
}

func TestARequestIsWhatTwilioDocuments(t *testing.T) {
	t.Parallel()
	const service = "MG0123456789abcdef0123456789abcdef"
	tests := []struct {
		name   string
		config func(*twilio.Config)
		change func(*dispatch.Message)
		want   url.Values
	}{
		{"by number", func(*twilio.Config) {}, func(m *dispatch.Message) { m.Validity = 59*time.Second + 999*time.Millisecond },
			url.Values{"From": {sender}, "ValidityPeriod": {"59"}, "StatusCallback": {"https://sms.example.org/receipts/main?ref=ntf_0.att_0.1.mac"}}},
		{"by service, without a public address", func(c *twilio.Config) { c.From, c.MessagingServiceSID = "", service },
			func(m *dispatch.Message) { m.Validity, m.ReceiptURL = 24*time.Hour, "" },
			url.Values{"MessagingServiceSid": {service}, "ValidityPeriod": {"36000"}}},
		{"below a path", func(c *twilio.Config) { c.BaseURL += "/gateway" }, func(m *dispatch.Message) { m.Validity, m.ReceiptURL = time.Second, "" },
			url.Values{"From": {sender}, "ValidityPeriod": {"1"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := dispatchtest.NewRawServer(t, dispatchtest.AnswerAlways(dispatchtest.Answer(201, takenBody(""), "Twilio-Request-Id: RQ1")))
			c := config(s.URL())
			tt.config(&c)
			m := message()
			m.Text = dispatch.NewSecret("Dein Code & mehr: 493817 €+")
			tt.change(&m)
			x := adapterOf(t, c).Send(t.Context(), m)
			if x.Err != nil || x.Answer.RequestID != "RQ1" || x.Answer.HTTPStatus != 201 || x.Answer.SHA256 != sha256.Sum256([]byte(takenBody(""))) {
				t.Errorf("exchange %+v", x)
			}
			got := s.Requests()[0]
			tt.want.Set("To", m.Recipient.Reveal())
			tt.want.Set("Body", m.Text.Reveal())
			if got.Method != "POST" || got.Target != strings.TrimPrefix(c.BaseURL, s.URL())+path+".json" || got.Body != tt.want.Encode() {
				t.Errorf("%s %s\n%s\nwant %s", got.Method, got.Target, got.Body, tt.want.Encode())
			}
			if h := got.Header; h.Get("Authorization") == "" || h.Get("Content-Type") != "application/x-www-form-urlencoded" ||
				h.Get("Idempotency-Key")+h.Get("X-Idempotency-Key")+h.Get("I-Twilio-Idempotency-Token") != "" {
				t.Errorf("header %v", h)
			}
		})
	}
}

func TestTheCodeTableIsSortedAndSourced(t *testing.T) {
	t.Parallel()
	last := 0
	for _, c := range twilio.Codes() {
		if c.Number <= last || c.Says == "" || c.Source != "https://www.twilio.com/docs/api/errors/"+strconv.Itoa(c.Number) {
			t.Errorf("%+v after %d", c, last)
		}
		if c.Number >= 30000 && c.Number < 31000 {
			t.Errorf("%d is a delivery error: the message was created", c.Number)
		}
		last = c.Number
	}
}

func TestNewRefusesAConfigurationThatCannotWork(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*twilio.Config){
		"no account":          func(c *twilio.Config) { c.AccountSID = "" },
		"a path as account":   func(c *twilio.Config) { c.AccountSID = "AC/../x" },
		"no token":            func(c *twilio.Config) { c.AuthToken = dispatch.Secret{} },
		"no sender":           func(c *twilio.Config) { c.From = "" },
		"two senders":         func(c *twilio.Config) { c.MessagingServiceSID = "MG1" },
		"no clock":            func(c *twilio.Config) { c.Now = nil },
		"a base without host": func(c *twilio.Config) { c.BaseURL = "api.twilio.com" },
		"a base with query":   func(c *twilio.Config) { c.BaseURL = "https://api.twilio.com?x=1" },
		"credentials in base": func(c *twilio.Config) { c.BaseURL = "https://" + token + "@api.twilio.com" },
	} {
		c := config("https://api.twilio.com")
		change(&c)
		if _, err := twilio.New(c); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := twilio.New(twilio.Config{}); errors.Is(err, dispatch.ErrUnbuildable) || err == nil {
		t.Errorf("the zero configuration: %v", err)
	}
}
