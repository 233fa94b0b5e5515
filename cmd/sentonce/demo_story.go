package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"sentonce/cmd/fakesms/sim"
	"sentonce/dispatch"
)

// scene is one event of the story and what it shows.
type scene struct {
	name    string // also its event id
	number  string // its last two digits choose what the simulator does
	subject string
	life    time.Duration
	shows   string
	last    dispatch.State // where the demo stops watching, unless the document is final before
}

// The numbers of the story. The last two digits mean something to the simulator (sim.Patterns), unless a script says otherwise.
const (
	numberPlain       = "+4915112340030"
	numberUndelivered = "+4915112340015"
	numberRefused     = "+4915112340005"
	numberThrottled   = "+4915112340036"
	numberLate        = "+4915112340031"
	numberWithdrawn   = "+4915112340032"
	numberSuperseded  = "+4915112340033"
	numberFound       = "+4915112340034"
	numberTold        = "+4915112340001"
	numberNever       = "+4915112340002"
	numberTwice       = "+4915112340035"
)

const demoLife = 10 * time.Minute

// tell plays the story. A scene that fails is told and does not stop the others.
func (d *demo) tell(ctx context.Context) {
	d.print.intro(d)
	var all sync.WaitGroup
	play := func(f func(context.Context) error) {
		all.Go(func() {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				d.print.line("the demo itself failed: %v", err)
			}
		})
	}
	play(d.simple(scene{name: "delivered", number: numberPlain, life: demoLife, shows: "the usual course"}))
	play(d.simple(scene{name: "undelivered", number: numberUndelivered, life: demoLife, shows: "taken by the provider, not by the phone"}))
	play(d.simple(scene{name: "refused", number: numberRefused, life: demoLife, shows: "a number that the provider refuses for good"}))
	all.Wait()
	play(d.throttled)
	all.Wait()
	play(d.found)
	play(d.simple(scene{name: "told", number: numberTold, life: demoLife, shows: "no answer to the call, but a delivery report that names it"}))
	play(d.simple(scene{name: "never-known", number: numberNever, life: 9 * time.Second, shows: "no answer, and no trace of it anywhere"}))
	play(d.twice)
	all.Wait()
	if ctx.Err() == nil {
		d.print.outro()
	}
}

// simple posts one event and watches it.
func (d *demo) simple(s scene) func(context.Context) error {
	return func(ctx context.Context) error {
		n, err := d.post(ctx, s)
		if err != nil {
			return err
		}
		return d.watch(ctx, s, n.ID, nil)
	}
}

// throttled shows a 429, and what becomes of events that arrive while the provider must be left alone: one whose life ends, one that is
// withdrawn, and one that a newer event replaces.
func (d *demo) throttled(ctx context.Context) error {
	if err := d.sim.Script(numberThrottled, busyOnce()); err != nil {
		return err
	}
	s := scene{name: "throttled", number: numberThrottled, life: demoLife, shows: "429 once: proven not sent, so it may go again"}
	n, err := d.post(ctx, s)
	if err != nil {
		return err
	}
	var meanwhile sync.WaitGroup
	defer meanwhile.Wait()
	paused := false
	return d.watch(ctx, s, n.ID, func(n news) error {
		if paused || len(n.Attempts) == 0 || n.Attempts[0].Outcome != dispatch.OutcomeNotSent {
			return nil
		}
		paused = true
		return d.meanwhile(ctx, &meanwhile)
	})
}

// busyOnce is a provider that asks to be left alone for long enough that an event may expire meanwhile.
func busyOnce() sim.Behaviour {
	return sim.Behaviour{Status: http.StatusTooManyRequests, Code: 20429, Header: http.Header{"Retry-After": {"3"}}, Times: 1}
}

