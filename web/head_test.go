package web

import (
	"strings"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/views"
)

// Every state and every reason has a sentence of its own for people who talk to customers, and it answers how many codes the customer got.
func TestTheHeadSaysWhatIsKnownInWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 14, 0, 0, 0, time.UTC)
	attempt := func(n int, o dispatch.Outcome) dispatch.Attempt {
		return dispatch.Attempt{Number: n, Provider: "main", Outcome: o, StartedAt: now.Add(-time.Minute), DeadlineAt: now.Add(5 * time.Second),
			LookupAt: now.Add(30 * time.Second)}
	}
	record := func(s dispatch.State, why dispatch.Reason, outcomes ...dispatch.Outcome) dispatch.Record {
		r := dispatch.Record{Notification: dispatch.Notification{State: s, Reason: why, Final: s.AlwaysFinal(), AcceptedAt: now.Add(-2 * time.Minute),
			ExpiresAt: now.Add(3 * time.Minute), DueAt: now.Add(time.Second)}}
		if s.Stopped() {
			r.StoppedAt = now.Add(-time.Second)
		}
		for i, o := range outcomes {
			r.Attempts = append(r.Attempts, attempt(i+1, o))
		}
		return r
	}
	const none, maybe, one = "The customer got no code from it.", "may have one code from it, or none", "One code was sent to the customer."
	for name, c := range map[string]struct {
		r    dispatch.Record
		says []string
		next string
	}{
		"waits":            {record(dispatch.StateAccepted, ""), []string{"waits to be sent", "Nothing has been sent yet"}, "lifetime ends"},
		"waits again":      {record(dispatch.StateAccepted, "", dispatch.OutcomeNotSent), []string{"to main, did not send it", "waits for the next call"}, "next call"},
		"calling":          {record(dispatch.StateDispatching, "", dispatch.OutcomePending), []string{"A call to main is under way"}, "given up"},
		"unknown":          {record(dispatch.StateUnknown, "", dispatch.OutcomeUnknown), []string{"It is not known", "nothing is sent again while this is open"}, "main is asked about it again"},
		"sent":             {record(dispatch.StateSent, dispatch.ReasonProviderAccepted, dispatch.OutcomeAccepted), []string{"main has it", "not known yet", one}, "report"},
		"delivered":        {record(dispatch.StateDelivered, dispatch.ReasonProviderAccepted, dispatch.OutcomeAccepted), []string{"the phone has it", one}, ""},
		"undelivered":      {record(dispatch.StateUndelivered, dispatch.ReasonProviderAccepted, dispatch.OutcomeAccepted), []string{"did not arrive", "none arrived"}, ""},
		"refused":          {record(dispatch.StateFailed, dispatch.ReasonProviderRefused, dispatch.OutcomeRefused), []string{"main definitely refused it", none}, ""},
		"unreadable":       {record(dispatch.StateFailed, dispatch.ReasonUnreadable), []string{"cannot be read", none}, ""},
		"expired":          {record(dispatch.StateExpired, dispatch.ReasonExpiredBeforeSend), []string{"before it could be sent", none}, ""},
		"expired, outage":  {record(dispatch.StateExpired, dispatch.ReasonProviderUnavailable), []string{"no provider could take a call", none}, ""},
		"expired in doubt": {record(dispatch.StateExpired, dispatch.ReasonOutcomeUnknown, dispatch.OutcomeUndetermined), []string{"it was not known", maybe}, "still asked"},
		"found later":      {record(dispatch.StateExpired, dispatch.ReasonOutcomeUnknown, dispatch.OutcomeAccepted), []string{"sent all the same", one}, ""},
		"ruled out later":  {record(dispatch.StateExpired, dispatch.ReasonOutcomeUnknown, dispatch.OutcomeNotSent), []string{"found out later that it was not sent", none}, ""},
		"client":           {record(dispatch.StateCancelled, dispatch.ReasonWithdrawnByClient), []string{"The storefront withdrew it", none}, ""},
		"staff":            {record(dispatch.StateCancelled, dispatch.ReasonWithdrawnByStaff), []string{"A member of staff withdrew it", none}, ""},
		"superseded":       {record(dispatch.StateCancelled, dispatch.ReasonSuperseded), []string{"A newer request", none}, ""},
		"policy":           {record(dispatch.StateCancelled, dispatch.ReasonRefusedByPolicy), []string{"A limit or a block", none}, ""},
		"restored":         {record(dispatch.StateCancelled, dispatch.ReasonRestored, dispatch.OutcomeUndetermined), []string{"restored from a backup", maybe}, ""},
		"exhausted":        {record(dispatch.StateCancelled, dispatch.ReasonAttemptsExhausted, dispatch.OutcomeNotSent), []string{"no further call is allowed", none}, ""},
		"closed":           {record(dispatch.StateCancelled, dispatch.ReasonClosedNotSent, dispatch.OutcomeNotSent), []string{"decided that it was not sent", none}, ""},
		"closed in doubt":  {record(dispatch.StateCancelled, dispatch.ReasonClosedUndetermined, dispatch.OutcomeUndetermined), []string{"without knowing", maybe}, ""},
		"two codes":        {record(dispatch.StateSent, dispatch.ReasonProviderAccepted, dispatch.OutcomeAccepted, dispatch.OutcomeAccepted), []string{"2 codes were sent"}, ""},
		"one and a doubt":  {record(dispatch.StateSent, dispatch.ReasonProviderAccepted, dispatch.OutcomeAccepted, dispatch.OutcomeUnknown), []string{"At least 1 of 2 calls"}, ""},
	} {
		h := headOf(c.r, now)
		for _, want := range c.says {
			if !strings.Contains(h.Sentence, want) {
				t.Errorf("%s: %q does not say %q", name, h.Sentence, want)
			}
		}
		var next []string
		for _, n := range h.Next {
			next = append(next, n.What)
			if !n.At.After(now) {
				t.Errorf("%s: %q is announced for the past", name, n.What)
			}
		}
		if !strings.Contains(strings.Join(next, "; "), c.next) || c.next == "" && c.r.State.AlwaysFinal() && doubtful(c.r) == 0 && len(next) > 0 {
			t.Errorf("%s: next is %q", name, next)
		}
	}
	for _, s := range dispatch.States() {
		if h := headOf(record(s, "", dispatch.OutcomeUnknown), now); strings.Contains(h.Sentence, "Its state is") {
			t.Errorf("%s has no words", s)
		}
	}
}

