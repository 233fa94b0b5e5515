package sim

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// ask makes one request to the control interface; change may alter it.
func ask(ctx context.Context, t *testing.T, method, target, kind, body string, change ...func(*http.Request)) seen {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	for _, f := range change {
		f(req)
	}
	return do(newClient(t), req)
}

const (
	asJSON = "application/json"
	asForm = "application/x-www-form-urlencoded"
)

func TestTheProviderCanBeBrokenAndMendedThroughTheControlInterface(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := startServer(t, Options{Receipts: ReceiptPlan{Off: true}})
	admin := s.ControlURL() + "/admin/"
	for _, m := range Modes() {
		if got := ask(ctx, t, "POST", admin+"mode", asForm, url.Values{"mode": {string(m)}}.Encode()); got.status != http.StatusSeeOther ||
			got.header.Get("Location") != s.ControlURL()+"/" || s.Mode() != m {
			t.Errorf("%s: %+v, mode %s", m, got, s.Mode())
		}
	}
	if got := ask(ctx, t, "GET", s.ControlURL(), "", ""); got.status != 200 || !strings.Contains(got.body, "connections are refused") {
		t.Errorf("the page while down: %d", got.status)
	}
	if got := ask(ctx, t, "POST", admin+"mode", asJSON, `{"mode":"normal"}`); got.status != 200 || strings.TrimSpace(got.body) != `{"mode":"normal"}` {
		t.Errorf("mend: %+v", got)
	}
	if got := sendForm(ctx, newClient(t), s, formTo(plainNumber)); got.status != 201 {
		t.Errorf("after all: %+v", got)
	}
}

func TestTheProvidersOwnPortAnswersBeforeItCloses(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	for _, body := range []struct{ kind, text string }{{asJSON, `{"mode":"down"}`}, {asForm, "mode=down"}} {
		s := startServer(t, Options{})
		got := ask(ctx, t, "POST", s.BaseURL()+"/admin/mode", body.kind, body.text)
		if got.err != nil || got.status >= 400 {
			t.Errorf("%s: %+v", body.kind, got)
		}
		for s.Mode() != ModeDown { // each turn is a request over the network; the context bounds them
			if ctx.Err() != nil {
				t.Fatal("the port stays open")
			}
			ask(ctx, t, "GET", s.ControlURL()+"/admin/ledger", "", "")
		}
	}
}

func TestANumberCanBeScriptedAndFreed(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := startServer(t, Options{})
	target := s.BaseURL() + "/admin/script"
	for _, test := range []struct {
		kind, body string
		want       int
	}{
		{asForm, url.Values{"to": {plainNumber}, "behaviour": {"opted_out"}, "times": {""}, "delay": {""}}.Encode(), 400},
		{asForm, url.Values{"to": {plainNumber}, "clear": {"1"}}.Encode(), 201},
		{asJSON, `{"to":"` + plainNumber + `","status":503,"body":"busy","content_type":"text/plain","accept":false,"header":{"retry-after":"9"},"times":1}`, 503},
		{asJSON, `{"to":"` + plainNumber + `","behaviour":"refuse","delay":"1ms"}`, 400},
	} {
		if got := ask(ctx, t, "POST", target, test.kind, test.body); got.status != 200 && got.status != http.StatusSeeOther {
			t.Fatalf("%s: %+v", test.body, got)
		}
		got := sendForm(ctx, newClient(t), s, formTo(plainNumber))
		if got.status != test.want || test.want == 503 && (got.header.Get("Retry-After") != "9" || got.body != "busy") {
			t.Errorf("%s: %+v", test.body, got)
		}
	}
}

func TestNonsenseToTheControlInterfaceChangesNothing(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := startServer(t, Options{})
	for _, test := range []struct{ route, kind, body string }{
		{"script", asJSON, `{"to":""}`},
		{"script", asJSON, `{"to":"+1","behaviour":"explode"}`},
		{"script", asJSON, `{"to":"+1","times":-1}`},
		{"script", asJSON, `{"to":"+1"} {}`},
		{"script", asJSON, `{"to":"+1","colour":"red"}`},
		{"script", asJSON, `{"to":"+1","delay":"-1s"}`},
		{"script", asForm, "to=%2B1&times=many"},
		{"script", "text/plain", `{"to":"+1"}`},
		{"mode", asJSON, `{"mode":"sideways"}`},
		{"list", asJSON, `{"lag":"soon"}`},
		{"receipts", asJSON, `{"sid":"SM1","report":"sent"}`},
	} {
		if got := ask(ctx, t, "POST", s.ControlURL()+"/admin/"+test.route, test.kind, test.body); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%v: %+v", test, got)
		}
	}
	if s.Mode() != ModeNormal || len(s.rules.scripted()) != 0 {
		t.Errorf("mode %s, scripts %v", s.Mode(), s.rules.scripted())
	}
}

