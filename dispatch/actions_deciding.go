package dispatch

// What people do about doubts. Proposals and bulk decisions are named by their id in Event.Cause.
const (
	ActionProposalMade      Action = "proposal_made"      // a person proposes to send again
	ActionProposalApproved  Action = "proposal_approved"  // a second person approved; the verdict follows in the same transaction
	ActionProposalDeclined  Action = "proposal_declined"  // a second person declined
	ActionProposalVoided    Action = "proposal_voided"    // the record has moved since it was made
	ActionProposalLapsed    Action = "proposal_lapsed"    // too little life is left to send again
	ActionClaimed           Action = "claimed"            // a person works on it for a while
	ActionClaimReleased     Action = "claim_released"     // and does so no longer
	ActionClaimTakenOver    Action = "claim_taken_over"   // another person took it; the claim's row has the reason
	ActionRecipientRevealed Action = "recipient_revealed" // the number was shown to a person; Cause says why
	ActionIncidentClosed    Action = "incident_closed"    // a person has dealt with it; Cause is the incident's id
	ActionBulkStarted       Action = "bulk_started"       // one decision for many; Count says how many
	ActionBulkFinished      Action = "bulk_finished"      // Count says how many took effect
)
