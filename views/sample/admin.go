package sample

import (
	"time"

	"sentonce/dispatch"
	"sentonce/views"
)

// admin is the frame of a page for an admin.
func admin(o Options, path string) views.Shell {
	s := shell(o, path)
	s.User = &views.User{Name: "D. Fox", Email: "d.fox@shop.example", Role: "Admin"}
	return s
}

func clientStates(o Options) []State {
	s := admin(o, views.PathClients)
	list := views.Clients{MayEdit: true, Rows: []views.ClientRow{
		{ID: "cli_01kb1", Name: "Shop North", Keys: 2, KeysNote: "one ends in 6 days", CreatedAt: ago(900 * time.Hour), LastUsed: ago(2 * time.Second), Accepted: 6120, Unknown: 9},
		{ID: "cli_01kb2", Name: "Shop South", Keys: 1, CreatedAt: ago(700 * time.Hour), LastUsed: ago(41 * time.Second), Accepted: 2292, Unknown: 3},
		{ID: "cli_01kb3", Name: "Outlet (not yet live)", Keys: 0, KeysNote: "cannot hand over events", CreatedAt: ago(3 * time.Hour)}}}
	none := views.Clients{MayEdit: true, Empty: &views.Empty{Kind: views.NothingYet, Title: "No client yet", Text: "Add a storefront, then make it a key.", Links: []views.Link{{Text: "Add a client", Path: views.PathNewClient}}}}
	one := client()
	fault := client()
	fault.Form.Name = "backend live"
	fault.Form.Errors = views.FieldErrors{{Field: "name", Text: "A key in use has this name already."}, {Field: "scopes", Text: "Choose at least one thing that the key may do."}, {Field: "expires_on", Text: "Give the last day, at most one year from now."}}
	reader := client()
	reader.MayEdit = false
	secret := views.Secret{Title: "The new key", What: "API key", Value: "sk_test_7Qm2vR9xK4pT8wN3yB6cD1fH5jL0sZ", Told: "Put it into the storefront's configuration now.", Back: views.ClientPath("cli_01kb1"),
		Facts:   []views.Fact{{Name: "Client", Text: "Shop North"}, {Name: "Name", Text: "backend live"}, {Name: "May", Text: "hand over events, read the status"}, {Name: "Ends", Text: "29 Nov 2027"}},
		Example: "curl https://sms.example.org/v1/notifications?event_id=try-1 \\\n  -H 'Authorization: Bearer sk_test_…'"}
	rotate := views.Confirm{Title: "Replace a key", Object: "backend live of Shop North, sk_live_…3f2a", Action: views.KeyPath("cli_01kb1", "key_1", "rotate"), Button: "Make the new key", Back: views.ClientPath("cli_01kb1"),
		Effects: []string{"A new key is made; its secret is shown once.", "The old one keeps working for the time that you choose, so that the storefront can change over without a gap."},
		Selects: []views.Choosing{{Input: views.Input{Name: "overlap", Label: "The old key ends", Value: "24h"}, Choices: []views.Choice{{Value: "1h", Label: "in 1 hour"}, {Value: "24h", Label: "in 24 hours"}, {Value: "168h", Label: "in 7 days"}}}}}
	revoke := views.Confirm{Title: "Revoke a key", Object: "backend live of Shop North, sk_live_…3f2a", Action: views.KeyPath("cli_01kb1", "key_1", "revoke"), Button: "Revoke the key", Danger: true, Back: views.ClientPath("cli_01kb1"),
		Effects: []string{"From now on, requests with this key are refused. It was last used 2 s ago.", "What it handed over before is still sent.", "This cannot be undone."},
		Inputs:  []views.Input{{Name: "note", Label: "Why?", Required: true, Max: 200}}}
	const g = "Clients and keys"
	return []State{{"clients", g, "List", views.ClientsPage(s, list)}, {"clients-none", g, "None yet", views.ClientsPage(s, none)},
		{"client-new", g, "Add a client", views.NewClientPage(s, views.NewClient{Errors: views.FieldErrors{{Field: "name", Text: "Give the client a name."}}})},
		{"client", g, "One client", views.ClientPage(s, one)}, {"client-key-fault", g, "A key that cannot be made (422)", views.ClientPage(s, fault)},
		{"client-reader", g, "Seen by a role that may only read", views.ClientPage(s, reader)},
		{"key-secret", g, "The secret, shown once", views.SecretPage(s, secret)}, {"key-rotate", g, "Replace a key", views.ConfirmPage(s, rotate)}, {"key-revoke", g, "Revoke a key", views.ConfirmPage(s, revoke)}}
}