// meanwhile posts what has to wait for the paused provider.
func (d *demo) meanwhile(ctx context.Context, watching *sync.WaitGroup) error {
	scenes := []scene{
		{name: "too-late", number: numberLate, life: 2 * time.Second, shows: "its life ends while the provider is paused"},
		{name: "withdrawn", number: numberWithdrawn, life: demoLife, shows: "the storefront takes it back in time"},
		{name: "superseded", number: numberSuperseded, subject: "customer-7", life: demoLife, shows: "the customer asks again: only the newer code goes out"},
		{name: "newer", number: numberSuperseded, subject: "customer-7", life: demoLife + time.Second, shows: "the newer code"},
	}
	for _, s := range scenes {
		n, err := d.post(ctx, s)
		if err != nil {
			return err
		}
		if s.name == "withdrawn" {
			if err := d.shop.cancel(ctx, n.ID); err != nil {
				return err
			}
		}
		watching.Go(func() {
			if err := d.watch(ctx, s, n.ID, nil); err != nil && ctx.Err() == nil {
				d.print.line("the demo itself failed: %v", err)
			}
		})
	}
	return nil
}

// found shows the product's reason to exist: the provider takes the message and its answer never comes.
func (d *demo) found(ctx context.Context) error {
	if err := d.sim.Script(numberFound, silent()); err != nil {
		return err
	}
	return d.simple(scene{name: "found", number: numberFound, life: demoLife, last: dispatch.StateSent,
		shows: "taken, but the answer never comes: asking finds it"})(ctx)
}

// silent takes a message, and neither answers nor reports.
func silent() sim.Behaviour {
	return sim.Behaviour{Accept: true, Ending: sim.EndHang, Times: 1, Receipts: sim.ReceiptPlan{Off: true}}
}

// twice shows an incident: one call of ours, and a second message of the same text at the provider, sent by somebody else with our account.
func (d *demo) twice(ctx context.Context) error {
	if err := d.sim.Script(numberTwice, silent()); err != nil {
		return err
	}
	s := scene{name: "two-messages", number: numberTwice, life: demoLife, last: dispatch.StateSent,
		shows: "the provider has two such messages, we made one call"}
	n, err := d.post(ctx, s)
	if err != nil {
		return err
	}
	if _, err := d.sim.WaitAccepted(ctx, numberTwice); err != nil {
		return err
	}
	if err := d.foreign(ctx, s); err != nil {
		return err
	}
	return d.watch(ctx, s, n.ID, nil)
}

// foreign sends a scene's text past the service.
func (d *demo) foreign(ctx context.Context, s scene) error {
	form := url.Values{"To": {s.number}, "From": {demoSender}, "Body": {s.text()}}
	address := d.sim.BaseURL() + "/2010-04-01/Accounts/" + d.sim.AccountSID() + "/Messages.json"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.SetBasicAuth(d.sim.AccountSID(), d.sim.AuthToken())
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusCreated {
		err = fmt.Errorf("the simulator answered %s", res.Status)
	}
	return errors.Join(err, res.Body.Close())
}

func (s scene) text() string { return "Your reset code is 493817 (" + s.name + ")" }

func (d *demo) post(ctx context.Context, s scene) (news, error) {
	n, err := d.shop.post(ctx, event{EventID: s.name, Key: "demo-" + s.name, Subject: s.subject, Recipient: s.number, Message: s.text(),
		ExpiresAt: time.Now().Add(s.life).UTC()})
	if err != nil {
		return n, fmt.Errorf("%s: %w", s.name, err)
	}
	d.print.progress(s.name, "accepted", "on disk; "+s.shows)
	return n, nil
}

// watch tells each change of a notification until nothing more is expected. changed, if given, is told of each document.
func (d *demo) watch(ctx context.Context, s scene, id string, changed func(news) error) error {
	tag, told := "", ""
	for {
		n, newTag, err := d.shop.next(ctx, id, tag)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		tag = newTag
		if n.ID == "" {
			continue
		}
		if state, words := explain(n); words != told && words != "" {
			told = words
			d.print.progress(s.name, state, words)
		}
		if changed != nil {
			if err := changed(n); err != nil {
				return err
			}
		}
		if n.Final || n.State == s.last {
			return nil
		}
	}
}
