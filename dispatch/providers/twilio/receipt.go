package twilio

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sentonce/dispatch"
)

// maxReference bounds the signed reference that a report's address carries.
const maxReference = 256

// ReadReceipt authenticates a status call-back and reads it.
//
// X-Twilio-Signature is the base64 of HMAC-SHA1 under the auth token over the public URL as called (query untouched) and the form's names and
// values, sorted by name; of several values of one name each different one counts once, sorted (so Twilio's own libraries do). A JSON body
// is covered by its SHA-256 in the query instead (bodySHA256). Whether the URL that was signed had a port is not settled among Twilio's own
// products, so all three ways of writing it are tried, as twilio-go does. The newer signatures by a separate key
// (X-Twilio-Webhooks-Signature-Settings) are not read: such a call-back fails here as forged.
func (a *Adapter) ReadReceipt(c dispatch.Callback) (dispatch.Report, error) {
	fields, err := a.authenticate(c)
	if err != nil {
		return dispatch.Report{}, err
	}
	if account := fields["AccountSid"]; len(account) != 1 || account[0] != a.config.AccountSID {
		return dispatch.Report{}, fmt.Errorf("the report is of another account: %w", dispatch.ErrForged)
	}
	sid, ok1 := one(fields, "MessageSid", "SmsSid")
	word, ok2 := one(fields, "MessageStatus", "SmsStatus")
	code, ok3 := one(fields, "ErrorCode")
	if !ok1 || !ok2 || !ok3 || !isSID(sid) {
		return dispatch.Report{}, fmt.Errorf("message id or status is missing or doubled: %w", dispatch.ErrBadReceipt)
	}
	status, known := readStatus(word)
	if !known {
		return dispatch.Report{}, fmt.Errorf("a status that Twilio does not document: %w", dispatch.ErrBadReceipt)
	}
	reference := c.URL.Query().Get("ref")
	if len(reference) > maxReference {
		reference = ""
	}
	return dispatch.Report{
		MessageID: sid,
		Status:    status,
		Raw:       word,
		Code:      clean(code, 64),
		Reference: reference,
		SHA256:    sha256.Sum256(c.Body),
	}, nil
}

// readStatus reads Twilio's words for the state of a message,
// https://www.twilio.com/docs/messaging/guides/outbound-message-status-in-status-callbacks. "read" is a delivery that was looked at; a
// message of which only some parts arrived cannot be read, so it is undelivered.
func readStatus(word string) (dispatch.ReceiptStatus, bool) {
	switch word {
	case "queued", "accepted", "scheduled", "sending", "sent", "receiving", "received":
		return dispatch.ReceiptTaken, true
	case "delivered", "read":
		return dispatch.ReceiptDelivered, true
	case "undelivered", "failed", "canceled", "partially_delivered":
		return dispatch.ReceiptUndelivered, true
	}
	return "", false
}

// one reads the first of the names that is there. A name with different values has none.
func one(fields url.Values, names ...string) (string, bool) {
	for _, name := range names {
		if values := fields[name]; len(values) > 0 {
			return values[0], len(slices.Compact(slices.Clone(values))) == 1
		}
	}
	return "", true
}

// authenticate returns the fields of an authentic call-back.
func (a *Adapter) authenticate(c dispatch.Callback) (url.Values, error) {
	signature, err := base64.StdEncoding.DecodeString(c.Header.Get("X-Twilio-Signature"))
	if err != nil || len(signature) != sha1.Size || c.URL == nil {
		return nil, fmt.Errorf("the signature is missing or malformed: %w", dispatch.ErrForged)
	}
	fields, signed, err := readBody(c)
	if err != nil {
		return nil, err
	}
	authentic := false
	for _, address := range addresses(c.URL) {
		mac := hmac.New(sha1.New, []byte(a.config.AuthToken.Reveal()))
		mac.Write([]byte(address + signed))
		authentic = hmac.Equal(mac.Sum(nil), signature) || authentic
	}
	if !authentic {
		return nil, fmt.Errorf("the signature does not match: %w", dispatch.ErrForged)
	}
	return fields, nil
}

// readBody reads the fields, and gives the text that the signature covers after the URL.
func readBody(c dispatch.Callback) (fields url.Values, signed string, err error) {
	if kind, _, err := mime.ParseMediaType(c.Header.Get("Content-Type")); err == nil && kind == "application/json" {
		fields, err := readJSON(c)
		return fields, "", err
	}
	if c.Method != http.MethodPost {
		return nil, "", fmt.Errorf("call-backs are posted: %w", dispatch.ErrForged)
	}
	fields, err = url.ParseQuery(string(c.Body))
	if err != nil {
		return nil, "", fmt.Errorf("the form is malformed: %w", dispatch.ErrForged)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, value := range slices.Compact(slices.Sorted(slices.Values(fields[name]))) {
			b.WriteString(name + value)
		}
	}
	return fields, b.String(), nil
}

func readJSON(c dispatch.Callback) (url.Values, error) {
	claimed, err := hex.DecodeString(c.URL.Query().Get("bodySHA256"))
	sum := sha256.Sum256(c.Body)
	if err != nil || !hmac.Equal(claimed, sum[:]) {
		return nil, fmt.Errorf("the body is not the one that was signed: %w", dispatch.ErrForged)
	}
	o, _ := parseObject(c.Body)
	fields := url.Values{}
	for name := range o {
		if s, ok := o.text(name); ok {
			fields.Set(name, s)
		}
	}
	return fields, nil
}

// addresses are the ways in which the URL may have been written when it was signed: as it is, without a port, with the scheme's own port.
func addresses(u *url.URL) []string {
	plain := *u
	plain.Fragment, plain.RawFragment = "", ""
	bare, full := plain, plain
	if host := u.Hostname(); u.Port() != "" {
		bare.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
	} else if port := map[string]string{"https": "443", "http": "80"}[u.Scheme]; port != "" {
		full.Host = net.JoinHostPort(host, port)
	}
	return []string{plain.String(), bare.String(), full.String()}
}
