package twilio

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sentonce/dispatch"
	"sentonce/dispatch/providers/wire"
)

// maxText is the longest text, in characters: https://www.twilio.com/docs/api/errors/21617.
const maxText = 1600

// maxWait caps what a Retry-After can ask for. Longer than any message here lives, and short enough that a mistaken answer does not silence
// a provider for a day.
const maxWait = time.Hour

// Send makes one call to create a message.
func (a *Adapter) Send(ctx context.Context, m dispatch.Message) dispatch.Exchange {
	req, err := a.build(m)
	if err != nil {
		return dispatch.Exchange{Phase: dispatch.PhaseNone, Err: err}
	}
	r := a.sends.Exchange(ctx, req, m.BeforeFirstByte)
	if r.Err != nil {
		return dispatch.Exchange{Phase: r.Phase, Err: r.Err}
	}
	return dispatch.Exchange{Phase: r.Phase, Answer: a.read(r)}
}

func (a *Adapter) build(m dispatch.Message) (*http.Request, error) {
	text, to := m.Text.Reveal(), m.Recipient.Reveal()
	validity := min(m.Validity, maxValidity) / time.Second
	switch {
	case !isE164(to):
		return nil, fmt.Errorf("the recipient is not an E.164 number: %w", dispatch.ErrUnbuildable)
	case text == "" || !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxText:
		return nil, fmt.Errorf("the text is empty, not UTF-8, or longer than %d characters: %w", maxText, dispatch.ErrUnbuildable)
	case validity < 1:
		return nil, fmt.Errorf("less than %v to live: %w", minValidity, dispatch.ErrUnbuildable)
	}
	form := url.Values{"To": {to}, "Body": {text}, "ValidityPeriod": {strconv.FormatInt(int64(validity), 10)}}
	if a.config.MessagingServiceSID != "" {
		form.Set("MessagingServiceSid", a.config.MessagingServiceSID)
	} else {
		form.Set("From", a.config.From)
	}
	if m.ReceiptURL != "" {
		form.Set("StatusCallback", m.ReceiptURL)
	}
	req, err := wire.NewRequest(http.MethodPost, a.messages.String()+".json", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a.authorise(req)
	return req, nil
}

// read reduces an answer to what may be kept. Nothing in an answer can make it panic or claim more than it says; the recover is for the
// mistake that nobody has thought of, because a panic here would leave a message that was sent without a record of it.
func (a *Adapter) read(r wire.Result) (answer dispatch.Answer) {
	answer = dispatch.Answer{
		Meaning:    dispatch.MeaningForeign,
		HTTPStatus: r.Status,
		RequestID:  clean(r.Header.Get("Twilio-Request-Id"), 128),
		SHA256:     sha256.Sum256(r.Body),
	}
	plain := answer
	defer func() {
		if recover() != nil {
			answer = plain
		}
	}()
	o, ok := parseObject(r.Body)
	switch {
	case !ok:
	case r.Status == http.StatusCreated:
		a.readTaken(o, &answer)
	case r.Status >= 400:
		a.readRefusal(o, r, &answer)
	}
	return answer
}

// readTaken: 201 is the only documented success (twilio-oai, twilio_api_v2010, CreateMessage). A 200 with a message in it is somebody else's
// answer, e.g. a cache's or a gateway's, and stays unknown until a lookup or a report shows the message.
func (a *Adapter) readTaken(o object, answer *dispatch.Answer) {
	sid, _ := o.text("sid")
	account, named := o.text("account_sid")
	if !isSID(sid) || o.has("account_sid") && !(named && account == a.config.AccountSID) {
		return
	}
	answer.Meaning, answer.MessageID = dispatch.MeaningTaken, sid
}

// readRefusal reads Twilio's error shape: code, message and the status again. The message is not kept: it quotes the number.
func (a *Adapter) readRefusal(o object, r wire.Result, answer *dispatch.Answer) {
	code, hasCode := o.number("code")
	_, hasMessage := o.text("message")
	status, hasStatus := o.number("status")
	if !hasCode || !hasMessage || code < 10000 || code > 99999 || o.has("status") && !(hasStatus && status == r.Status) {
		return
	}
	answer.Code = strconv.Itoa(code)
	answer.Meaning = meaning(r.Status, code)
	if answer.Meaning == dispatch.MeaningTryLater || answer.Meaning == dispatch.MeaningAccountRefusing {
		answer.RetryAfter = retryAfter(r.Header, a.config.Now())
	}
}

// meaning decides what an error of Twilio's own shape says.
//
// A listed code decides by its class. For an unlisted one the status must be documented: Twilio refuses a request with 400 and a code of the
// REST range (20000 to 21999), before a message exists; so such an answer proves that nothing was created, and not knowing the reason only
// means that another provider may still take it. 401 and 403 refuse us, 429 is documented as never processed. Everything else (408, 409,
// delivery codes inside a 400, …) is an answer that Twilio does not document for this call, and proves nothing.
func meaning(status, code int) dispatch.Meaning {
	listed, known := lookUp(code)
	switch {
	case status > 499 || status == http.StatusRequestTimeout:
		return dispatch.MeaningForeign
	case status == http.StatusTooManyRequests:
		if known && listed.Class != forNow && listed.Class != forTheAccount {
			return dispatch.MeaningForeign // the code contradicts the status
		}
		if known {
			return listed.Class
		}
		return dispatch.MeaningTryLater
	case known:
		return listed.Class
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return dispatch.MeaningAccountRefusing
	case status == http.StatusBadRequest && code >= 20000 && code <= 21999:
		return dispatch.MeaningRefusedHere
	}
	return dispatch.MeaningForeign
}

// retryAfter reads seconds or a date (RFC 9110, 10.2.3). A date counts from the answer's own Date, so that two clocks that differ do no
// harm. What cannot be read, or lies in the past, is 0; what is longer than maxWait is maxWait.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return maxWait // so many digits that it does not fit
		}
		return min(time.Duration(seconds)*time.Second, maxWait)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), maxWait)
}

// isE164 also keeps other channels out, which Twilio addresses as "whatsapp:+…".
func isE164(s string) bool {
	return len(s) >= 8 && len(s) <= 16 && s[0] == '+' && s[1] != '0' && strings.Trim(s[1:], "0123456789") == ""
}
