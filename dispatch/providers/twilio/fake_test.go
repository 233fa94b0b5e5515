package twilio_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	account = "AC0123456789abcdef0123456789abcdef"
	token   = "the-auth-token-of-the-tests"
	sender  = "+15005550006"
	path    = "/2010-04-01/Accounts/" + account + "/Messages"
)

// fake keeps messages like Twilio: newest first, in pages.
type fake struct {
	*httptest.Server

	mu     sync.Mutex
	rows   []map[string]any // oldest first
	asked  []string         // the queries of list requests
	hang   bool
	hidden bool
	// edit, if set, may change a list answer before it is sent.
	edit func(page int, list map[string]any)
}

func newFake(t testing.TB) *fake {
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) URL() string { return f.Server.URL }

func (f *fake) Hang(v bool) { f.mu.Lock(); defer f.mu.Unlock(); f.hang = v }
func (f *fake) Hide(v bool) { f.mu.Lock(); defer f.mu.Unlock(); f.hidden = v }

func (f *fake) Taken() int { f.mu.Lock(); defer f.mu.Unlock(); return len(f.rows) }

// queries are the list requests so far.
func (f *fake) queries() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.asked...)
}

// put adds a message to number at an instant; more overwrites members.
func (f *fake) put(to, text string, at time.Time, more map[string]any) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	sid := fmt.Sprintf("SM%032x", len(f.rows)+1)
	row := map[string]any{
		"sid": sid, "account_sid": account, "to": to, "from": sender, "body": text, "status": "queued", "direction": "outbound-api",
		"date_created": at.UTC().Format(time.RFC1123Z), "date_sent": nil, "error_code": nil, "messaging_service_sid": nil,
		"num_segments": "1", "price": nil,
	}
	for k, v := range more {
		row[k] = v
	}
	f.rows = append(f.rows, row)
	return sid
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if user, password, ok := r.BasicAuth(); !ok || user != account || password != token {
		reply(w, 401, map[string]any{"code": 20003, "message": "Authenticate", "more_info": "", "status": 401})
		return
	}
	switch sid, byID := strings.CutPrefix(r.URL.Path, path+"/"); {
	case r.Method == http.MethodPost && r.URL.Path == path+".json":
		f.create(w, r)
	case byID:
		f.one(w, strings.TrimSuffix(sid, ".json"))
	case r.URL.Path == path+".json":
		f.list(w, r)
	default:
		reply(w, 404, map[string]any{"code": 20404, "message": "not found", "status": 404})
	}
}

func (f *fake) create(w http.ResponseWriter, r *http.Request) {
	sid := f.put(r.PostFormValue("To"), r.PostFormValue("Body"), time.Now(), map[string]any{"from": r.PostFormValue("From")})
	f.mu.Lock()
	row, hang := f.rows[len(f.rows)-1], f.hang
	f.mu.Unlock()
	if hang {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Twilio-Request-Id", "RQ"+sid[2:])
	reply(w, 201, row)
}

func (f *fake) one(w http.ResponseWriter, sid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, row := range f.rows {
		if row["sid"] == sid && !f.hidden {
			reply(w, 200, row)
			return
		}
	}
	reply(w, 404, map[string]any{"code": 20404, "message": "not found", "status": 404})
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := r.URL.Query()
	f.asked = append(f.asked, r.URL.RawQuery)
	size, _ := strconv.Atoi(q.Get("PageSize"))
	page, _ := strconv.Atoi(q.Get("Page"))
	matching := []map[string]any{}
	for i := len(f.rows) - 1; i >= 0 && !f.hidden; i-- {
		if f.rows[i]["to"] == q.Get("To") {
			matching = append(matching, f.rows[i])
		}
	}
	first, last := min(page*size, len(matching)), min((page+1)*size, len(matching))
	list := map[string]any{"messages": matching[first:last], "page": page, "page_size": size, "next_page_uri": nil}
	if last < len(matching) {
		q.Set("Page", strconv.Itoa(page+1))
		q.Set("PageToken", "PASM"+strconv.Itoa(last))
		list["next_page_uri"] = path + ".json?" + q.Encode()
	}
	if f.edit != nil {
		f.edit(page, list)
	}
	reply(w, 200, list)
}

func reply(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}
