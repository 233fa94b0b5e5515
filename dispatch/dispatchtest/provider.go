package dispatchtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"sentonce/dispatch"
)

// ProviderHarness lets RunProviderTests drive one adapter.
type ProviderHarness struct {
	// New makes the adapter for a provider at base ("http://127.0.0.1:port").
	New func(t testing.TB, base string) dispatch.Provider
	// Message makes a message that the adapter can build. Its number and text must be recognisable: the suite looks for them wherever they
	// must not be.
	Message func() dispatch.Message
	// Taken is the provider's whole raw answer for a message that it took, with a length (see Answer), and TakenID the id in it.
	Taken, TakenID string
	// Answers are further answers of the provider and what each proves.
	Answers []ProviderAnswer
	// Unbuildable are messages that must not reach the network.
	Unbuildable []dispatch.Message
	// Fake makes a provider that keeps messages, for adapters that are a dispatch.Finder.
	Fake func(t testing.TB) ProviderFake
	// Receipt makes an authentic call-back, for adapters that are a dispatch.ReceiptReader and whose provider signs.
	Receipt func(t testing.TB, p dispatch.Provider, s dispatch.ReceiptStatus) dispatch.Callback
}

// ProviderAnswer is one answer and what is known after it.
type ProviderAnswer struct {
	Name, Raw  string
	Outcome    dispatch.Outcome
	Rule       dispatch.Rule
	Code       string
	MessageID  string
	RetryAfter time.Duration
}

// ProviderFake is a small provider with a memory.
type ProviderFake interface {
	URL() string
	Hang(bool) // take messages, but never answer
	Hide(bool) // show nothing to lookups
	Taken() int
}

// RunProviderTests holds an adapter to the contract of dispatch.Provider, and of Finder and ReceiptReader where it implements them: what it
// concludes from every way in which an exchange can go, that it makes one exchange and no more, and that it gives no secret away.
func RunProviderTests(t *testing.T, h ProviderHarness) {
	t.Run("capabilities", func(t *testing.T) { t.Parallel(); testCapabilities(t, h) })
	t.Run("answers", func(t *testing.T) { t.Parallel(); testAnswers(t, h) })
	t.Run("a cut answer is unknown", func(t *testing.T) { t.Parallel(); testCuts(t, h) })
	t.Run("a foreign answer is never taken", func(t *testing.T) { t.Parallel(); testForeign(t, h) })
	t.Run("nothing leaves", func(t *testing.T) { t.Parallel(); testNothingLeaves(t, h) })
	t.Run("silence is unknown", func(t *testing.T) { t.Parallel(); testSilence(t, h) })
	t.Run("one exchange each", func(t *testing.T) { t.Parallel(); testOneExchange(t, h) })
	t.Run("lookups", func(t *testing.T) { t.Parallel(); testFinder(t, h) })
	t.Run("receipts", func(t *testing.T) { t.Parallel(); testReceipts(t, h) })
}

func testCapabilities(t *testing.T, h ProviderHarness) {
	p := h.New(t, "http://127.0.0.1:1")
	c := p.Capabilities()
	_, finds := p.(dispatch.Finder)
	_, reads := p.(dispatch.ReceiptReader)
	if finds != (c.Lookup != dispatch.LookupNone) {
		t.Errorf("Lookup is %q, Finder implemented: %v", c.Lookup, finds)
	}
	if reads != c.Receipts || c.ReceiptsEcho && !c.Receipts {
		t.Errorf("Receipts %v, ReceiptsEcho %v, ReceiptReader implemented: %v", c.Receipts, c.ReceiptsEcho, reads)
	}
	if c.AbsenceProves && (!finds || c.AbsenceLag <= 0) {
		t.Errorf("absence proves, with lag %v and Finder implemented: %v", c.AbsenceLag, finds)
	}
	if c.ValidityUnit < 0 || c.ValidityMin > c.ValidityMax || c.ValidityUnit > 0 && c.ValidityMax < c.ValidityUnit {
		t.Errorf("validity: unit %v, from %v to %v", c.ValidityUnit, c.ValidityMin, c.ValidityMax)
	}
}

