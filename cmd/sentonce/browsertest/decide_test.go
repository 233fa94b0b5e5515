package browsertest

import (
	"net/http"
	"strings"
	"testing"

	"sentonce/cmd/fakesms/sim"

	"github.com/playwright-community/playwright-go"
)

// record fills the form of a verdict and sends it.
func (v *visitor) record(verdict, reason, note string, want int) {
	v.t.Helper()
	v.must(v.page.Locator(`input[name=verdict][value=` + verdict + `]`).Check())
	v.choose("reason", reason)
	v.choose("evidence_kind", "provider_log")
	v.must(v.page.Locator("#f-evidence_ref").Fill("console row A-47"))
	v.must(v.page.Locator("#f-note").Fill(note))
	v.submits(v.button("Record this verdict"), want)
}

func (v *visitor) choose(name, value string) {
	v.t.Helper()
	_, err := v.page.Locator("select[name=" + name + "]").SelectOption(playwright.SelectOptionValues{Values: playwright.StringSlice(value)})
	v.must(err)
}

// find searches in the head of the page for a number and opens the notification.
func (v *visitor) find(number, id string) {
	v.t.Helper()
	v.must(v.page.Locator("#q").Fill(number))
	v.leads(func() error { return v.page.Locator("#q").Press("Enter") }, http.StatusOK)
	if link := v.page.Locator(`main a[href^="/notifications/` + id + `"]`).First(); v.page.URL() != v.w.product.base+"/notifications/"+id {
		v.submits(link, http.StatusOK)
	}
	v.shows("main", id)
}

// settle is the path of support from a customer's number to a verdict, the same with and without scripts.
func settle(t *testing.T, v *visitor) {
	p := v.w.product
	id, number := p.unknown(t)
	v.find(number, id)
	if strings.Contains(v.page.URL(), number[5:]) {
		t.Errorf("the number is in the address %s", v.page.URL())
	}
	v.shows("#story", "Attempt 1 through main")
	asked := p.sim.Lookups()
	v.submits(v.button("Ask main now"), http.StatusOK)
	v.shows("main", "Asked: the provider")
	if p.sim.Lookups() == asked {
		t.Error("the provider was not asked")
	}
	v.record("sent", "provider_log", "seen in the provider's console", http.StatusOK)
	v.shows("#story", "console row A-47")
	v.shows("#story", "Person of support")
	v.absent("#decide")
	p.await(t, id, "sent")
	if got := len(p.sim.Requests(number)); got != 1 {
		t.Errorf("the provider got %d requests to send, want 1", got)
	}
}

func TestSupportSettlesWhatIsUnknownFromANumber(t *testing.T) {
	v := signedIn(t, "support")
	settle(t, v)
	v.quiet()
}

func TestDecidingWorksWithoutScripts(t *testing.T) {
	t.Run("settling", func(t *testing.T) { settle(t, signedIn(t, "support", withoutScripts)) })
	t.Run("sending again", func(t *testing.T) { sendAgain(t, withoutScripts) })
}

// sendAgain is the path of two persons to a second call.
func sendAgain(t *testing.T, change ...func(*playwright.BrowserNewContextOptions)) {
	p := theWorld(t).product
	number := p.number("18")
	if err := p.sim.Script(number, sim.Behaviour{Ending: sim.EndHang, Times: 1}); err != nil {
		t.Fatal(err)
	}
	id := p.admit(t, number, "dispatch_unknown")
	support := signedIn(t, "support", change...)
	support.open("/notifications/" + id)
	support.must(support.page.Locator(`input[name=verdict][value=not_sent]`).Check())
	support.must(support.page.Locator(`input[name=next][value=send_again]`).Check())
	support.record("not_sent", "provider_has_no_record", "the log has a gap here", http.StatusOK)
	support.shows("#proposal", "It is your own proposal")
	support.absent("#proposal form")

	compliance := signedIn(t, "compliance", change...)
	compliance.open("/notifications/" + id)
	if got := len(p.sim.Requests(number)); got != 1 {
		t.Errorf("before the approval the provider got %d requests to send, want 1", got)
	}
	compliance.must(compliance.page.Locator("#f-proposal-note").Fill("checked with the provider"))
	compliance.submits(compliance.button("Approve: send it again"), http.StatusOK)
	compliance.shows("main", "Approved. One more call is made.")
	s := p.await(t, id, "sent")
	if len(s.Attempts) != 2 || s.Attempts[0].Outcome != "not_sent" || s.Attempts[1].Outcome != "accepted" {
		t.Errorf("the attempts are %+v", s.Attempts)
	}
	if sends, kept := len(p.sim.Requests(number)), len(p.sim.Ledger(number)); sends != 2 || kept != 1 {
		t.Errorf("the provider got %d requests and has %d messages, want 2 and 1", sends, kept)
	}
}

func TestASecondPersonLetsExactlyOneMoreMessageOut(t *testing.T) {
	sendAgain(t)
}

// The page offers no button for it, so the person sends the form that another person would have.
func TestNobodyApprovesTheirOwnProposalEvenByHand(t *testing.T) {
	p := theWorld(t).product
	id, number := p.unknown(t)
	v := signedIn(t, "compliance")
	v.open("/notifications/" + id)
	v.must(v.page.Locator(`input[name=verdict][value=not_sent]`).Check())
	v.must(v.page.Locator(`input[name=next][value=send_again]`).Check())
	v.record("not_sent", "provider_has_no_record", "the log has a gap here", http.StatusOK)
	proposal, err := v.page.Locator("#proposal").GetAttribute("data-proposal")
	v.must(err)
	code, err := v.page.Evaluate(`async ([path, version]) => (await fetch(path,
		{method: "POST", body: new URLSearchParams({note: "I agree with myself", version}), redirect: "manual"})).status`,
		[]any{"/notifications/" + id + "/proposals/" + proposal + "/approve", p.await(t, id, "dispatch_unknown").Version})
	v.must(err)
	if code != http.StatusForbidden && code != http.StatusConflict {
		t.Errorf("the answer is %v, want 403 or 409", code)
	}
	v.open("/notifications/" + id)
	v.shows("#proposal", "It is your own proposal")
	if got := len(p.sim.Requests(number)); got != 1 {
		t.Errorf("the provider got %d requests to send, want 1", got)
	}
}

func TestAnIncompleteFormSaysWhatIsMissingAndKeepsTheRest(t *testing.T) {
	p := theWorld(t).product
	id, number := p.unknown(t)
	v := signedIn(t, "support")
	v.open("/notifications/" + id)
	v.record("sent", "provider_log", "the customer "+number+" has it", http.StatusUnprocessableEntity)
	v.shows(".summary", "Nothing was changed")
	v.accessible("a form with faults")
	focused, err := v.page.Evaluate(`() => document.activeElement.matches(".summary")`)
	v.must(err)
	if focused != true {
		t.Error("the summary of faults does not have the focus")
	}
	kept, err := v.page.Locator("#f-evidence_ref").InputValue()
	v.must(err)
	if kept != "console row A-47" {
		t.Errorf("the reference of the evidence is now %q", kept)
	}
}
