package sim

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"
)

func listURL(s *Server, query url.Values) string { return messagesURL(s) + "?" + query.Encode() }

func TestTheListIsNewestFirstAndPagesHoldStillWhileMessagesArrive(t *testing.T) {
	t.Parallel()
	ctx, c := testContext(t), newClient(t)
	s := startServer(t, Options{})
	var want []string
	for range 5 {
		var r resource
		sendForm(ctx, c, s, formTo(plainNumber)).decode(t, &r)
		want = append(want, r.SID)
	}
	slices.Reverse(want)
	sendForm(ctx, c, s, formTo("+4915112345679"))

	var got []string
	target := listURL(s, url.Values{"To": {plainNumber}, "PageSize": {"2"}})
	for number := 0; target != ""; number++ {
		var p page
		answer := get(ctx, c, s, target)
		answer.decode(t, &p)
		if answer.status != 200 || p.Page != number || p.PageSize != 2 || (p.Previous == nil) != (number == 0) {
			t.Fatalf("page %d: %d %+v", number, answer.status, p)
		}
		for _, m := range p.Messages {
			got = append(got, m.SID)
		}
		target = ""
		if p.Next != nil {
			target = s.BaseURL() + *p.Next
		}
		sendForm(ctx, c, s, formTo(plainNumber)) // a newcomer must not shift the pages that follow
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if s.Lookups() != 3 {
		t.Errorf("%d lookups", s.Lookups())
	}
}

func TestAMessageShowsInListsOnlyAfterTheLag(t *testing.T) {
	t.Parallel()
	ctx, c, clock := testContext(t), newClient(t), newManualClock()
	s := startServer(t, Options{Clock: clock, ListLag: time.Minute})
	var sent resource
	sendForm(ctx, c, s, formTo(plainNumber)).decode(t, &sent)
	count := func() int {
		var p page
		get(ctx, c, s, listURL(s, url.Values{"To": {plainNumber}})).decode(t, &p)
		return len(p.Messages)
	}
	clock.advance(time.Minute - 1)
	if n := count(); n != 0 {
		t.Errorf("%d visible before the lag", n)
	}
	fetched := get(ctx, c, s, s.BaseURL()+sent.URI)
	if fetched.status != http.StatusOK {
		t.Errorf("fetch by id: %+v", fetched)
	}
	clock.advance(1)
	if n := count(); n != 1 {
		t.Errorf("%d visible after the lag", n)
	}
	s.Hide(true)
	if n := count(); n != 0 {
		t.Errorf("%d visible while hidden", n)
	}
	s.Hide(false)
	s.SetListLag(time.Hour)
	if n := count(); n != 0 {
		t.Errorf("%d visible within the new lag", n)
	}
}

func TestListsFilterBySenderAndByDateSent(t *testing.T) {
	t.Parallel()
	ctx, c, clock := testContext(t), newClient(t), newManualClock()
	s := startServer(t, Options{Clock: clock})
	unsent, sent := formTo(plainNumber), formTo(plainNumber)
	unsent.Set("From", "Shop")
	sendForm(ctx, c, s, unsent)
	script(t, s, plainNumber, Behaviour{Accept: true, Receipts: ReceiptPlan{Off: true, BeforeAnswer: true, Steps: []ReceiptStep{{Status: "sent"}}}})
	sendForm(ctx, c, s, sent)
	for i, test := range []struct {
		query url.Values
		want  int
	}{
		{url.Values{}, 2},
		{url.Values{"From": {"Shop"}}, 1},
		{url.Values{"From": {"+15005550006"}}, 1},
		{url.Values{"DateSent": {"2026-11-29"}}, 1}, // not the unsent one: it has no date yet
		{url.Values{"DateSent": {"2026-11-28"}}, 0},
		{url.Values{"DateSent>": {"2026-11-29T14:00:00Z"}}, 1},
		{url.Values{"DateSent<": {"2026-11-29"}}, 0},
		{url.Values{"DateSent>": {"2026-11-29"}, "DateSent<": {"2026-11-30"}}, 1},
	} {
		var p page
		get(ctx, c, s, listURL(s, test.query)).decode(t, &p)
		if len(p.Messages) != test.want {
			t.Errorf("%d: %v gave %d", i, test.query, len(p.Messages))
		}
	}
}

func TestBadQueriesAndUnknownIdsAreRefused(t *testing.T) {
	t.Parallel()
	ctx, c := testContext(t), newClient(t)
	s := startServer(t, Options{})
	for target, want := range map[string]int{
		listURL(s, url.Values{"PageSize": {"0"}}):                                               400,
		listURL(s, url.Values{"PageSize": {"x"}}):                                               400,
		listURL(s, url.Values{"Page": {"-1"}}):                                                  400,
		listURL(s, url.Values{"PageToken": {"x"}}):                                              400,
		listURL(s, url.Values{"DateSent>": {"yesterday"}}):                                      400,
		fmt.Sprintf("%s/2010-04-01/Accounts/%s/Messages/SM1.json", s.BaseURL(), s.AccountSID()): 404,
		s.BaseURL() + "/2010-04-01/Accounts/ACother/Messages.json":                              404,
	} {
		if got := get(ctx, c, s, target); got.status != want {
			t.Errorf("%s: %+v", target, got)
		}
	}
	res, err := c.Get(messagesURL(s))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 401 {
		t.Errorf("a list without credentials: %d", res.StatusCode)
	}
}