// send makes one exchange and holds what came back to the promises about kept texts.
func send(t *testing.T, p dispatch.Provider, m dispatch.Message, limit time.Duration) (dispatch.Exchange, dispatch.Outcome, dispatch.Rule) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	x := p.Send(ctx, m)
	shown := fmt.Sprintf("%+v %#v %v", x, x, x.Err)
	for _, secret := range secrets(m) {
		if strings.Contains(shown, secret) {
			t.Errorf("what is kept of an exchange holds %q", secret)
		}
	}
	checkKept(t, "code", x.Answer.Code, 64)
	checkKept(t, "message id", x.Answer.MessageID, 128)
	checkKept(t, "request id", x.Answer.RequestID, 128)
	if (x.Err == nil) != (x.Phase == dispatch.PhaseAnswered) {
		t.Errorf("phase %s with error %v", x.Phase, x.Err)
	}
	if x.Err != nil && x.Answer != (dispatch.Answer{}) {
		t.Errorf("an answer beside an error: %+v", x.Answer)
	}
	outcome, rule := dispatch.Classify(x.Phase, x.Err, x.Answer)
	if outcome == dispatch.OutcomeAccepted && x.Answer.MessageID == "" && rule == dispatch.R3 {
		t.Error("taken without an id")
	}
	return x, outcome, rule
}

func secrets(m dispatch.Message) (list []string) {
	for _, s := range []string{strings.TrimPrefix(m.Recipient.Reveal(), "+"), m.Text.Reveal()} {
		if s != "" {
			list = append(list, s)
		}
	}
	return list
}

func checkKept(t *testing.T, what, s string, most int) {
	t.Helper()
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	if len(s) > most || strings.Trim(s, alphabet) != "" {
		t.Errorf("the %s %q may not be kept", what, s)
	}
}

func testAnswers(t *testing.T, h ProviderHarness) {
	taken := ProviderAnswer{Name: "taken", Raw: h.Taken, Outcome: dispatch.OutcomeAccepted, Rule: dispatch.R3, MessageID: h.TakenID}
	for _, a := range append([]ProviderAnswer{taken}, h.Answers...) {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			s := NewRawServer(t, AnswerAlways(a.Raw))
			x, outcome, rule := send(t, h.New(t, s.URL()), h.Message(), 5*time.Second)
			got := ProviderAnswer{a.Name, a.Raw, outcome, rule, x.Answer.Code, x.Answer.MessageID, x.Answer.RetryAfter}
			if got != a {
				t.Errorf("got %+v\nwant %+v", got, a)
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// testCuts ends the connection after each byte of a good answer: none of the beginnings may be believed.
func testCuts(t *testing.T, h ProviderHarness) {
	for k := range len(h.Taken) {
		s := NewRawServer(t, func(p *Peer) {
			if p.Next() {
				p.Say(h.Taken[:k])
			}
		})
		_, outcome, rule := send(t, h.New(t, s.URL()), h.Message(), 5*time.Second)
		if outcome != dispatch.OutcomeUnknown || rule != dispatch.R6 || len(s.Requests()) != 1 {
			t.Fatalf("cut after %d bytes: %s, %s, %d requests", k, outcome, rule, len(s.Requests()))
		}
	}
}

// ForeignBodies are bodies that no provider means as an answer, some of them built to upset a reader.
func ForeignBodies(m dispatch.Message) []string {
	return []string{
		"", "null", "[]", "{}", "1", `"x"`, "true", "<html>gateway</html>", `{"error":14}`, "ERROR:14", "{", `{"sid":`,
		`{"sid":null}`, `{"sid":1e400}`, `{"sid":{"a":[]}}`, `{"code":"21211","message":1}`, `{"code":-1,"message":""}`,
		"\xff\xfe{\"sid\":\"\xc3\x28\"}", "{}{}", strings.Repeat(`{"a":`, 20000), strings.Repeat("[", 20000),
		`{"a":1,"a":2}`, "{\"a\":\"" + strings.Repeat("\\u0000", 1000) + "\"}",
		m.Text.Reveal() + " to " + m.Recipient.Reveal(),
	}
}

func huge() string { return `{"a":"` + strings.Repeat("x", 5<<20) + `"}` }

// testForeign: no status makes a foreign body an acceptance, and these statuses prove nothing whatever the provider.
func testForeign(t *testing.T, h ProviderHarness) {
	proveNothing := map[int]bool{301: true, 302: true, 303: true, 307: true, 308: true, 408: true, 500: true, 502: true, 504: true}
	for _, status := range []int{200, 201, 202, 203, 206, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 408, 409, 422, 429, 500, 502, 503, 504} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			bodies := ForeignBodies(h.Message())
			if status == 201 || status == 400 {
				bodies = append(bodies, huge())
			}
			for _, body := range bodies {
				s := NewRawServer(t, AnswerAlways(Answer(status, body, "Location: /elsewhere", "Twilio-Request-Id: a b")))
				_, outcome, rule := send(t, h.New(t, s.URL()), h.Message(), 10*time.Second)
				if outcome == dispatch.OutcomeAccepted || proveNothing[status] && outcome != dispatch.OutcomeUnknown {
					t.Errorf("status %d with %.40q: %s, %s", status, body, outcome, rule)
				}
				if n := len(s.Requests()); n != 1 {
					t.Errorf("status %d with %.40q: %d requests", status, body, n)
				}
			}
		})
	}
}