func client() views.Client {
	scopes := views.Scopes()
	scopes[0].Chosen, scopes[1].Chosen = true, true
	return views.Client{ID: "cli_01kb1", Name: "Shop North", CreatedAt: ago(900 * time.Hour), MayEdit: true, Form: views.KeyForm{Scopes: scopes},
		Facts: []views.Fact{{Name: "Client id", ID: "cli_01kb7v2q00x9f3m0zc8hwd5t6r"}, {Name: "Added", Time: ago(900 * time.Hour)}, {Name: "Accepted in 24 hours", Text: "6,120", Path: "/notifications?client=north"}, {Name: "Unknown now", Text: "9", Path: views.PathUnknown}},
		Keys: []views.APIKey{
			{ID: "key_1", Name: "backend live", Hint: "sk_live_…3f2a", Scopes: "hand over events, read, withdraw", State: "In use", Tone: views.ToneGood, CreatedAt: ago(600 * time.Hour), CreatedBy: "D. Fox", LastUsed: ago(2 * time.Second), ExpiresAt: in(4000 * time.Hour), Live: true},
			{ID: "key_2", Name: "backend live, before", Hint: "sk_live_…9b01", Scopes: "hand over events, read, withdraw", State: "Ends soon", Tone: views.ToneWarn, CreatedAt: ago(900 * time.Hour), CreatedBy: "D. Fox", LastUsed: ago(26 * time.Hour), ExpiresAt: in(140 * time.Hour), Live: true},
			{ID: "key_3", Name: "trial", Hint: "sk_test_…77c0", Scopes: "hand over events", State: "Revoked", Tone: views.ToneMuted, CreatedAt: ago(899 * time.Hour), CreatedBy: "command line", ExpiresAt: ago(800 * time.Hour)}}}
}

func staffStates(o Options) []State {
	s := admin(o, views.PathStaff)
	list := views.Staff{MayEdit: true, Roles: views.RoleLines(), Notices: []views.Alert{{Tone: views.ToneWarn, Title: "2 accounts have no second factor.", Text: "You can require one in the settings."}},
		Rows: []views.Person{
			{ID: "stf_1", Name: "A. Roe", Email: "a.roe@shop.example", Role: "Support", State: "Active", Tone: views.ToneGood, SecondFactor: true, LastSeen: ago(20 * time.Second)},
			{ID: "stf_2", Name: "C. Doe", Email: "c.doe@shop.example", Role: "Compliance", State: "Active", Tone: views.ToneGood, LastSeen: ago(3 * time.Hour)},
			{ID: "stf_3", Name: "E. Auditor", Email: "audit@house.example", Role: "Auditor", State: "Invited", Tone: views.ToneInfo, EndsOn: "2026-12-31"},
			{ID: "stf_4", Name: "D. Fox", Email: "d.fox@shop.example", Role: "Admin", State: "Active", Tone: views.ToneGood, SecondFactor: true, LastSeen: ago(time.Minute)},
			{ID: "stf_5", Name: "F. Gone", Email: "f.gone@shop.example", Role: "Support", State: "Disabled", Tone: views.ToneMuted, LastSeen: ago(900 * time.Hour)}}}
	account := views.Account{Person: list.Rows[0], Role: "support", MayEdit: true, Sessions: sessions()}
	invite := views.Invite{Name: "E. Auditor", Email: "audit@house.example", Role: "auditor", Errors: views.FieldErrors{{Field: "ends_on", Text: "An auditor's account needs a last day."}}}
	link := views.Secret{Title: "The invitation", What: "Invitation link", Value: "https://sms.example.org/invitation?token=4mX8-q2Lw-7Tn0-Zb5k", Told: "Pass it on to the person yourself; it is not sent by mail.", Back: views.PathStaff,
		Facts: []views.Fact{{Name: "For", Text: "E. Auditor, audit@house.example"}, {Name: "Role", Text: "Auditor, until 31 Dec 2026"}, {Name: "Works until", Time: in(24 * time.Hour)}}}
	disable := views.Confirm{Title: "Disable an account", Object: "A. Roe, a.roe@shop.example", Action: views.PersonStepPath("stf_1", "disable"), Button: "Disable the account", Danger: true, Back: views.PersonPath("stf_1"),
		Effects: []string{"A. Roe is signed out everywhere at once.", "2 items that A. Roe has claimed become free again; one proposal lapses.", "You can enable the account again."}, Inputs: []views.Input{{Name: "note", Label: "Why?", Required: true, Max: 200}}}
	const g = "Staff"
	return []State{{"staff", g, "List", views.StaffPage(s, list)}, {"staff-invite", g, "Invite, with a fault (422)", views.InvitePage(s, invite)}, {"staff-invited", g, "The link, shown once", views.SecretPage(s, link)},
		{"staff-person", g, "One account", views.AccountPage(s, account)}, {"staff-disable", g, "Disable an account", views.ConfirmPage(s, disable)}}
}