// A doubt is never called a failure, and nobody is told to try again.
func TestFieldF03_NoWordsInviteASecondSend(t *testing.T) {
	t.Parallel()
	r := dispatch.Record{Notification: dispatch.Notification{State: dispatch.StateUnknown}, Attempts: []dispatch.Attempt{{Number: 1,
		Provider: "main", Outcome: dispatch.OutcomeUnknown}}}
	for _, s := range []string{headOf(r, time.Now()).Sentence, views.StatusOf(r.State).Sentence} {
		for _, bad := range []string{"fail", "try again", "error", "retry", "resend"} {
			if strings.Contains(strings.ToLower(s), bad) {
				t.Errorf("%q says %q", s, bad)
			}
		}
	}
}

func TestNumbersAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"+4915112345678": "+4915112345678", "+49 (151) 1234-5678": "+4915112345678",
		"0049 151 12345678": "+4915112345678", "4915112345678": "+4915112345678", "tel:+49-151-12345678": "+4915112345678", "015112345678": "",
		"evt-4915112345678": "", "+49": "", "": "", "ntf_01kb7v2q": "", "+4915112345678x": ""} {
		number, _ := readNumber(text)
		if number.Reveal() != want {
			t.Errorf("%q is read as a number: %v", text, number.Reveal() != "")
		}
	}
}

// What a list's address says is the same after it was read and written, whatever the zone of the reader.
func TestFieldF49_AnAddressMeansTheSameInEveryZone(t *testing.T) {
	t.Parallel()
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	kathmandu, err := time.LoadLocation("Asia/Kathmandu")
	if err != nil {
		t.Fatal(err)
	}
	q := readList(map[string][]string{"day": {"2026-06-30"}, "state": {"sent", "accepted", "sent"}, "rows": {"25"}, "attempts": {"2"}}, london)
	const want = "state=accepted&state=sent&from=2026-06-29T23%3A00%3A00Z&to=2026-06-30T23%3A00%3A00Z&attempts=2&rows=25"
	if q.whole() != want || len(q.notices)+len(q.errors) > 0 {
		t.Fatalf("30 June in London is %s (%v %v)", q.whole(), q.notices, q.errors)
	}
	for _, zone := range []*time.Location{time.UTC, london, kathmandu} {
		values := map[string][]string{"state": {"sent", "accepted"}, "from": {"2026-06-29T23:00:00Z"}, "to": {"2026-06-30T23:00:00Z"},
			"attempts": {"2"}, "rows": {"25"}}
		if again := readList(values, zone); again.whole() != want {
			t.Errorf("in %s it is %s", zone, again.whole())
		}
	}
	if at := readList(map[string][]string{"from": {"2026-06-30T00:00"}}, kathmandu).filter.From; !at.Equal(time.Date(2026, 6, 29, 18, 15, 0, 0, time.UTC)) {
		t.Errorf("midnight in Kathmandu is %s", at)
	}
}

func TestNothingInAnAddressIsDroppedInSilence(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"colour": "red", "state": "lost", "reason": "none", "client": "cli_1", "recipient": "+4915112345678",
		"id": "x", "from": "yesterday", "attempts": "-1", "rows": "7", "OFFSET": "50"} {
		q := readList(map[string][]string{name: {value}}, time.UTC)
		if len(q.notices) != 1 || !strings.Contains(q.notices[0], name) || strings.Contains(q.notices[0], value) {
			t.Errorf("%s=%s: %q", name, value, q.notices)
		}
	}
}
