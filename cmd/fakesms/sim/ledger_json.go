package sim

import (
	"net/http"
	"strings"
	"time"
)

const (
	defaultRows = 100
	maxRows     = 10_000
)

type ledgerRow struct {
	SID        string       `json:"sid"`
	At         time.Time    `json:"at"`
	To         string       `json:"to"`
	From       string       `json:"from"`
	ServiceSID string       `json:"messaging_service_sid"`
	Body       string       `json:"body"`
	Callback   string       `json:"callback"`
	Validity   string       `json:"validity"`
	Conn       uint64       `json:"connection"`
	Status     string       `json:"status"`
	ErrorCode  string       `json:"error_code"`
	Receipts   []receiptRow `json:"receipts"`
}

type receiptRow struct {
	At     time.Time `json:"at"`
	Status string    `json:"status"`
	HTTP   int       `json:"http_status"`
	Error  string    `json:"error,omitempty"`
}

type ledgerAnswer struct {
	Mode     Mode        `json:"mode"`
	BaseURL  string      `json:"base_url"`
	Control  string      `json:"control_url"`
	Accepted int         `json:"accepted"`
	Requests int         `json:"requests"`
	Lookups  int         `json:"lookups"`
	Foreign  int         `json:"foreign"`
	Held     int         `json:"held"`
	To       string      `json:"to,omitempty"`
	SentTo   int         `json:"requests_to,omitempty"` // requests to that number
	Messages []ledgerRow `json:"messages"`              // newest first, at most `limit`
}

// adminLedger is GET /admin/ledger?to=&limit=.
func (s *Server) adminLedger(w http.ResponseWriter, r *http.Request) {
	to, limit := r.URL.Query().Get("to"), defaultRows
	if national, unescaped := strings.CutPrefix(to, " "); unescaped {
		to = "+" + national // a plus sign typed into a query means a space
	}
	if v := r.URL.Query().Get("limit"); v != "" {
		n, err := atoi(v)
		if err != nil || n < 1 {
			http.Error(w, "limit must be a number above 0", http.StatusUnprocessableEntity)
			return
		}
		limit = min(n, maxRows)
	}
	c := s.Counters()
	answer := ledgerAnswer{Mode: s.Mode(), BaseURL: s.BaseURL(), Control: s.ControlURL(), Accepted: c.Accepted, Requests: c.Requests,
		Lookups: c.Lookups, Foreign: c.Foreign, Held: c.Held, To: to, Messages: []ledgerRow{}}
	if to != "" {
		answer.SentTo = len(s.Requests(to))
	}
	for _, m := range s.latest(to, limit) {
		answer.Messages = append(answer.Messages, rowOf(m))
	}
	answerJSON(w, http.StatusOK, encode(answer))
}

func rowOf(m Message) ledgerRow {
	row := ledgerRow{SID: m.SID, At: m.At.UTC(), To: m.To, From: m.From, ServiceSID: m.ServiceSID, Body: m.Body, Callback: m.Callback,
		Validity: m.Validity, Conn: m.Conn, Status: m.Status, ErrorCode: m.ErrorCode, Receipts: []receiptRow{}}
	for _, r := range m.Receipts {
		row.Receipts = append(row.Receipts, receiptRow{r.At.UTC(), r.Status, r.HTTP, errorText(r.Err)})
	}
	return row
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
