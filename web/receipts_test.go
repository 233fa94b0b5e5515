package web_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"sentonce/dispatch"
	"sentonce/web"
)

// signedReader authenticates like the providers that sign the public address and the body. Its form is "id=…&status=…".
type signedReader struct{ key string }

func (s signedReader) sign(address string, body []byte) string {
	m := hmac.New(sha256.New, []byte(s.key))
	fmt.Fprintf(m, "%s\n%s", address, body)
	return hex.EncodeToString(m.Sum(nil))
}

// ReadReceipt implements dispatch.ReceiptReader.
func (s signedReader) ReadReceipt(c dispatch.Callback) (dispatch.Report, error) {
	if !hmac.Equal([]byte(s.sign(c.URL.String(), c.Body)), []byte(c.Header.Get("X-Signature"))) {
		return dispatch.Report{}, fmt.Errorf("the signature does not fit: %w", dispatch.ErrForged)
	}
	form, err := url.ParseQuery(string(c.Body))
	if err != nil || form.Get("id") == "" {
		return dispatch.Report{}, fmt.Errorf("no id: %w", dispatch.ErrBadReceipt)
	}
	return dispatch.Report{MessageID: form.Get("id"), Status: dispatch.ReceiptStatus(form.Get("status")), Reference: c.URL.Query().Get("ref"),
		SHA256: sha256.Sum256(c.Body)}, nil
}

const receiptKey = "provider-secret-canary"

func receiptBench(t *testing.T, publicURL string) *bench {
	t.Helper()
	return newBench(t, func(d *web.Deps) {
		d.Receipts = map[string]dispatch.ReceiptReader{"main": signedReader{receiptKey}}
		if publicURL != "" {
			u, err := url.Parse(publicURL)
			if err != nil {
				t.Fatal(err)
			}
			d.PublicURL = u
		}
	})
}

// unknown makes a notification in doubt, and returns the signed reference of its attempt.
func (b *bench) unknown() (id, ref string) {
	b.t.Helper()
	a, _ := fresh()
	d := b.admit(a)
	b.start(d.ID)
	b.finish(d.ID, "")
	b.act(d.ID, func(r dispatch.Record, _ dispatch.Terms) (dispatch.Change, error) {
		ref = b.signer.Sign(r.Attempts[0].Ref(r.ID))
		return dispatch.Change{}, nil
	})
	return d.ID, ref
}

func (b *bench) state(id string) string {
	b.t.Helper()
	return b.get(id, nil).document(b.t).State
}

// receipt sends a report signed for the public address.
func (b *bench) receipt(path, body string, change func(http.Header)) answer {
	b.t.Helper()
	h := http.Header{"Content-Type": {"application/x-www-form-urlencoded"},
		"X-Signature": {signedReader{receiptKey}.sign("https://sms.example.org"+path, []byte(body))}}
	if change != nil {
		change(h)
	}
	return b.do(request{method: "POST", path: path, token: "-", body: []byte(body), header: h})
}

func TestFieldF24_ReceiptsAreAuthenticatedAgainstThePublicAddress(t *testing.T) {
	t.Parallel()
	for _, public := range []string{"https://sms.example.org/reset/api", "https://sms.example.org/reset/api/", "https://sms.example.org:443/reset/api"} {
		b := receiptBench(t, public)
		inner, err := url.Parse(b.url)
		if err != nil {
			t.Fatal(err)
		}
		proxy := httptest.NewTLSServer(http.StripPrefix("/reset/api", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(inner) // Host becomes the inner one
			r.SetXForwarded()
		}}))
		t.Cleanup(proxy.Close)
		id, ref := b.unknown()
		send := func(path, query, body, signedPath, signedQuery, signedBody string) int {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), "POST", proxy.URL+"/reset/api"+path+"?"+query, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Host = "sms.example.org:443"
			req.Header.Set("X-Forwarded-Host", "evil.example")
			req.Header.Set("X-Signature", signedReader{receiptKey}.sign(strings.TrimSuffix(public, "/")+signedPath+"?"+signedQuery, []byte(signedBody)))
			res, err := proxy.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			return res.StatusCode
		}
		const path, body = "/receipts/main", "status=delivered&id=SM1"
		query := "z=1&ref=" + ref + "&a=%2F+%7e" // neither in order nor in the form in which Go would write it
		for name, c := range map[string][6]string{
			"path":  {"/receipts/main/", query, body, path, query, body},
			"query": {path, strings.Replace(query, "z=1", "z=2", 1), body, path, query, body},
			"order": {path, "a=%2F+%7e&ref=" + ref + "&z=1", body, path, query, body},
			"body":  {path, query, body + "2", path, query, body},
		} {
			if code := send(c[0], c[1], c[2], c[3], c[4], c[5]); code != http.StatusForbidden {
				t.Errorf("%s: another %s than the signed one got %d", public, name, code)
			}
		}
		if got := b.state(id); got != "dispatch_unknown" {
			t.Errorf("%s: a refused receipt changed the state to %s", public, got)
		}
		if log := b.log.String(); !strings.Contains(log, "the signature does not fit") || strings.Contains(log, receiptKey) || strings.Contains(log, ref) {
			t.Errorf("the log must have the reason and no secret: %s", log)
		}
		if code := send(path, query, body, path, query, body); code != http.StatusNoContent {
			t.Errorf("%s: a genuine receipt got %d", public, code)
		}
		if got := b.state(id); got != "delivered" {
			t.Errorf("%s: the state is %s", public, got)
		}
		if code := send(path+"/", query, body, path+"/", query, body); code != http.StatusNoContent {
			t.Errorf("%s: a genuine receipt to an address with a slash got %d", public, code)
		}
	}
}

