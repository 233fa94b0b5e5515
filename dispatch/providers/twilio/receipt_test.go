package twilio_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"sentonce/dispatch"
)

const receiptURL = "https://sms.example.org/shop/receipts/main?z=1&ref=ntf_0.att_0.1.mac&a=%2B2"

func wordFor(s dispatch.ReceiptStatus) string {
	return map[dispatch.ReceiptStatus]string{dispatch.ReceiptTaken: "sent", dispatch.ReceiptDelivered: "delivered", dispatch.ReceiptUndelivered: "undelivered"}[s]
}

func form(word string) url.Values {
	return url.Values{"MessageSid": {sid}, "SmsSid": {sid}, "MessageStatus": {word}, "SmsStatus": {word}, "AccountSid": {account},
		"From": {sender}, "To": {"+4915112345678"}, "ApiVersion": {"2010-04-01"}}
}

// signature is written from Twilio's description, apart from the code under test.
func signature(key, address string, f url.Values) string {
	mac := hmac.New(sha1.New, []byte(key))
	mac.Write([]byte(address))
	for _, name := range slices.Sorted(maps.Keys(f)) {
		for _, value := range slices.Sorted(maps.Keys(asSet(f[name]))) {
			mac.Write([]byte(name + value))
		}
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func asSet(list []string) map[string]bool {
	set := map[string]bool{}
	for _, v := range list {
		set[v] = true
	}
	return set
}

// posted is a call-back that arrives at address and whose signature was made for signedAs.
func posted(address, signedAs string, f url.Values) dispatch.Callback {
	u, err := url.Parse(address)
	if err != nil {
		panic(err) // a mistake in a test's own constant
	}
	h := http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=UTF-8"}}
	h.Set("X-Twilio-Signature", signature(token, signedAs, f))
	return dispatch.Callback{Method: http.MethodPost, URL: u, Header: h, Body: []byte(f.Encode())}
}

func callback(word string) dispatch.Callback { return posted(receiptURL, receiptURL, form(word)) }

func TestFieldF24_ASignatureIsCheckedAgainstThePublicURLAsItWasCalled(t *testing.T) {
	t.Parallel()
	a := adapter(t, "http://127.0.0.1:1")
	const at = "https://sms.example.org"
	for _, tt := range []struct {
		name, address, signedAs string
		authentic               bool
	}{
		{"as configured", receiptURL, receiptURL, true},
		{"signed with the scheme's port", at + "/r?b=2&a=1", at + ":443/r?b=2&a=1", true},
		{"called with the scheme's port", at + ":443/r?b=2&a=1", at + "/r?b=2&a=1", true},
		{"another port, signed with it", at + ":8443/r", at + ":8443/r", true},
		{"another port, signed without it", at + ":8443/r", at + "/r", true},
		{"plain HTTP, signed with its port", "http://sms.example.org/r", "http://sms.example.org:80/r", true},
		{"IPv6", "https://[2001:db8::1]/r", "https://[2001:db8::1]:443/r", true},
		{"trailing slash", at + "/r/", at + "/r/", true},
		{"escaped path", at + "/a%2Fb", at + "/a%2Fb", true},
		{"connection overrides behind #", at + "/r#rc=3", at + "/r", true},
		{"internal scheme", receiptURL, strings.Replace(receiptURL, "https", "http", 1), false},
		{"internal host", receiptURL, strings.Replace(receiptURL, "sms.example.org", "10.0.0.1", 1), false},
		{"another port", at + "/r", at + ":8443/r", false},
		{"query in another order", at + "/r?a=1&b=2", at + "/r?b=2&a=1", false},
		{"slash lost", at + "/r", at + "/r/", false},
	} {
		_, err := a.ReadReceipt(posted(tt.address, tt.signedAs, form("delivered")))
		if (err == nil) != tt.authentic || err != nil && !errors.Is(err, dispatch.ErrForged) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestAReportIsReadForWhatItSays(t *testing.T) {
	t.Parallel()
	a := adapter(t, "http://127.0.0.1:1")
	words := map[string]dispatch.ReceiptStatus{
		"queued": dispatch.ReceiptTaken, "accepted": dispatch.ReceiptTaken, "scheduled": dispatch.ReceiptTaken, "sending": dispatch.ReceiptTaken,
		"sent": dispatch.ReceiptTaken, "receiving": dispatch.ReceiptTaken, "delivered": dispatch.ReceiptDelivered, "read": dispatch.ReceiptDelivered,
		"undelivered": dispatch.ReceiptUndelivered, "failed": dispatch.ReceiptUndelivered, "canceled": dispatch.ReceiptUndelivered,
		"partially_delivered": dispatch.ReceiptUndelivered,
	}
	for word, status := range words {
		f := form(word)
		f.Set("ErrorCode", "30005")
		c := posted(receiptURL, receiptURL, f)
		want := dispatch.Report{MessageID: sid, Status: status, Raw: word, Code: "30005", Reference: "ntf_0.att_0.1.mac", SHA256: sha256.Sum256(c.Body)}
		if r, err := a.ReadReceipt(c); err != nil || r != want {
			t.Errorf("%s: %+v, %v", word, r, err)
		}
	}
	old := form("delivered")
	old.Del("MessageSid")
	old.Del("MessageStatus")
	if r, err := a.ReadReceipt(posted(receiptURL, receiptURL, old)); err != nil || r.MessageID != sid || r.Status != dispatch.ReceiptDelivered {
		t.Errorf("the older names: %+v, %v", r, err)
	}
	doubled := form("delivered")
	doubled["AddOns"] = []string{"b", "a", "b"}
	if _, err := a.ReadReceipt(posted(receiptURL, receiptURL, doubled)); err != nil {
		t.Errorf("a name with several values: %v", err)
	}
}

func TestAReportThatCannotBeUnderstoodOrBelievedIsToldApart(t *testing.T) {
	t.Parallel()
	a := adapter(t, "http://127.0.0.1:1")
	for name, tt := range map[string]struct {
		change func(url.Values)
		want   error
	}{
		"a word that nobody documents": {func(f url.Values) { f.Set("MessageStatus", "exploded") }, dispatch.ErrBadReceipt},
		"no word":                      {func(f url.Values) { f.Del("MessageStatus"); f.Del("SmsStatus") }, dispatch.ErrBadReceipt},
		"no id":                        {func(f url.Values) { f.Del("MessageSid"); f.Del("SmsSid") }, dispatch.ErrBadReceipt},
		"an id of something else":      {func(f url.Values) { f.Set("MessageSid", "CA"+sid[2:]) }, dispatch.ErrBadReceipt},
		"two ids":                      {func(f url.Values) { f["MessageSid"] = []string{sid, "SM" + strings.Repeat("0", 32)} }, dispatch.ErrBadReceipt},
		"another account":              {func(f url.Values) { f.Set("AccountSid", "AC1") }, dispatch.ErrForged},
		"no account":                   {func(f url.Values) { f.Del("AccountSid") }, dispatch.ErrForged},
	} {
		f := form("delivered")
		tt.change(f)
		_, err := a.ReadReceipt(posted(receiptURL, receiptURL, f))
		if !errors.Is(err, tt.want) || strings.Contains(err.Error(), "4915112345678") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, value := range map[string]string{
		"missing": "", "not base64": "!!!!", "cut": signature(token, receiptURL, form("delivered"))[:20], "zero": base64.StdEncoding.EncodeToString(make([]byte, 20)),
		"another key": signature("another key", receiptURL, form("delivered")),
		"sha256":      base64.StdEncoding.EncodeToString(make([]byte, 32)),
	} {
		c := callback("delivered")
		c.Header.Set("X-Twilio-Signature", value)
		if _, err := a.ReadReceipt(c); !errors.Is(err, dispatch.ErrForged) {
			t.Errorf("signature %s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*dispatch.Callback){
		"by GET":         func(c *dispatch.Callback) { c.Method = http.MethodGet },
		"malformed form": func(c *dispatch.Callback) { c.Body = append(c.Body, "&%zz=1"...) },
		"no URL":         func(c *dispatch.Callback) { c.URL = nil },
	} {
		c := callback("delivered")
		change(&c)
		if _, err := a.ReadReceipt(c); !errors.Is(err, dispatch.ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFieldF26_TheReceivedBytesAreSignedNotARewrittenBody: odd spelling of a genuine form or JSON body changes nothing.
func TestFieldF26_TheReceivedBytesAreSignedNotARewrittenBody(t *testing.T) {
	t.Parallel()
	a := adapter(t, "http://127.0.0.1:1")
	odd := callback("delivered")
	odd.Body = []byte(strings.ReplaceAll(string(odd.Body), "delivered", "%64elivered"))
	if _, err := a.ReadReceipt(odd); err != nil {
		t.Errorf("a form with needless escapes: %v", err)
	}
	body := `{ "MessageStatus" : "deliver\u0065d",  "MessageSid":"` + sid + `", "AccountSid":"` + account + `", "n": 1 }`
	sum := sha256.Sum256([]byte(body))
	address := receiptURL + "&bodySHA256=" + hex.EncodeToString(sum[:])
	c := posted(address, address, nil)
	c.Header.Set("Content-Type", "application/json")
	c.Body = []byte(body)
	if r, err := a.ReadReceipt(c); err != nil || r.Status != dispatch.ReceiptDelivered {
		t.Errorf("a JSON body: %+v, %v", r, err)
	}
	c.Body = []byte(strings.Replace(body, "  ", " ", 1))
	if _, err := a.ReadReceipt(c); !errors.Is(err, dispatch.ErrForged) {
		t.Errorf("a rewritten JSON body: %v", err)
	}
	c.Body = []byte(body)
	c.URL, _ = url.Parse(receiptURL)
	c.Header.Set("X-Twilio-Signature", signature(token, receiptURL, nil))
	if _, err := a.ReadReceipt(c); !errors.Is(err, dispatch.ErrForged) {
		t.Errorf("a JSON body that no signature covers: %v", err)
	}
}
