package twilio

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/providers/wire"
)

const (
	pageSize = 50
	maxPages = 20
	// skew is how far Twilio's clock and ours may be apart.
	skew = 2 * time.Minute
)

var (
	errQuestion = errors.New("the question has no recipient in E.164 or nothing to compare texts with")
	errShape    = errors.New("the answer is not Twilio's")
	errNoSuch   = errors.New("there is no such message") // Twilio itself says so
)

// lookup is one question under way.
type lookup struct {
	*Adapter
	q       dispatch.Question
	finding dispatch.Finding
	hash    hash.Hash
	ordered bool      // every row so far is no newer than the one before it
	last    time.Time // of the row before
}

// Find asks for the message by its id when that is known, then lists the messages to the recipient and picks out what can be the attempt's.
//
// The list is asked by recipient alone: its date filter is on date_sent, which a message has only once it was sent, so the window is checked
// here, on date_created. Texts that the account's privacy settings have removed match nothing.
//
// When a later page cannot be read, what the earlier ones showed still counts: the finding is then not complete, but has no error.
func (a *Adapter) Find(ctx context.Context, q dispatch.Question) (f dispatch.Finding) {
	if q.Until.IsZero() {
		q.Until = a.config.Now()
	}
	if !isE164(q.Recipient.Reveal()) || q.SameText == nil {
		return dispatch.Finding{Err: errQuestion} // without a recipient the list would be of everybody's messages
	}
	l := &lookup{Adapter: a, q: q, hash: sha256.New(), ordered: true}
	defer func() {
		if recover() != nil { // an answer that nobody has thought of says nothing about the attempt
			f = dispatch.Finding{Err: errShape}
		}
	}()
	err := l.run(ctx)
	l.hash.Sum(l.finding.SHA256[:0])
	if err != nil && len(l.finding.Candidates) == 0 {
		l.finding.Err = err
	}
	return l.finding
}

func (l *lookup) run(ctx context.Context) error {
	if isSID(l.q.MessageID) {
		found, err := l.byID(ctx)
		if found || err != nil {
			return err
		}
	}
	query := url.Values{"To": {l.q.Recipient.Reveal()}, "PageSize": {strconv.Itoa(pageSize)}}.Encode()
	for range maxPages {
		page, err := l.get(ctx, l.messages.String()+".json?"+query)
		if err != nil {
			return err
		}
		rows, ok := page.objects("messages")
		if !ok {
			return errShape
		}
		allOlder, err := l.addRows(rows)
		if err != nil {
			return err
		}
		next, err := l.next(page)
		if err != nil {
			return err
		}
		if next == "" || allOlder && l.ordered {
			l.finding.Complete = true
			return nil
		}
		query = next
	}
	return nil // more pages than anybody has messages: not complete
}

// byID asks for one message. Its id is known to be the attempt's, so neither text nor time have to match.
func (l *lookup) byID(ctx context.Context) (bool, error) {
	o, err := l.get(ctx, l.messages.String()+"/"+l.q.MessageID+".json")
	if l.finding.HTTPStatus == http.StatusNotFound && errors.Is(err, errNoSuch) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	row, err := readRow(o)
	if err != nil || row.sid != l.q.MessageID {
		return false, errShape
	}
	l.finding.Candidates = append(l.finding.Candidates, row.candidate())
	l.finding.Complete = true
	return true, nil
}

// get asks one question and reads the object that answers it. Its errors hold no address, because the recipient is in it.
func (l *lookup) get(ctx context.Context, target string) (object, error) {
	req, err := wire.NewRequest(http.MethodGet, target, nil)
	if err != nil {
		return nil, err
	}
	l.authorise(req)
	r := l.lookups.Exchange(ctx, req, nil)
	if r.Err != nil {
		return nil, fmt.Errorf("lookup: %w", r.Err)
	}
	l.finding.Pages++
	l.finding.HTTPStatus = r.Status
	l.hash.Write(r.Body)
	o, ok := parseObject(r.Body)
	code, coded := o.number("code")
	switch {
	case ok && r.Status == http.StatusOK:
		return o, nil
	case ok && r.Status == http.StatusNotFound && coded && code == 20404:
		return nil, errNoSuch
	case ok && coded:
		return nil, fmt.Errorf("lookup answered with status %d, code %d", r.Status, code)
	case r.Status == http.StatusOK:
		return nil, errShape
	}
	return nil, fmt.Errorf("lookup answered with status %d", r.Status)
}

