package web_test

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
	"sentonce/web"
	"sentonce/web/webtest"
)

const (
	staffPassword = "correct horse battery staple 7"
	sameOrigin    = "same-origin"
)

// staffBench is a server with the staff app on loopback and a real store, whose clock stands until the test moves it.
type staffBench struct {
	*storetest.Store
	t      *testing.T
	server *web.Server
	url    string
	log    *webtest.LogBuffer
	people map[store.Role]dispatch.StaffID
	keys   int
}

// newStaffBench starts one with an account for each role; change may alter its parts before that.
func newStaffBench(t *testing.T, change func(*web.Deps)) *staffBench {
	t.Helper()
	b := &staffBench{Store: storetest.Open(t), t: t, log: &webtest.LogBuffer{}, people: map[store.Role]dispatch.StaffID{}}
	b.serve(change)
	for _, role := range store.Roles() {
		b.people[role] = b.hire(string(role)+"@example.org", role)
	}
	return b
}

// serve starts a server on the bench's store.
func (b *staffBench) serve(change func(*web.Deps)) {
	b.t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	public := &url.URL{Scheme: "http", Host: srv.Listener.Addr().String()}
	deps := web.Deps{Store: b.DB, Staff: b.DB, Clock: b.Clock, Random: rand.Reader, Log: slog.New(slog.NewJSONHandler(b.log, nil)),
		Policy:  func() dispatch.Policy { return dispatch.Policy{MinRemaining: time.Second, MaxTTL: 24 * time.Hour} },
		Metrics: web.NewMetrics("test", nil), PublicURL: public, References: b.References()}
	if change != nil {
		change(&deps)
	}
	var err error
	if b.server, err = web.New(deps); err != nil {
		b.t.Fatal(err)
	}
	srv.Config.Handler = b.server
	srv.Start()
	b.t.Cleanup(srv.Close)
	b.url = srv.URL
}

// newServerOn is a bench whose server was started anew on a store that was opened anew.
func newServerOn(t *testing.T, old *staffBench) *staffBench {
	b := &staffBench{Store: old.Store, t: t, log: old.log, people: old.people}
	b.serve(nil)
	return b
}

// hire adds an account with staffPassword.
func (b *staffBench) hire(email string, role store.Role) dispatch.StaffID {
	b.t.Helper()
	id, err := b.AddStaff(b.t.Context(), store.NewStaff{Email: email, Name: "A. " + string(role), Role: role, PasswordHash: cheapHash(staffPassword),
		By: dispatch.Actor{Kind: dispatch.ActorOperator}})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// cheapHash is a hash of the same form as ours that costs nothing.
func cheapHash(password string) string {
	salt := []byte("salt of the test")
	hash := argon2.IDKey([]byte(password), salt, 1, 64, 1, 32)
	enc := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=64,t=1,p=1$%s$%s", argon2.Version, enc(salt), enc(hash))
}

// staffBrowser keeps cookies and follows nothing by itself.
type staffBrowser struct {
	b   *staffBench
	jar *cookiejar.Jar
	c   *http.Client
}

func (b *staffBench) browser() *staffBrowser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return &staffBrowser{b, jar, &http.Client{Jar: jar, Timeout: 40 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// as is a browser in which the bench's person of a role is signed in, without the cost of a password.
func (b *staffBench) as(role store.Role) *staffBrowser { return b.asPerson(b.people[role]) }

func (b *staffBench) asPerson(id dispatch.StaffID) *staffBrowser {
	b.t.Helper()
	cookie, err := b.server.SignInAs(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	br := b.browser()
	br.jar.SetCookies(b.address(), []*http.Cookie{cookie})
	return br
}

func (b *staffBench) address() *url.URL {
	u, err := url.Parse(b.url)
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}

// pageAnswer is an answer to a browser.
type pageAnswer struct {
	code   int
	header http.Header
	body   string
}

func (p pageAnswer) location() string { return p.header.Get("Location") }

func (br *staffBrowser) get(path string) pageAnswer { return br.do("GET", path, nil, nil) }

// post sends a form as a page of the same origin does.
func (br *staffBrowser) post(path string, form url.Values) pageAnswer {
	return br.do("POST", path, form, http.Header{"Sec-Fetch-Site": {sameOrigin}})
}

func (br *staffBrowser) do(method, path string, form url.Values, header http.Header) pageAnswer {
	br.b.t.Helper()
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(br.b.t.Context(), method, br.b.url+path, body)
	if err != nil {
		br.b.t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := br.c.Do(req)
	if err != nil {
		br.b.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		br.b.t.Fatal(err)
	}
	return pageAnswer{res.StatusCode, res.Header, string(raw)}
}

// wantCode fails unless the answer has a status.
func (p pageAnswer) wantCode(t *testing.T, what string, code int) pageAnswer {
	t.Helper()
	if p.code != code {
		t.Fatalf("%s answered %d, want %d: %.600s", what, p.code, code, p.body)
	}
	return p
}

// token is the value of the session's cookie in a browser.
func (br *staffBrowser) token() string {
	for _, c := range br.jar.Cookies(br.b.address()) {
		if c.Name == "sentonce" {
			return c.Value
		}
	}
	return ""
}

// causes lists the causes of the events of an action.
func (b *staffBench) causes(action dispatch.Action) (all []string) {
	b.t.Helper()
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(b.Dir, store.FileName)+"?mode=ro")
	if err != nil {
		b.t.Fatal(err)
	}
	defer pool.Close()
	rows, err := pool.Query(`SELECT coalesce(cause, '') FROM events WHERE action = ? ORDER BY seq`, string(action))
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var cause string
		if err := rows.Scan(&cause); err != nil {
			b.t.Fatal(err)
		}
		all = append(all, cause)
	}
	if err := rows.Err(); err != nil {
		b.t.Fatal(err)
	}
	return all
}

// onDisk reports whether any file of the data directory holds a text.
func (b *staffBench) onDisk(text string) bool {
	b.t.Helper()
	entries, err := os.ReadDir(b.Dir)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(b.Dir, e.Name()))
		if err != nil {
			b.t.Fatal(err)
		}
		if bytes.Contains(raw, []byte(text)) {
			return true
		}
	}
	return false
}
