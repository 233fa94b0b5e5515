package systemtest

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"sentonce/cmd/fakesms/sim"
)

// report posts an authentic delivery report about the message to a number, and wants it taken.
func (s *site) report(t *testing.T, number, status, code string) {
	t.Helper()
	got, err := s.sim.SendReceipt(t.Context(), s.sim.Ledger(number)[0].SID, status, sim.ReceiptOptions{ErrorCode: code})
	if err != nil || got/100 != 2 {
		t.Errorf("a report %s is answered with %d, %v", status, got, err)
	}
}

// path is the sequence of states that the audit log has for the notification of an event.
func (s *site) path(t *testing.T, a admission) string {
	t.Helper()
	return s.ask(t, `SELECT group_concat(to_state) FROM (SELECT to_state FROM events WHERE to_state IS NOT NULL AND notification =
		(SELECT id FROM notifications WHERE event_id = ?) ORDER BY seq)`, a.EventID)
}

func TestFieldF20_AReportBeforeTheAnswerIsNeitherLostNorUndone(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{timeout: "10s"})
	s.sim.Hide(true)
	s.start(t)
	early := sim.ReceiptPlan{BeforeAnswer: true, Steps: []sim.ReceiptStep{{Status: "delivered"}}}
	for name, c := range map[string]struct {
		ending sim.Ending
		rule   string
	}{"and the answer comes": {sim.EndAnswer, "R3"}, "and the answer never comes": {sim.EndReset, "R6"}} {
		a := s.fresh(5 * time.Minute)
		s.script(t, a.Recipient, sim.Behaviour{Accept: true, Ending: c.ending, Receipts: early})
		id := s.admit(t, a)
		s.reach(t, id, "delivered")
		d := s.await(t, id, "finished", func(d document) bool { return d.Attempts[0].Rule != "" })
		if only(t, d, "accepted", c.rule); d.State != "delivered" || !d.Final || d.Incident != nil {
			t.Errorf("%s: %s, incident %v", name, d.State, d.Incident)
		}
		if got := s.path(t, a); got != "accepted,dispatching,delivered" {
			t.Errorf("%s: it went %s", name, got)
		}
		for _, r := range s.sim.Ledger(a.Recipient)[0].Receipts {
			if r.HTTP/100 != 2 {
				t.Errorf("%s: the report was answered with %d, %v", name, r.HTTP, r.Err)
			}
		}
		if got := s.ask(t, `SELECT count(*) FROM receipts WHERE notification = (SELECT id FROM notifications WHERE event_id = ?)`, a.EventID); got != "1" {
			t.Errorf("%s: it is on record %s times", name, got)
		}
		s.wantCalls(t, a.Recipient, 1, 1)
	}
	s.audit(t)
}

func TestFieldF21_F23_ReportsInEveryOrderEndTheSame(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	s.start(t)
	for _, c := range []struct {
		reports []string // a failed part carries its code
		end     string
	}{
		{[]string{"delivered", "sent", "queued"}, "delivered"},
		{[]string{"failed/30003", "sent", "queued"}, "undelivered"},
		{[]string{"undelivered/30005", "delivered", "delivered"}, "undelivered"},
		{[]string{"undelivered/30005", "delivered", "sent"}, "undelivered"},
	} {
		for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			a := s.fresh(5 * time.Minute)
			id := s.admit(t, a)
			s.reach(t, id, "sent")
			code := ""
			for _, i := range append(order, order...) { // and each of them again
				status, failed, _ := strings.Cut(c.reports[i], "/")
				s.report(t, a.Recipient, status, failed)
				code += failed
			}
			d := s.status(t, id)
			if d.State != c.end || !d.Final || d.Incident != nil {
				t.Errorf("%v in the order %v: %s, final %t, incident %v", c.reports, order, d.State, d.Final, d.Incident)
			}
			got := s.ask(t, `SELECT coalesce(receipt_code, '') FROM attempts WHERE notification = (SELECT id FROM notifications WHERE event_id = ?)`, a.EventID)
			if c.end == "undelivered" && !strings.Contains(c.reports[0], got) || c.end == "delivered" && got != "" {
				t.Errorf("%v in the order %v: the code is %q", c.reports, order, got)
			}
			distinct := fmt.Sprint(len(slices.Compact(slices.Sorted(slices.Values(c.reports))))) // what is repeated within a minute is kept once
			if n := s.ask(t, `SELECT count(DISTINCT raw || code) FROM receipts WHERE notification = (SELECT id FROM notifications WHERE event_id = ?)`, a.EventID); n != distinct {
				t.Errorf("%v: %s different reports are kept", c.reports, n)
			}
		}
	}
	s.audit(t)
}

