package sim

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Forgery is how a receipt fails to be authentic.
type Forgery string

const (
	Honest        Forgery = ""               // signed with the account's token
	ForgeMissing  Forgery = "missing"        // no signature
	ForgeZero     Forgery = "zero"           // twenty zero bytes
	ForgeGarbage  Forgery = "garbage"        // not base64
	ForgeOtherKey Forgery = "other_key"      // signed with another token
	ForgeBody     Forgery = "body_changed"   // the body was changed after signing
	ForgeQuery    Forgery = "query_changed"  // the query was changed after signing
	ForgeBodyOnly Forgery = "body_only_sign" // the signature leaves the URL out
)

// Forgeries lists every way to forge, without Honest.
func Forgeries() []Forgery {
	return []Forgery{ForgeMissing, ForgeZero, ForgeGarbage, ForgeOtherKey, ForgeBody, ForgeQuery, ForgeBodyOnly}
}

// ReceiptOptions change one call-back; the zero value is an honest one to the message's own StatusCallback.
type ReceiptOptions struct {
	ErrorCode string
	Extra     url.Values // further or other members of the form
	PostURL   string     // where to post instead of the message's StatusCallback
	SignedURL string     // the URL that the signature covers; "" means the one posted to
	Host      string     // the Host header; "" means the URL's
	Forgery   Forgery
}

// Twilio's limits for call-backs: 5 s to connect, 15 s in all, one retry when the connection fails
// (https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides).
const (
	connectTimeout = 5 * time.Second
	totalTimeout   = 15 * time.Second
	callbackTries  = 2
)

var errNotLoopback = errors.New("receipts go to loopback addresses only")

// ErrNoCallback means that the message was sent without a StatusCallback.
var ErrNoCallback = errors.New("the message has no StatusCallback")

// newReceiptClient posts call-backs: no proxy, no redirects, and only to loopback unless the options allow more. The check is made on
// the address that is dialled, so that no name can lead elsewhere.
func newReceiptClient(opt Options) *http.Client {
	dialer := &net.Dialer{Timeout: connectTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("address to dial: %w", err)
		}
		if !opt.AllowRemote && !to.Addr().Unmap().IsLoopback() {
			return errNotLoopback
		}
		return nil
	}}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxConnsPerHost: 16, MaxIdleConnsPerHost: 16,
			TLSClientConfig: &tls.Config{RootCAs: opt.RootCAs, MinVersion: tls.VersionTLS12}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// report runs a message's plan to its end.
func (s *Server) report(m Message, plan ReceiptPlan) {
	for _, step := range plan.Steps {
		if pause(s.ctx, s.clock, step.After) != nil {
			return
		}
		s.book.advance(m.SID, step.Status, step.ErrorCode, s.clock.Now())
		if plan.Off || m.Callback == "" {
			continue
		}
		s.postWithRetry(m, step)
	}
}

// postWithRetry tries a planned call-back again when the connection failed, as Twilio does. What came of each try is in the ledger.
func (s *Server) postWithRetry(m Message, step ReceiptStep) {
	ctx, cancel := context.WithTimeout(s.ctx, totalTimeout)
	defer cancel()
	for range callbackTries {
		_, err := s.postReceipt(ctx, m, step.Status, ReceiptOptions{ErrorCode: step.ErrorCode, Forgery: step.Forgery})
		if err == nil || ctx.Err() != nil || errors.Is(err, errNotLoopback) {
			return
		}
		s.opt.Logger.Warn("a receipt was not taken", "sid", m.SID, "status", step.Status)
	}
}

// SendReceipt posts one call-back for an accepted message now, without a retry, and returns the receiver's HTTP status. The message's own
// status moves on as far as the report is honest. The error says why there was no answer.
func (s *Server) SendReceipt(ctx context.Context, sid, status string, opt ReceiptOptions) (int, error) {
	if !s.begin() {
		return 0, ErrClosed
	}
	defer s.life.tasks.Done()
	m, ok := s.book.find(sid)
	if !ok || status == "" {
		return 0, fmt.Errorf("message %q, status %q: %w", sid, status, ErrInvalid)
	}
	if opt.Forgery != Honest && !slices.Contains(Forgeries(), opt.Forgery) {
		return 0, fmt.Errorf("forgery %q: %w", opt.Forgery, ErrInvalid)
	}
	ctx, cancel := context.WithTimeout(ctx, totalTimeout)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if opt.Forgery == Honest {
		s.book.advance(sid, status, opt.ErrorCode, s.clock.Now())
	}
	return s.postReceipt(ctx, m, status, opt)
}

