package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sentonce/dispatch"
)

// tenant is one of the two storefronts of the mix.
type tenant struct {
	id    dispatch.ClientID
	token string
}

// TestFieldF55_NothingOfOneRequestShowsInAnother lets 200 clients of two tenants, each with canaries of its own, hammer the server while some
// of them hang up, and compares each answer and each log line with what its own request carried.
func TestFieldF55_NothingOfOneRequestShowsInAnother(t *testing.T) {
	b := newBench(t, nil)
	tenants := []tenant{{b.clientID, b.token}, {webtestClient(), ""}}
	tenants[1].token = b.store.AddKey(tenants[1].id, nil, dispatch.Scopes()...)
	var mu sync.Mutex
	owners := map[string]dispatch.ClientID{} // by request id
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			own := tenants[n%2]
			for round := range 2 {
				for _, id := range b.visit(own, fmt.Sprintf("canary-%d-%d", n, round)) {
					mu.Lock()
					if _, twice := owners[id]; twice {
						t.Errorf("two answers have the request id %s", id)
					}
					owners[id] = own.id
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if len(owners) < 400 {
		t.Errorf("only %d answers were compared", len(owners))
	}
	compareLog(t, b, owners)
}

// visit admits, reads and replays one event, hanging up at times, and returns the request ids of the answers.
func (b *bench) visit(own tenant, canary string) (ids []string) {
	a, _ := fresh()
	a = a.with("event_id", canary).with("idempotency_key", canary)
	body, err := json.Marshal(a)
	if err != nil {
		b.t.Error(err)
	}
	var id string
	for step := range 4 {
		r := request{method: "POST", path: "/v1/notifications", body: body, token: own.token}
		if step%2 == 1 && id != "" {
			r = request{method: "GET", path: "/v1/notifications/" + id, token: own.token}
		}
		ctx, hangUp := context.WithCancel(b.t.Context())
		if rand.IntN(5) == 0 {
			time.AfterFunc(time.Duration(rand.IntN(2000))*time.Microsecond, hangUp)
		}
		r.ctx = ctx
		ans, err := b.try(r)
		hangUp()
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				b.t.Errorf("%s: %v", canary, err)
			}
			continue
		}
		var d document
		if err := json.Unmarshal(ans.body, &d); err != nil || d.EventID != canary || ans.code/100 != 2 || id != "" && d.ID != id {
			b.t.Errorf("%s got %d %s", canary, ans.code, ans.body)
		}
		id = d.ID
		ids = append(ids, ans.header.Get("X-Request-Id"))
	}
	return ids
}

// compareLog checks that each request has one line, which names its own client.
func compareLog(t *testing.T, b *bench, owners map[string]dispatch.ClientID) {
	t.Helper()
	lines := func() map[string][]string {
		found := map[string][]string{}
		for _, line := range strings.Split(b.log.String(), "\n") {
			var l struct {
				Msg, Client string
				RequestID   string `json:"request_id"`
			}
			if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "request" {
				found[l.RequestID] = append(found[l.RequestID], l.Client)
			}
		}
		return found
	}
	eventually(t, "every answer is in the log", func() bool { return len(lines()) >= len(owners) })
	found := lines()
	for id, owner := range owners {
		if got := found[id]; len(got) != 1 || got[0] != owner.String() {
			t.Errorf("the log has %v for a request of %s", got, owner)
		}
	}
	if strings.Contains(b.log.String(), "canary") {
		t.Error("the log has what requests carried")
	}
}

func TestProblemsAndLogsRepeatNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, token := fresh()
	number, ids := a["recipient"].(string)[3:], "CANARYID"
	a = a.with("event_id", ids+"-e").with("idempotency_key", ids+"-k").with("subject", ids+"-s")
	good := string(a.json(t))
	cut := func(old, replacement string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the body has no %s", old)
		}
		return strings.Replace(good, old, replacement, 1)
	}
	for what, body := range map[string]string{
		"a bad time":           cut(a["expires_at"].(string), token),
		"a bad number":         cut(a["recipient"].(string), a["recipient"].(string)+"000000"),
		"letters in a number":  cut(a["recipient"].(string), token),
		"a number as a number": cut(`"`+a["recipient"].(string)+`"`, number),
		"a text as a member":   cut(`"subject"`, `"`+token+`"`),
		"a text of two lines":  cut(`"event_id":"`, `"event_id":"`+token+`\n`),
		"a text as a purpose":  cut(`{`, `{"purpose":"`+token+`",`),
		"a control character":  cut(token, token+`\u0007`),
		"broken JSON":          cut(`"expires_at"`, token),
		"a raw control":        cut(token, token+"\x01"),
		"something after it":   good + token,
	} {
		ans := b.do(request{method: "POST", path: "/v1/notifications?" + token + "=" + number, body: []byte(body), invalid: true})
		if ans.code != http.StatusBadRequest && ans.code != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d", what, ans.code)
		}
		for _, canary := range []string{token, number, ids} {
			if strings.Contains(string(ans.body)+fmt.Sprint(ans.header), canary) {
				t.Errorf("%s: the answer repeats %s: %s", what, canary, ans.body)
			}
		}
	}
	b.do(request{method: "GET", path: "/v1/notifications/" + token, invalid: true})
	b.do(request{method: "GET", path: "/" + token, invalid: true})
	b.do(request{method: "GET", path: "/v1/notifications?event_id=" + token, header: http.Header{"X-Request-Id": {token}, "User-Agent": {token}, "X-Forwarded-For": {token}}})
	b.admit(a)
	eventually(t, "all is logged", func() bool { return strings.Count(b.log.String(), `"msg":"request"`) >= 15 })
	for _, canary := range []string{token, number, ids, b.token} {
		if strings.Contains(b.log.String(), canary) {
			t.Errorf("the log has %s", canary)
		}
	}
}
