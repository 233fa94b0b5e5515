package sample

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"sentonce/dispatch"
	"sentonce/views"
)

func settingStates(o Options) []State {
	s := admin(o, views.PathSettings)
	limit := views.Setting{Name: "unknown_limit", Label: "Limit for open doubts", Help: "A doubt that is open for longer is shown as late.", Value: "5 min", Default: "10 min", Range: "1 min to 24 h", ChangedAt: ago(31 * time.Minute), ChangedBy: "D. Fox"}
	second := views.Setting{Name: "send_again_second_person", Label: "Second person for “send again”", Help: "One person proposes, another approves.", Value: "required", Default: "required"}
	all := views.Settings{Version: 14, MayEdit: true, Groups: []views.SettingGroup{
		{Name: "Sending", Settings: []views.Setting{{Name: "max_attempts", Label: "Sends in doubt, at most", Help: "How many calls of one notification may end in doubt.", Value: "3", Default: "3", Range: "1 to 5"}, {Name: "min_remaining", Label: "Least life for a call", Help: "With less left it expires instead.", Value: "5 s", Default: "5 s", Range: "1 s to 60 s"}}},
		{Name: "Doubts", Settings: []views.Setting{limit, second, {Name: "approve_by_support", Label: "Support may approve", Help: "Otherwise only compliance may.", Value: "no", Default: "no"}}},
		{Name: "Sign-in", Settings: []views.Setting{{Name: "totp_required", Label: "Second factor", Help: "Everybody sets up an authenticator app at the next sign-in.", Value: "required", Default: "optional", ChangedAt: ago(700 * time.Hour), ChangedBy: "D. Fox"}}}},
		Boot: []views.Fact{{Name: "Public address", Text: "https://sms.example.org"}, {Name: "Data folder", Text: "/var/lib/sentonce"}, {Name: "Master key", Text: "set, version 2"}, {Name: "Credential of main", Text: "set"}}}
	edit := views.SettingEdit{Setting: limit, Version: 14, Input: views.Input{Name: "value", Label: "New value", Hint: "A number and a unit, e.g. 10 min.", Value: "2 days", Required: true, Short: true}, Errors: views.FieldErrors{{Field: "value", Text: "2 days is more than the 24 h that are allowed."}},
		History: []views.SettingChange{{At: ago(31 * time.Minute), By: "D. Fox", From: "10 min", To: "5 min", Note: "we are faster now", Version: 14}, {At: ago(400 * time.Hour), By: "D. Fox", From: "15 min", To: "10 min", Note: "review of November", Version: 9}}}
	diff := edit
	diff.Errors, diff.Diff, diff.New, diff.Input.Value, diff.Note = nil, true, "8 min", "8 min", "too many late ones at night"
	diff.Effect = "Of the 12 doubts that are open now, 1 stays late; 4 are late under the value of now."
	const g = "Settings"
	return []State{{"settings", g, "All", views.SettingsPage(s, all)}, {"setting-fault", g, "A value out of range (422)", views.SettingPage(s, edit)}, {"setting-diff", g, "The difference, before it is stored", views.SettingPage(s, diff)}}
}

func profileStates(o Options) []State {
	s := shell(o, views.PathProfile)
	m := views.Profile{Name: "A. Roe", Email: "a.roe@shop.example", Role: "Support", Zone: "Europe/Berlin", Zones: []views.Choice{{Value: "UTC", Label: "UTC"}, {Value: "Europe/Berlin", Label: "Europe/Berlin"}, {Value: "Europe/London", Label: "Europe/London"}}, KeysOn: true, SecondFactor: true, CodesLeft: 8, Sessions: sessions()}
	fault := m
	fault.SecondFactor, fault.PasswordErrors = false, views.FieldErrors{{Field: "password", Text: "That is not your password now."}, {Field: "new_password", Text: "The new password is in lists of stolen ones. Choose another."}}
	const g = "Profile"
	return []State{{"profile", g, "With a second factor", views.ProfilePage(s, m)}, {"profile-fault", g, "Without; a password that is refused (422)", views.ProfilePage(s, fault)}}
}