// postReceipt makes one call-back and notes it in the ledger.
func (s *Server) postReceipt(ctx context.Context, m Message, status string, opt ReceiptOptions) (int, error) {
	code, err := s.exchangeReceipt(ctx, m, status, opt)
	s.book.receipt(m.SID, ReceiptSent{At: s.clock.Now(), Status: status, HTTP: code, Err: err})
	return code, err
}

func (s *Server) exchangeReceipt(ctx context.Context, m Message, status string, opt ReceiptOptions) (int, error) {
	req, err := s.receiptRequest(ctx, m, status, opt)
	if err != nil {
		return 0, err
	}
	res, err := s.post.Do(req)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) {
			err = of.Err // the URL holds a signed reference and is nobody's business in a log
		}
		return 0, fmt.Errorf("receipt: %w", err)
	}
	_, err = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20))
	if err = closing(res.Body, err); err != nil {
		return res.StatusCode, fmt.Errorf("receipt's answer: %w", err)
	}
	return res.StatusCode, nil
}

func (s *Server) receiptRequest(ctx context.Context, m Message, status string, opt ReceiptOptions) (*http.Request, error) {
	target := m.Callback
	if opt.PostURL != "" {
		target = opt.PostURL
	}
	if target == "" {
		return nil, ErrNoCallback
	}
	target, _, _ = strings.Cut(target, "#") // the fragment carries Twilio's connection overrides and is not sent
	signed := target
	if opt.SignedURL != "" {
		signed = opt.SignedURL
	}
	form := s.receiptForm(m, status, opt)
	signature := s.signature(signed, form, opt.Forgery)
	switch opt.Forgery {
	case ForgeBody:
		form.Set("To", form.Get("To")+"0")
	case ForgeQuery:
		target = changedQuery(target)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("receipt: the StatusCallback is not a URL: %w", ErrInvalid)
	}
	// One exchange a try: without GetBody the transport cannot send it again by itself.
	req.GetBody = nil
	req.Host = opt.Host
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8")
	req.Header.Set("User-Agent", "TwilioProxy/1.1")
	if opt.Forgery != ForgeMissing {
		req.Header.Set("X-Twilio-Signature", signature)
	}
	return req, nil
}

func (s *Server) receiptForm(m Message, status string, opt ReceiptOptions) url.Values {
	form := url.Values{"MessageSid": {m.SID}, "SmsSid": {m.SID}, "MessageStatus": {status}, "SmsStatus": {status}, "To": {m.To},
		"From": {m.From}, "AccountSid": {s.opt.AccountSID}, "ApiVersion": {"2010-04-01"}}
	if m.ServiceSID != "" {
		form.Set("MessagingServiceSid", m.ServiceSID)
	}
	if opt.ErrorCode != "" {
		form.Set("ErrorCode", opt.ErrorCode)
	}
	if status == "delivered" {
		form.Set("RawDlrDoneDate", s.clock.Now().UTC().Format("0601021504"))
	}
	maps.Copy(form, opt.Extra)
	return form
}

func (s *Server) signature(target string, form url.Values, forgery Forgery) string {
	switch forgery {
	case ForgeZero:
		return base64.StdEncoding.EncodeToString(make([]byte, sha1.Size))
	case ForgeGarbage:
		return "%%% not base64 %%%"
	case ForgeOtherKey:
		return Sign(s.opt.AuthToken+"x", target, form)
	case ForgeBodyOnly:
		return Sign(s.opt.AuthToken, "", form)
	}
	return Sign(s.opt.AuthToken, target, form)
}

// Sign is X-Twilio-Signature of a form post: base64 of HMAC-SHA1, keyed with the account's token, over the whole URL and then each
// member's name and value in the order of the names (https://www.twilio.com/docs/usage/security).
func Sign(token, target string, form url.Values) string {
	mac := hmac.New(sha1.New, []byte(token))
	io.WriteString(mac, target) // a hash never fails to write
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, value := range form[name] {
			io.WriteString(mac, name+value)
		}
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func changedQuery(target string) string {
	if strings.Contains(target, "?") {
		return target + "&changed=1"
	}
	return target + "?changed=1"
}
