package views

import "net/url"

// The addresses of pages and forms. Those of DESIGN §9 are contracts; every page and every handler takes them from here.
const (
	PathOverview      = "/"
	PathNotifications = "/notifications"
	PathUnknown       = "/unknown"
	PathEvidence      = "/evidence"
	PathAudit         = "/audit"
	PathProviders     = "/providers"
	PathStaff         = "/staff"
	PathClients       = "/clients"
	PathSettings      = "/settings"
	PathProfile       = "/profile"

	PathLogin      = "/login"      // GET, POST: email, password, code, next
	PathLogout     = "/logout"     // POST
	PathInvitation = "/invitation" // GET ?token=, POST: token, password, password_again
	PathSearch     = "/search"     // POST: q
	PathViews      = "/views"      // POST: name, query, shared

	PathBulkPreview  = "/unknown/preview" // POST: id (repeated) or scope=filter and query; reads only, and freezes the set
	PathBulk         = "/unknown/bulk"    // POST: set, count, attest and the fields of a verdict
	PathReconcileAll = "/unknown/reconcile"
	PathClaimNext    = "/unknown/claim-next" // POST

	PathInvite     = "/staff/invite"   // GET, POST: email, name, role, ends_on
	PathNewClient  = "/clients/new"    // GET, POST: name
	PathPreference = "/profile/prefer" // POST: one of theme, density, live, shortcuts, zone; back
	PathPassword   = "/profile/password"
	PathTOTP       = "/profile/totp"        // GET, POST: code
	PathTOTPCodes  = "/profile/totp/codes"  // POST: password; makes new recovery codes
	PathTOTPRemove = "/profile/totp/remove" // POST: password
	PathEndOthers  = "/profile/sessions/end"
)

// NotificationPath is the page of one notification.
func NotificationPath(id string) string { return PathNotifications + "/" + url.PathEscape(id) }

// VerdictPath takes a verdict: attempt, verdict, next, reason, evidence_kind, evidence_ref, note, version.
func VerdictPath(id string) string { return NotificationPath(id) + "/verdict" }

// ReconcilePath asks the provider now.
func ReconcilePath(id string) string { return NotificationPath(id) + "/reconcile" }

// RevealPath shows the number to one person: GET asks for the reason, POST takes it (reason, note).
func RevealPath(id string) string { return NotificationPath(id) + "/reveal" }

// ClaimPath takes an item for one person: POST action=claim|release|take_over, note.
func ClaimPath(id string) string { return NotificationPath(id) + "/claim" }

// WithdrawPath stops a notification: GET asks, POST takes note, version.
func WithdrawPath(id string) string { return NotificationPath(id) + "/withdraw" }

// IncidentPath closes an incident: POST note, version.
func IncidentPath(id, incident string) string {
	return NotificationPath(id) + "/incidents/" + url.PathEscape(incident) + "/close"
}

// ProposalPath approves or declines a proposal (step "approve" or "decline"): POST note, version.
func ProposalPath(id, proposal, step string) string {
	return NotificationPath(id) + "/proposals/" + url.PathEscape(proposal) + "/" + step
}

// BulkPath is the page of one bulk decision.
func BulkPath(id string) string { return PathBulk + "/" + url.PathEscape(id) }

// ClientPath is the page of one client.
func ClientPath(id string) string { return PathClients + "/" + url.PathEscape(id) }

// KeysPath makes a key: POST name, scopes (repeated), expires_on.
func KeysPath(client string) string { return ClientPath(client) + "/keys" }

// KeyPath rotates or revokes a key (step "rotate" or "revoke"): GET asks, POST does (overlap, note).
func KeyPath(client, key, step string) string {
	return KeysPath(client) + "/" + url.PathEscape(key) + "/" + step
}

// PersonPath is the page of one member of staff: GET, POST role, ends_on.
func PersonPath(id string) string { return PathStaff + "/" + url.PathEscape(id) }

// PersonStepPath does one thing to an account (step "disable", "enable", "invite", "reset-totp"): GET asks, POST does.
func PersonStepPath(id, step string) string { return PersonPath(id) + "/" + step }

// ProviderPausePath pauses a provider: GET asks, POST reason, note.
func ProviderPausePath(name string) string {
	return PathProviders + "/" + url.PathEscape(name) + "/pause"
}

// ProviderResumePath ends a pause: POST note.
func ProviderResumePath(name string) string {
	return PathProviders + "/" + url.PathEscape(name) + "/resume"
}

// SettingPath changes one setting: GET shows it, POST value and note show the difference, POST with confirm=yes stores it.
func SettingPath(name string) string { return PathSettings + "/" + url.PathEscape(name) }

// ViewPath deletes a saved view: POST.
func ViewPath(id string) string { return PathViews + "/" + url.PathEscape(id) + "/delete" }

// FilterByRecipient is the list of what went to one pseudonym. The number itself is never part of an address.
func FilterByRecipient(ref string) string {
	return PathNotifications + "?recipient=" + url.QueryEscape(ref)
}