func TestForwardedHeadersAndHostDoNotMakeAReceiptGenuine(t *testing.T) {
	t.Parallel()
	b := receiptBench(t, "")
	body := "id=SM1&status=delivered"
	ans := b.receipt("/receipts/main", body, func(h http.Header) {
		h.Set("X-Signature", signedReader{receiptKey}.sign("https://evil.example/receipts/main", []byte(body)))
		h.Set("X-Forwarded-Host", "evil.example")
		h.Set("X-Forwarded-Proto", "https")
		h.Set("Forwarded", "host=evil.example;proto=https")
	})
	if ans.code != http.StatusForbidden || ans.problem(t).Type != "/problems/receipt-refused" {
		t.Errorf("got %d %s", ans.code, ans.body)
	}
}

func TestFieldF26_AReceiptThatComesAgainHasNoSecondEffect(t *testing.T) {
	t.Parallel()
	b := receiptBench(t, "")
	id, ref := b.unknown()
	path, odd := "/receipts/main?ref="+ref, "%73tatus=delivered&id=SM%31&&x=+"
	var documents [][]byte
	for range 5 {
		if ans := b.receipt(path, odd, nil); ans.code != http.StatusNoContent {
			t.Fatalf("got %d %s", ans.code, ans.body)
		}
		documents = append(documents, b.get(id, nil).body)
	}
	for _, d := range documents {
		if !bytes.Equal(d, documents[0]) {
			t.Errorf("a repeated receipt changed the document to %s", d)
		}
	}
	if got := b.state(id); got != "delivered" {
		t.Errorf("the state is %s", got)
	}
	metrics := string(b.do(request{method: "GET", path: "/metrics"}).body)
	for _, line := range []string{`sentonce_receipts_total{fate="matched",provider="main"} 1`, `sentonce_receipts_total{fate="repeated",provider="main"} 4`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

func TestAReceiptLearnsTheProvidersID(t *testing.T) {
	t.Parallel()
	b := receiptBench(t, "")
	id, ref := b.unknown()
	b.receipt("/receipts/main?ref="+ref, "id=SM9&status=taken", nil)
	d := b.get(id, nil).document(t)
	if d.State != "sent" || d.Attempts[0].MessageID == nil || *d.Attempts[0].MessageID != "SM9" {
		t.Errorf("got %+v", d)
	}
}

func TestAuthenticReceiptsThatNameNothingAreKept(t *testing.T) {
	t.Parallel()
	b := receiptBench(t, "")
	id, ref := b.unknown()
	forged := ref[:len(ref)-1] + "!"
	for name, path := range map[string]string{"no reference": "/receipts/main", "a bad reference": "/receipts/main?ref=" + forged} {
		if ans := b.receipt(path, "id=SMffff&status=undelivered", nil); ans.code != http.StatusNoContent {
			t.Errorf("%s: got %d %s", name, ans.code, ans.body)
		}
	}
	if got := b.state(id); got != "dispatch_unknown" {
		t.Errorf("the state is %s", got)
	}
	if log := b.log.String(); !strings.Contains(log, "reference that is not ours") || strings.Contains(log, forged) {
		t.Error("a bad reference must be in the log without its value")
	}
}

func TestReceiptsThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	b := receiptBench(t, "")
	if ans := b.receipt("/receipts/main", "status=delivered", nil); ans.code != http.StatusBadRequest || ans.problem(t).Type != "/problems/receipt-unreadable" {
		t.Errorf("unreadable: got %d %s", ans.code, ans.body)
	}
	if ans := b.receipt("/receipts/other", "id=1", nil); ans.code != http.StatusNotFound {
		t.Errorf("unknown provider: got %d", ans.code)
	}
	if ans := b.receipt("/receipts/main", "id="+strings.Repeat("x", 65<<10), nil); ans.code != http.StatusRequestEntityTooLarge {
		t.Errorf("65 KiB: got %d", ans.code)
	}
	if ans := b.receipt("/receipts/main", "id="+strings.Repeat("x", 60<<10), nil); ans.code != http.StatusNoContent {
		t.Errorf("60 KiB: got %d", ans.code)
	}
	if ans := b.do(request{method: "GET", path: "/receipts/main", invalid: true}); ans.code != http.StatusMethodNotAllowed || !strings.Contains(ans.header.Get("Allow"), "POST") {
		t.Errorf("GET: got %d, Allow %q", ans.code, ans.header.Get("Allow"))
	}
	b.store.Break(func(string) error { return dispatch.ErrUnavailable })
	if ans := b.receipt("/receipts/main", "id=1&status=taken", nil); ans.code != http.StatusServiceUnavailable || ans.header.Get("Retry-After") == "" {
		t.Errorf("a store that cannot be written: got %d", ans.code)
	}
}