// tlsFront is a proxy that ends TLS and takes a path prefix away, as operators have it.
func tlsFront(t *testing.T, prefix string) (address string, roots *x509.CertPool, to *url.URL) {
	t.Helper()
	to = &url.URL{Scheme: "http"}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, prefix)
		r.Out.URL.RawPath = ""
		r.Out.URL.RawQuery = r.In.URL.RawQuery
		r.SetXForwarded()
	}}
	front := httptest.NewTLSServer(proxy)
	t.Cleanup(front.Close)
	roots = x509.NewCertPool()
	roots.AddCert(front.Certificate())
	return front.URL + prefix, roots, to
}

func TestFieldF24_ReportsAreVerifiedAgainstThePublicAddressBehindATLSProxy(t *testing.T) {
	t.Parallel()
	public, roots, to := tlsFront(t, "/sms")
	s := newSite(t, layout{public: public, roots: roots})
	to.Host = s.listen
	p := s.start(t)
	a := s.fresh(5 * time.Minute)
	id := s.admit(t, a)
	s.reach(t, id, "sent")
	m := s.sim.Ledger(a.Recipient)[0]
	if !strings.HasPrefix(m.Callback, public+"/receipts/main?") {
		t.Fatalf("the provider was told to report to %s", m.Callback)
	}
	path, query, _ := strings.Cut(m.Callback, "?")
	address := strings.TrimPrefix(public, "https://")
	for name, opt := range map[string]sim.ReceiptOptions{
		"a changed path":           {SignedURL: path + "x?" + query},
		"a changed query":          {Forgery: sim.ForgeQuery},
		"a changed body":           {Forgery: sim.ForgeBody},
		"another key":              {Forgery: sim.ForgeOtherKey},
		"no signature":             {Forgery: sim.ForgeMissing},
		"signed for http":          {SignedURL: strings.Replace(m.Callback, "https://", "http://", 1)},
		"signed for the inside":    {SignedURL: "http://" + s.listen + "/receipts/main?" + query},
		"another host":             {SignedURL: strings.Replace(m.Callback, "127.0.0.1", "sms.example.org", 1), Host: "sms.example.org"},
		"around the proxy, forged": {PostURL: "http://" + s.listen + "/receipts/main?" + query},
	} {
		if code, err := s.sim.SendReceipt(t.Context(), m.SID, "undelivered", opt); err != nil || code != http.StatusForbidden {
			t.Errorf("%s: answered with %d, %v", name, code, err)
		}
	}
	if d := s.status(t, id); d.State != "sent" {
		t.Errorf("a forged report made it %s", d.State)
	}
	for name, opt := range map[string]sim.ReceiptOptions{
		"as given":                  {},
		"members out of order":      {PostURL: path + "?z=1&" + query + "&b=%20x&a=1"},
		"with a port in Host":       {Host: strings.Split(address, ":")[0] + ":443"},
		"with a slash at the end":   {PostURL: path + "/?" + query},
		"without the reference":     {PostURL: path},
		"with a member of tomorrow": {Extra: url.Values{"Brand-New": {"ä+b c"}}},
	} {
		if code, err := s.sim.SendReceipt(t.Context(), m.SID, "delivered", opt); err != nil || code/100 != 2 {
			t.Errorf("%s: answered with %d, %v", name, code, err)
		}
	}
	s.reach(t, id, "delivered")
	if log := p.log.String(); !strings.Contains(log, "signature") || strings.Contains(log, sim.DefaultAuthToken) || strings.Contains(log, query) {
		t.Error("the log does not have the reason of a refusal, or has a secret")
	}
	s.audit(t)
}

func TestFieldF26_ACapturedReportHasNoSecondEffect(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	s.start(t)
	a := s.fresh(5 * time.Minute)
	id := s.admit(t, a)
	s.reach(t, id, "sent")
	s.report(t, a.Recipient, "delivered", "")
	before := s.status(t, id)
	for range 5 {
		s.report(t, a.Recipient, "delivered", "")
	}
	if after := s.status(t, id); after.Version != before.Version || after.State != "delivered" {
		t.Errorf("repetitions took it from %+v to %+v", before, after)
	}
	s.wantCalls(t, a.Recipient, 1, 1)
	s.audit(t)
}