// next is the query of the next page, "" when there is none. Only the query of next_page_uri is followed, never its host or path: the
// question goes with our credentials.
func (l *lookup) next(page object) (string, error) {
	if page.null("next_page_uri") {
		return "", nil
	}
	uri, ok := page.text("next_page_uri")
	u, err := url.Parse(uri)
	if !ok || err != nil || u.Host != "" && u.Host != l.messages.Host {
		return "", errShape
	}
	if u.Path != apiPath(l.config.AccountSID)+".json" && u.Path != l.messages.Path+".json" {
		return "", errShape
	}
	if to := u.Query().Get("To"); to != "" && to != l.q.Recipient.Reveal() {
		return "", errShape
	}
	return u.RawQuery, nil
}

// addRows takes the rows of one page and reports whether all of them are older than the window.
func (l *lookup) addRows(rows []object) (allOlder bool, err error) {
	allOlder = len(rows) > 0
	from, until := l.q.StartedAt.Add(-skew), l.q.Until.Add(skew)
	for _, o := range rows {
		row, err := readRow(o)
		if err != nil {
			return false, err
		}
		l.ordered = l.ordered && (l.last.IsZero() || !row.created.After(l.last))
		l.last = row.created
		// Twilio's times are cut to the second.
		inWindow := !row.created.Before(from.Truncate(time.Second)) && !row.created.After(until)
		allOlder = allOlder && row.created.Before(from.Truncate(time.Second))
		if !l.isOurs(row) {
			continue
		}
		l.finding.LaterSeen = l.finding.LaterSeen || row.created.After(l.q.Until)
		if inWindow && row.to == l.q.Recipient.Reveal() && row.body != "" && l.q.SameText(row.body) {
			l.add(row.candidate())
		}
	}
	return allOlder, nil
}

// add keeps each message once: a page that shifts under the reader shows a row twice.
func (l *lookup) add(c dispatch.Candidate) {
	known := func(k dispatch.Candidate) bool { return k.MessageID == c.MessageID }
	if !slices.ContainsFunc(l.finding.Candidates, known) {
		l.finding.Candidates = append(l.finding.Candidates, c)
	}
}

func (l *lookup) isOurs(r row) bool {
	if r.direction != "outbound-api" {
		return false
	}
	if l.config.MessagingServiceSID != "" {
		return r.service == l.config.MessagingServiceSID
	}
	return r.from == l.config.From
}

// row is one message of the list.
type row struct {
	sid, to, from, body, direction, service, status, code string
	created                                               time.Time
}

func readRow(o object) (row, error) {
	var r row
	ok := true
	for name, into := range map[string]*string{"sid": &r.sid, "to": &r.to, "from": &r.from, "body": &r.body, "direction": &r.direction, "status": &r.status} {
		s, readable := o.textOrNull(name)
		*into, ok = s, ok && readable
	}
	r.service, _ = o.textOrNull("messaging_service_sid")
	if code, isNumber := o.number("error_code"); isNumber {
		r.code = clean(strconv.Itoa(code), 64)
	}
	text, hasDate := o.text("date_created")
	created, err := readTime(text)
	if !ok || !hasDate || err != nil || !isSID(r.sid) {
		return row{}, errShape
	}
	r.created = created
	return r, nil
}

// candidate: the message exists at Twilio whatever word its status is, so a word that we do not know still means taken.
func (r row) candidate() dispatch.Candidate {
	status, known := readStatus(r.status)
	if !known {
		status = dispatch.ReceiptTaken
	}
	return dispatch.Candidate{MessageID: r.sid, CreatedAt: r.created, Status: status, Code: r.code}
}

// readTime reads RFC 2822 dates, "Mon, 16 Aug 2010 03:45:01 +0000".
func readTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC1123Z, s)
	if err != nil {
		t, err = time.Parse(time.RFC1123, s)
	}
	if err != nil {
		return time.Time{}, errShape
	}
	return t.UTC(), nil
}
