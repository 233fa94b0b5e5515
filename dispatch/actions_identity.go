package dispatch

// What happens to the accounts of staff. The cause of each names the account, and after it in closed words what was changed.
const (
	ActionSignedIn           Action = "signed_in"
	ActionSignInFailed       Action = "sign_in_failed" // Count says how many since the last such event about the account or the address
	ActionSignedOut          Action = "signed_out"
	ActionSessionsEnded      Action = "sessions_ended" // Count says how many
	ActionPasswordChanged    Action = "password_changed"
	ActionTOTPEnrolled       Action = "totp_enrolled"
	ActionTOTPRemoved        Action = "totp_removed"
	ActionRecoveryCodesMade  Action = "recovery_codes_made"
	ActionStaffInvited       Action = "staff_invited"
	ActionInvitationAccepted Action = "invitation_accepted"
	ActionStaffChanged       Action = "staff_changed"
	ActionStaffDisabled      Action = "staff_disabled"
	ActionStaffEnabled       Action = "staff_enabled"
	ActionAccessRefused      Action = "access_refused" // a person tried what the role may not do; the cause is the method and the route
)
