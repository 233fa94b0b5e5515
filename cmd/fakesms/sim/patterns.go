package sim

import (
	"net/http"
	"strings"
	"time"
)

// Pattern is a named behaviour that the last digits of a number choose.
type Pattern struct {
	Suffix    string // the last two digits; "" when only a script can ask for it
	Name      string // for scripts
	What      string // in plain words, for the control page and the README
	Behaviour Behaviour
}

// Patterns lists the named behaviours in the order of their digits, the normal one last.
func Patterns() []Pattern {
	return []Pattern{
		{"01", "accept_then_hang", "accepts, then never answers", Behaviour{Accept: true, Ending: EndHang}},
		{"02", "hang", "never answers and accepts nothing", Behaviour{Ending: EndHang}},
		{"03", "accept_then_reset", "accepts, then resets the connection", Behaviour{Accept: true, Ending: EndReset}},
		{"04", "accept_then_500", "accepts, then answers 500 (20500)", Behaviour{Accept: true, Status: 500, Code: 20500}},
		{"05", "refuse", "refuses: not a valid number (400, 21211)", Behaviour{Status: 400, Code: 21211}},
		{"06", "throttle_once", "answers 429 with Retry-After: 2 once, then accepts", once(throttled("2"))},
		{"07", "bad_gateway", "accepts nothing; a proxy answers 502 in HTML",
			html(http.StatusBadGateway, "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>")},
		{"08", "cut", "accepts, then the answer breaks off half-way", Behaviour{Accept: true, Ending: EndCut}},
		{"09", "foreign", "accepts nothing; somebody else answers 200 in HTML",
			html(http.StatusOK, "<html><body><p>Welcome! Please sign in to use this network.</p></body></html>")},
		{"10", "slow", "accepts at once, answers after 3 s", Behaviour{Accept: true, Delay: 3 * time.Second}},
		{"11", "unauthorised", "refuses our credentials (401, 20003)", Behaviour{Status: 401, Code: 20003}},
		{"12", "accept_then_stall", "accepts, sends the header of its answer, then nothing", Behaviour{Accept: true, Ending: EndStall}},
		{"13", "close", "accepts nothing and closes the connection without a byte", Behaviour{Ending: EndClose}},
		{"14", "redirect", "accepts nothing and redirects elsewhere (307)",
			Behaviour{Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"/moved"}}}},
		{"15", "undelivered", "accepts; the receipt says undelivered (30003)", with(Undelivered("30003"))},
		{"16", "receipt_first", "accepts; the receipt arrives before the answer", with(Early())},
		{"17", "receipts_mixed", "accepts; receipts come twice and out of order", with(Mixed())},
		{"18", "no_receipt", "accepts and never sends a receipt", with(ReceiptPlan{Off: true})},
		{"19", "accept_late", "never answers and accepts only after 20 s", Behaviour{Accept: true, AcceptAfter: 20 * time.Second, Ending: EndHang}},
		{"20", "opted_out", "refuses: the recipient has opted out (400, 21610)", Behaviour{Status: 400, Code: 21610}},
		{"21", "cut_json", "accepts; the answer is whole but its JSON is cut",
			Behaviour{Accept: true, Status: 201, ContentType: "application/json", Body: `{"sid":"SM0000`}},
		{"22", "accept_then_close", "accepts, then closes the connection without a byte", Behaviour{Accept: true, Ending: EndClose}},
		{"", "normal", "accepts, answers, and reports sent and delivered", Normal()},
	}
}

// Named finds a behaviour by its name.
func Named(name string) (Behaviour, bool) {
	for _, p := range Patterns() {
		if p.Name == name {
			return p.Behaviour, true
		}
	}
	return Behaviour{}, false
}

// patternOf finds what the last two digits of a number ask for.
func patternOf(to string) (Behaviour, bool) {
	for _, p := range Patterns() {
		if p.Suffix != "" && strings.HasSuffix(to, p.Suffix) {
			return p.Behaviour, true
		}
	}
	return Behaviour{}, false
}

func once(b Behaviour) Behaviour {
	b.Times = 1
	return b
}

func with(plan ReceiptPlan) Behaviour { return Behaviour{Accept: true, Receipts: plan} }

func html(status int, body string) Behaviour {
	return Behaviour{Status: status, ContentType: "text/html; charset=utf-8", Body: body}
}