func testNothingLeaves(t *testing.T, h ProviderHarness) {
	check := func(name string, x dispatch.Exchange, outcome dispatch.Outcome, rule dispatch.Rule, want dispatch.Rule) {
		t.Helper()
		if rule != want || outcome == dispatch.OutcomeUnknown || x.Phase.BytesMayHaveLeft() {
			t.Errorf("%s: phase %s, %s, %s", name, x.Phase, outcome, rule)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	x, outcome, rule := send(t, h.New(t, "http://"+ln.Addr().String()), h.Message(), 5*time.Second)
	check("port closed", x, outcome, rule, dispatch.R2)

	s := NewRawServer(t, AnswerAlways(h.Taken))
	m := h.Message()
	m.BeforeFirstByte = func(context.Context) error { return dispatch.ErrStopped }
	x, outcome, rule = send(t, h.New(t, s.URL()), m, 5*time.Second)
	check("stopped before the first byte", x, outcome, rule, dispatch.R2)
	if x.Phase != dispatch.PhaseConnected || !errors.Is(x.Err, dispatch.ErrStopped) {
		t.Errorf("stopped: phase %s, %v", x.Phase, x.Err)
	}
	for i, m := range h.Unbuildable {
		x, outcome, rule = send(t, h.New(t, s.URL()), m, 5*time.Second)
		check(fmt.Sprintf("unbuildable %d", i), x, outcome, rule, dispatch.R1)
	}
	if len(s.Requests())+s.Partial() != 0 {
		t.Errorf("%d requests, %d partial ones", len(s.Requests()), s.Partial())
	}
}

func testSilence(t *testing.T, h ProviderHarness) {
	for name, script := range map[string]func(*Peer){
		"hangs":             func(p *Peer) { p.Next(); p.Hang() },
		"closes":            func(p *Peer) { p.Next() },
		"resets":            func(p *Peer) { p.Next(); p.Reset() },
		"header, then hang": func(p *Peer) { p.Next(); p.Say(h.Taken[:strings.Index(h.Taken, "\r\n\r\n")+4]); p.Hang() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewRawServer(t, script)
			_, outcome, rule := send(t, h.New(t, s.URL()), h.Message(), 300*time.Millisecond)
			if outcome != dispatch.OutcomeUnknown || rule != dispatch.R6 || len(s.Requests()) != 1 {
				t.Errorf("%s, %s, %d requests", outcome, rule, len(s.Requests()))
			}
		})
	}
}

func testOneExchange(t *testing.T, h ProviderHarness) {
	s := NewRawServer(t, func(p *Peer) { // every connection dies under its third request
		for n := 1; p.Next() && n < 3 && p.Say(h.Taken); n++ {
		}
	})
	p := h.New(t, s.URL())
	var group sync.WaitGroup
	var mu sync.Mutex
	sent, doubts, asked := 0, 0, 0
	for range 8 {
		group.Go(func() {
			for range 5 {
				m := h.Message()
				m.BeforeFirstByte = func(context.Context) error { mu.Lock(); asked++; mu.Unlock(); return nil }
				_, outcome, rule := send(t, p, m, 5*time.Second)
				mu.Lock()
				switch {
				case outcome == dispatch.OutcomeAccepted:
					sent++
				case rule == dispatch.R6:
					doubts++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if n := len(s.Requests()); n < sent || n > sent+doubts || n > 40 || asked > 40 {
		t.Errorf("%d requests for %d known sends and %d doubts; asked %d times", n, sent, doubts, asked)
	}
}
