package sim

import (
	"maps"
	"net/http"
	"time"
	"unicode/utf8"
)

// resource is a message as the 2010-04-01 API shows it.
type resource struct {
	SID          string  `json:"sid"`
	AccountSID   string  `json:"account_sid"`
	ServiceSID   *string `json:"messaging_service_sid"`
	To           string  `json:"to"`
	From         *string `json:"from"`
	Body         string  `json:"body"`
	Status       string  `json:"status"`
	Direction    string  `json:"direction"`
	NumSegments  string  `json:"num_segments"`
	NumMedia     string  `json:"num_media"`
	ErrorCode    *int    `json:"error_code"`
	ErrorMessage *string `json:"error_message"`
	DateCreated  string  `json:"date_created"`
	DateSent     *string `json:"date_sent"`
	DateUpdated  string  `json:"date_updated"`
	Price        *string `json:"price"`
	PriceUnit    *string `json:"price_unit"`
	APIVersion   string  `json:"api_version"`
	URI          string  `json:"uri"`
}

// show writes a message as the API does: times in RFC 2822 with whole seconds, null for what is not known yet.
func (s *Server) show(m *Message) resource { return resourceOf(m, s.opt.AccountSID) }

func resourceOf(m *Message, account string) resource {
	r := resource{SID: m.SID, AccountSID: account, ServiceSID: known(m.ServiceSID), To: m.To, From: known(m.From), Body: m.Body,
		Status: m.Status, Direction: "outbound-api", NumSegments: segments(m), NumMedia: "0", DateCreated: rfc2822(m.At),
		DateUpdated: rfc2822(m.UpdatedAt), APIVersion: "2010-04-01",
		URI: "/2010-04-01/Accounts/" + account + "/Messages/" + m.SID + ".json"}
	if !m.SentAt.IsZero() {
		r.DateSent = known(rfc2822(m.SentAt))
	}
	if code, err := atoi(m.ErrorCode); err == nil {
		r.ErrorCode = &code
	}
	return r
}

func rfc2822(t time.Time) string { return t.UTC().Format(time.RFC1123Z) }

func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// segments is the number of parts: "0" while a messaging service has not chosen the sender, else by length, taking ASCII for GSM-7.
func segments(m *Message) string {
	n, single, part := utf8.RuneCountInString(m.Body), 160, 153
	for _, r := range m.Body {
		if r >= utf8.RuneSelf {
			single, part = 70, 67
		}
	}
	switch {
	case m.Status == "accepted":
		return "0"
	case n <= single:
		return "1"
	}
	return decimal((n + part - 1) / part)
}

func (x exchange) status() int {
	if x.Status == 0 {
		return http.StatusCreated
	}
	return x.Status
}

// body is the answer's body in full. It waits for an acceptance that is still to come.
func (x exchange) body(r *http.Request) []byte {
	if x.Body != "" || x.ContentType != "" {
		return []byte(x.Body)
	}
	if status := x.status(); status >= 400 {
		return errorBody(status, x.Code, x.refusal())
	}
	if x.taken == nil {
		return nil
	}
	await(r.Context(), x.taken.accepted)
	return encode(resourceOf(&x.taken.message, accountIn(r)))
}

// refusal is the text of an error; like Twilio's it names the number in question, which a sender must not keep.
func (x exchange) refusal() string {
	switch x.Code {
	case 20003:
		return "Authenticate"
	case 20429:
		return "Too Many Requests"
	case 20500:
		return "An internal server error has occurred"
	case 21211:
		return "Invalid 'To' Phone Number: " + x.to
	case 21610:
		return "Attempt to send to unsubscribed recipient"
	}
	return "The message to " + x.to + " cannot be processed"
}

func (x exchange) header(w http.ResponseWriter) {
	contentType := x.ContentType
	if contentType == "" {
		contentType = "application/json"
	}
	w.Header().Set("Content-Type", contentType)
	maps.Copy(w.Header(), x.Header)
}

// answer writes the whole answer. A client that has left by now is no concern of the provider's.
func (x exchange) answer(w http.ResponseWriter, r *http.Request) {
	body := x.body(r)
	x.header(w)
	w.WriteHeader(x.status())
	w.Write(body)
}

// stall writes the status line and the header and lets them go.
func (x exchange) stall(w http.ResponseWriter) {
	x.header(w)
	w.WriteHeader(x.status())
	flush(w)
}

// cut announces the whole body, writes half of it, and breaks the connection.
func (x exchange) cut(w http.ResponseWriter, r *http.Request) {
	body := x.body(r)
	x.header(w)
	w.Header().Set("Content-Length", decimal(len(body)))
	w.WriteHeader(x.status())
	w.Write(body[:len(body)/2])
	flush(w)
	panic(http.ErrAbortHandler)
}

// flush sends what was written so far; if that fails, the connection is dead and the handler ends.
func flush(w http.ResponseWriter) {
	if http.NewResponseController(w).Flush() != nil {
		panic(http.ErrAbortHandler)
	}
}