func entryStates(o Options) []State {
	s := bare(o)
	login := func(name, title string, m views.Login) State {
		return State{name, "Sign-in", title, views.LoginPage(s, m)}
	}
	totp := views.TOTP{Secret: "JBSW Y3DP EHPK 3PXP JBSW Y3DP", URI: "otpauth://totp/sentonce:a.roe?secret=JBSWY3DPEHPK3PXP", QR: pattern(), Forced: true}
	fault := totp
	fault.Forced, fault.Errors = false, views.FieldErrors{{Field: "code", Text: "The code does not fit. Check that the clock of your device is right, and type the next one."}}
	codes := views.RecoveryCodes{Codes: []string{"7mq2-x9kd", "4tn8-w3pz", "9rb6-c1vh", "2fj5-l0sy", "8xk4-m7qd", "3pz9-t2nw", "6vh1-r8bc", "1sy0-f5jl", "5qd7-k4xm", "0nw3-p9zt"}}
	invitation := views.Invitation{Token: "4mX8-q2Lw-7Tn0-Zb5k", Name: "E. Auditor", Email: "audit@house.example", Role: "Auditor", ExpiresAt: in(23 * time.Hour)}
	short := invitation
	short.Errors = views.FieldErrors{{Field: "new_password", Text: "At least 12 characters are needed; this has 8."}}
	const g = "Sign-in"
	return []State{login("login", "The form", views.Login{}), login("login-wrong", "Wrong", views.Login{Email: "a.roe@shop.example", Problem: views.LoginWrong}),
		login("login-throttled", "Too many tries", views.Login{Email: "a.roe@shop.example", Problem: views.LoginThrottled, Wait: 45 * time.Second}),
		login("login-ended", "The session ended in the middle of a form", views.Login{Email: "a.roe@shop.example", Problem: views.LoginEnded, Kept: true, Next: views.NotificationPath(itemID)}),
		login("login-signed-out", "Signed out", views.Login{Problem: views.LoginSignedOut}),
		{"totp", g, "Set up the second factor, required", views.TOTPPage(s, totp)}, {"totp-fault", g, "The code does not fit (422)", views.TOTPPage(s, fault)}, {"recovery-codes", g, "Recovery codes", views.RecoveryCodesPage(s, codes)},
		{"invitation", g, "Accept an invitation", views.InvitationPage(s, invitation)}, {"invitation-fault", g, "A password that is too short (422)", views.InvitationPage(s, short)}, {"invitation-gone", g, "A link that is used up", views.InvitationPage(s, views.Invitation{Gone: true})}}
}

// pattern looks like a code to scan and holds nothing.
func pattern() *views.QR {
	const size = 33
	var path strings.Builder
	for y := 4; y < size-4; y++ {
		for x := 4; x < size-4; x++ {
			if (x*x*7+y*y*3+x*y*5)%11 < 5 {
				path.WriteString("M" + strconv.Itoa(x) + " " + strconv.Itoa(y) + "h1v1h-1z")
			}
		}
	}
	return &views.QR{Size: size, Path: path.String()}
}

func errorStates(o Options) []State {
	s := shell(o, "")
	var all []State
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		all = append(all, State{"error-" + strconv.Itoa(status), "Errors", http.StatusText(status), views.ErrorPage(s, views.ErrorOf(status, "req_01kb7v9q2m"))})
	}
	stale := views.ErrorOf(http.StatusConflict, "req_01kb7v9q2m")
	stale.Text = "While you were writing, a delivery report settled this one. Your verdict was not recorded."
	stale.Kept = "The console shows the message with status “sent” at 15:03:14."
	stale.Changed = []views.Fact{{Name: "Status", State: dispatch.StateDelivered}, {Name: "Changed by", Text: "main, by a delivery report"}, {Name: "When", Time: ago(12 * time.Second)}}
	stale.Links = []views.Link{{Text: "See it as it is now", Path: views.NotificationPath(itemID)}, {Text: "Back to the worklist", Path: views.PathUnknown}}
	return append(all, State{"error-409", "Errors", "A form that came too late keeps its note", views.ErrorPage(s, stale)},
		State{"error-404-signed-out", "Errors", "Not found, nobody signed in", views.ErrorPage(bare(o), views.ErrorOf(http.StatusNotFound, "req_01kb7v9q2m"))})
}

// shellStates are what a page may have around it.
func shellStates(o Options) []State {
	s := shell(o, views.PathUnknown)
	s.Environment = views.Environment{Name: "PRODUCTION", Live: true}
	s.Flash = &views.Alert{Tone: views.ToneGood, Title: "Claimed. It is yours for 15 minutes.", Links: []views.Link{{Text: "Undo", Path: views.PathUnknown}}}
	s.Banners = []views.Alert{{Tone: views.ToneBad, Title: "Quarantine.", Text: "The database was restored from a backup. Nothing is accepted and nothing is sent until a person releases it.", Links: []views.Link{{Text: "What was closed", Path: views.PathNotifications}}},
		{Tone: views.ToneWarn, Title: "The clock was set back 4 s.", Text: "Sending waits until it has caught up."}}
	s.Live = false
	withdraw := views.Confirm{Title: "Withdraw a notification", Object: itemID, Action: views.WithdrawPath(itemID), Button: "Withdraw it", Danger: true, Back: views.NotificationPath(itemID), Hidden: []views.Hide{{Name: "version", Value: "3"}},
		Effects: []string{"Nothing more is sent for it.", "If the call that is in doubt did send, that cannot be called back."}, Inputs: []views.Input{{Name: "note", Label: "Why?", Required: true, Max: 200}}}
	return []State{{"frame-production", "Frame", "Production, quarantine, a clock that was set back, a message", views.WorklistPage(s, worklist())}, {"withdraw", "One notification", "Withdraw", views.ConfirmPage(shell(o, views.PathNotifications), withdraw)}}
}