func TestOtherSitesAndReadsChangeNothing(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := startServer(t, Options{})
	for name, test := range map[string]struct {
		method string
		change func(*http.Request)
		want   int
	}{
		"another site's form":  {"POST", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
		"another origin":       {"POST", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, http.StatusForbidden},
		"a name that rebinds":  {"POST", func(r *http.Request) { r.Host = "evil.example" }, http.StatusMisdirectedRequest},
		"a read with a change": {"GET", func(*http.Request) {}, http.StatusMethodNotAllowed},
	} {
		for _, base := range []string{s.BaseURL(), s.ControlURL()} {
			got := ask(ctx, t, test.method, base+"/admin/mode?mode=slow", asForm, "mode=slow", test.change)
			if got.status != test.want || s.Mode() != ModeNormal {
				t.Errorf("%s at %s: %+v, mode %s", name, base, got, s.Mode())
			}
		}
	}
	for _, host := range []string{"localhost:9098", "[::1]:9098", "127.0.0.1"} {
		if got := ask(ctx, t, "GET", s.ControlURL(), "", "", func(r *http.Request) { r.Host = host }); got.status != 200 {
			t.Errorf("%s: %+v", host, got.status)
		}
	}
}

func TestTheLedgerIsReadNewestFirstWithItsReceipts(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := startServer(t, Options{Receipts: ReceiptPlan{Off: true}, Clock: newManualClock()})
	callbackURL, got := receiver(t, http.StatusNoContent)
	sendWithCallback(ctx, t, s, callbackURL)
	sendForm(ctx, newClient(t), s, formTo("+4915112345679"))
	sid := s.Ledger(plainNumber)[0].SID
	answer := ask(ctx, t, "POST", s.ControlURL()+"/admin/receipts", asJSON, `{"sid":"`+sid+`","report":"undelivered","error_code":"30005"}`)
	if strings.TrimSpace(answer.body) != `{"http_status":204}` {
		t.Errorf("receipt: %+v", answer)
	}
	if c := next(ctx, t, got); c.form.Get("ErrorCode") != "30005" {
		t.Errorf("form %v", c.form)
	}
	var all, one, capped ledgerAnswer
	ask(ctx, t, "GET", s.ControlURL()+"/admin/ledger", "", "").decode(t, &all)
	ask(ctx, t, "GET", s.ControlURL()+"/admin/ledger?limit=1", "", "").decode(t, &capped)
	ask(ctx, t, "GET", s.BaseURL()+"/admin/ledger?to="+plainNumber, "", "").decode(t, &one)
	if all.Accepted != 2 || len(all.Messages) != 2 || all.Messages[1].SID != sid || len(capped.Messages) != 1 {
		t.Errorf("ledger %+v", all)
	}
	if len(one.Messages) != 1 || one.SentTo != 1 || one.Messages[0].Status != "undelivered" || one.Messages[0].Receipts[0].HTTP != 204 {
		t.Errorf("one number %+v", one)
	}
}

func TestThePageEscapesWhatMessagesSay(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := startServer(t, Options{})
	form := formTo(plainNumber)
	form.Set("Body", `<script>alert(1)</script>`)
	sendForm(ctx, newClient(t), s, form)
	got := ask(ctx, t, "GET", s.ControlURL(), "", "")
	if strings.Contains(got.body, "<script") || !strings.Contains(got.body, "&lt;script&gt;") {
		t.Error("the text is not escaped")
	}
	if csp := got.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(got.body, "style=") {
		t.Errorf("policy %q", csp)
	}
	if css := ask(ctx, t, "GET", s.ControlURL()+"/control.css", "", ""); css.status != 200 {
		t.Errorf("style sheet: %+v", css)
	}
	if home := ask(ctx, t, "GET", s.BaseURL()+"/", "", ""); home.header.Get("Location") != s.ControlURL()+"/" {
		t.Errorf("the provider's root leads to %q", home.header.Get("Location"))
	}
}

func TestReleaseAndListAreCommandsToo(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := startServer(t, Options{})
	to := "+4915112345601"
	answered := make(chan seen, 1)
	go func() { answered <- sendForm(ctx, newClient(t), s, formTo(to)) }()
	if err := s.WaitHeld(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if got := ask(ctx, t, "POST", s.ControlURL()+"/admin/release", asJSON, `{}`); strings.TrimSpace(got.body) != `{"released":1}` {
		t.Errorf("release: %+v", got)
	}
	if got := <-answered; got.status != 201 {
		t.Errorf("answer %+v", got)
	}
	ask(ctx, t, "POST", s.ControlURL()+"/admin/list", asForm, "lag=90&hide=1")
	if lag, hidden := s.rules.visibility(); lag.Seconds() != 90 || !hidden {
		t.Errorf("lag %v, hidden %t", lag, hidden)
	}
}