func sessions() []views.Session {
	return []views.Session{{What: "Firefox on Linux", StartedAt: ago(3 * time.Hour), LastSeen: ago(20 * time.Second), This: true}, {What: "Safari on an iPhone", StartedAt: ago(26 * time.Hour), LastSeen: ago(2 * time.Hour)}}
}

func providerStates(o Options) []State {
	s := shell(o, views.PathProviders)
	latency := line("latency-main", "How fast it answers", "Half of the answers within 180 ms.", []string{"Half of them", "95 %", "99 %"}, "ms", 10000, "timeout")
	latency.ID, latency.Wide = "latency-main", true
	for i := range latency.Bars {
		latency.Bars[i].Values = []int{170 + (i*13)%40, 900 + (i*61)%500, 2600 + (i*997)%5200}
	}
	main := views.Provider{Name: "main", Kind: "Twilio", State: views.ProviderRunning, Sentence: "It takes messages.", Breaker: "closed", InFlight: 14, AtOnce: 32, LastTaken: ago(time.Second), LastFailed: ago(4 * time.Minute),
		Timeout: 10 * time.Second, Median: 181 * time.Millisecond, P95: 1100 * time.Millisecond, P99: 6800 * time.Millisecond, Calls: 8391, Sent: 8310, NotSent: 22, Refused: 47, Unknown: 12, List: "/notifications?state=dispatch_unknown", Latency: &latency,
		Can: dispatch.Capabilities{Lookup: dispatch.LookupByRecipient, Receipts: true, ReceiptsEcho: true, ValidityUnit: time.Second, ValidityMin: time.Second, ValidityMax: 10 * time.Hour}}
	backup := views.Provider{Name: "backup", Kind: "Kannel", State: views.ProviderOpen, Sentence: "5 of its last 8 calls ended in doubt, so no new calls are made. Single calls try it out again from 15:10:20.", Breaker: "open", AtOnce: 8, LastTaken: ago(26 * time.Minute), LastFailed: ago(50 * time.Second),
		Timeout: 5 * time.Second, Median: 64 * time.Millisecond, P95: 210 * time.Millisecond, P99: 5 * time.Second, Calls: 41, Sent: 36, Unknown: 5, List: "/notifications?state=dispatch_unknown",
		Can: dispatch.Capabilities{Lookup: dispatch.LookupNone, Receipts: true, ValidityUnit: time.Minute, ValidityMin: time.Minute, ValidityMax: 24 * time.Hour}}
	held := backup
	held.Name, held.Kind, held.State, held.HeldBy, held.Breaker, held.Sentence = "spare", "HTTP", views.ProviderHeld, "A. Roe", "closed", "A. Roe paused it 12 min ago: “the provider asked us to”. No new calls are made."
	refusing := held
	refusing.Name, refusing.State, refusing.HeldBy, refusing.Sentence = "third", views.ProviderRefusing, "", "It refuses our account: the credential is not valid (code 20003). No new calls are made until somebody mends that."
	refusing.Can = dispatch.Capabilities{Lookup: dispatch.LookupByReference, AbsenceProves: true, AbsenceLag: 90 * time.Second, Receipts: false, DuplicatesRefused: true, Cancel: true}
	m := views.Providers{Ranges: overview().Ranges, MayPause: true, Live: views.Live{Path: "/providers?rev=5", Rev: 5}, Rows: []views.Provider{main, backup, held, refusing},
		System: []views.Fact{{Name: "Database", Text: "412 MiB, journal 3.1 MiB"}, {Name: "Free space", Text: "81 GiB"}, {Name: "Last backup", Time: ago(3 * time.Hour)}, {Name: "Clock", Text: "in step, at most 3 ms off"}, {Name: "Keys", Text: "version 2 since 3 Oct 2026"}, {Name: "Schema", Text: "1"}}}
	pause := views.Confirm{Title: "Pause a provider", Object: "main", Action: views.ProviderPausePath("main"), Button: "Pause main", Back: views.PathProviders,
		Effects: []string{"No new calls are made through main. The 14 calls under way go on to their end.", "Messages that can take another provider do so; the others wait, and expire with their lifetime.", "Lookups and delivery reports go on."},
		Selects: []views.Choosing{{Input: views.Input{Name: "reason", Label: "Reason", Required: true}, Choices: []views.Choice{{Value: "provider_incident", Label: "The provider has an incident"}, {Value: "provider_asked", Label: "The provider asked us to"}, {Value: "cost", Label: "Cost or abuse"}, {Value: "maintenance", Label: "Our own maintenance"}, {Value: "other", Label: "Another reason, in the note"}}}},
		Inputs:  []views.Input{{Name: "note", Label: "Note", Required: true, Max: 200}}}
	const g = "Providers"
	return []State{{"providers", g, "Running, stopped, paused, refusing", views.ProvidersPage(s, m)}, {"provider-pause", g, "Pause", views.ConfirmPage(s, pause)}}
}
