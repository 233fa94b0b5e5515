package sim

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	defaultPage = 50   // https://www.twilio.com/docs/usage/twilios-response: PageSize, its default and
	maxPage     = 1000 // its maximum
)

// page is one page of a list in the 2010-04-01 API.
type page struct {
	Messages []resource `json:"messages"`
	First    string     `json:"first_page_uri"`
	Next     *string    `json:"next_page_uri"`
	Previous *string    `json:"previous_page_uri"`
	Page     int        `json:"page"`
	PageSize int        `json:"page_size"`
	Start    int        `json:"start"`
	End      int        `json:"end"`
	URI      string     `json:"uri"`
}

// query is what a list asks for.
type query struct {
	to, from string
	sent     func(at time.Time) bool // the filters on date_sent; nil when there are none
	size     int
	number   int
	after    string // the page starts after this message; "" when the client counts pages instead
}

// list is GET Messages.json: newest first, only what the lag lets show.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	if !s.authorised(w, r) {
		return
	}
	q, f := readQuery(r.URL.Query())
	if f != nil {
		answerError(w, http.StatusBadRequest, f.code, f.message)
		return
	}
	answer := page{Messages: []resource{}, Page: q.number, PageSize: q.size, URI: r.URL.RequestURI(), First: pageURI(r, 0, q.size, "")}
	skip, more := q.number*q.size, false
	if q.after != "" {
		skip = 0
	}
	reached := q.after == ""
	s.eachVisible(q, func(m *Message) bool {
		switch {
		case !reached:
			reached = m.SID == q.after
		case skip > 0:
			skip--
		case len(answer.Messages) == q.size:
			more = true
			return false
		default:
			answer.Messages = append(answer.Messages, s.show(m))
		}
		return true
	})
	answer.Start = q.number * q.size
	answer.End = answer.Start + max(len(answer.Messages)-1, 0)
	if more {
		answer.Next = known(pageURI(r, q.number+1, q.size, answer.Messages[q.size-1].SID))
	}
	if q.number > 0 {
		answer.Previous = known(pageURI(r, q.number-1, q.size, ""))
	}
	s.countLookup()
	answerJSON(w, http.StatusOK, encode(answer))
}

// eachVisible yields what a list may show, newest first.
func (s *Server) eachVisible(q query, yield func(*Message) bool) {
	lag, hidden := s.rules.visibility()
	if hidden {
		return
	}
	now := s.clock.Now()
	s.book.newest(q.to, func(m *Message) bool {
		if now.Sub(m.At) < lag || q.from != "" && m.From != q.from || q.sent != nil && !q.sent(m.SentAt) {
			return true
		}
		return yield(m)
	})
}

// fetch is GET Messages/{Sid}.json. A message can be fetched at once, whatever the list's lag.
func (s *Server) fetch(w http.ResponseWriter, r *http.Request) {
	if !s.authorised(w, r) {
		return
	}
	sid, isJSON := strings.CutSuffix(r.PathValue("file"), ".json")
	m, found := s.book.find(sid)
	s.countLookup()
	if !found || !isJSON {
		answerError(w, http.StatusNotFound, 20404, "The requested resource "+r.URL.Path+" was not found")
		return
	}
	answerJSON(w, http.StatusOK, encode(s.show(&m)))
}

func (s *Server) countLookup() { s.book.change(func() { s.book.lookups++ }) }

func readQuery(v url.Values) (query, *fault) {
	q := query{to: v.Get("To"), from: v.Get("From"), size: defaultPage}
	var err error
	if v.Has("PageSize") {
		if q.size, err = atoi(v.Get("PageSize")); err != nil || q.size < 1 {
			return q, &fault{20001, "Invalid PageSize"}
		}
		q.size = min(q.size, maxPage)
	}
	if v.Has("Page") {
		if q.number, err = atoi(v.Get("Page")); err != nil || q.number > 1_000_000 {
			return q, &fault{20006, "Page number out of range"}
		}
	}
	if token := v.Get("PageToken"); token != "" {
		var ok bool
		if q.after, ok = strings.CutPrefix(token, "PA"); !ok {
			return q, &fault{20001, "Invalid PageToken"}
		}
	}
	var f *fault
	q.sent, f = sentFilter(v)
	return q, f
}

// sentFilter reads DateSent, DateSent< and DateSent> (written DateSent<= and DateSent>= in a URL), by day or by instant. What was not sent
// yet has no date and matches none of them.
func sentFilter(v url.Values) (func(time.Time) bool, *fault) {
	tests := map[string]func(at, from, to time.Time) bool{
		"DateSent":  func(at, from, to time.Time) bool { return !at.Before(from) && at.Before(to) },
		"DateSent<": func(at, from, _ time.Time) bool { return !at.After(from) },
		"DateSent>": func(at, from, _ time.Time) bool { return !at.Before(from) },
	}
	var filters []func(time.Time) bool
	for name, test := range tests {
		if !v.Has(name) {
			continue
		}
		from, to, ok := dateRange(v.Get(name))
		if !ok {
			return nil, &fault{20001, "Invalid " + name}
		}
		filters = append(filters, func(at time.Time) bool { return !at.IsZero() && test(at, from, to) })
	}
	if len(filters) == 0 {
		return nil, nil
	}
	return func(at time.Time) bool {
		for _, f := range filters {
			if !f(at) {
				return false
			}
		}
		return true
	}, nil
}

func dateRange(s string) (from, to time.Time, ok bool) {
	if day, err := time.Parse(time.DateOnly, s); err == nil {
		return day, day.AddDate(0, 0, 1), true
	}
	at, err := time.Parse(time.RFC3339, s)
	return at, at.Add(time.Second), err == nil
}

func pageURI(r *http.Request, number, size int, after string) string {
	v := r.URL.Query()
	v.Set("Page", decimal(number))
	v.Set("PageSize", decimal(size))
	v.Del("PageToken")
	if after != "" {
		v.Set("PageToken", "PA"+after)
	}
	return r.URL.Path + "?" + v.Encode()
}

// accountIn is the account that a request's path names.
func accountIn(r *http.Request) string {
	rest := strings.TrimPrefix(r.URL.Path, "/2010-04-01/Accounts/")
	account, _, _ := strings.Cut(rest, "/")
	return account
}
