package dispatch

import "time"

// ActorKind says who did something.
type ActorKind string

const (
	ActorClient   ActorKind = "client"   // a storefront; the id is its API key's
	ActorStaff    ActorKind = "staff"    // a person in the browser; the id is the account's
	ActorWorker   ActorKind = "worker"   // the dispatcher, the reconciler, the clock: this process by itself
	ActorProvider ActorKind = "provider" // a provider's call-back; the id is the provider's name
	ActorOperator ActorKind = "operator" // a person on the command line
)

// ActorKinds lists every kind.
func ActorKinds() []ActorKind {
	return []ActorKind{ActorClient, ActorStaff, ActorWorker, ActorProvider, ActorOperator}
}

// Actor is who did something. The zero value means "nobody yet".
type Actor struct {
	Kind ActorKind
	ID   string
}

// Worker is this process acting by itself.
func Worker() Actor { return Actor{ActorWorker, ""} }

// Action is what happened. The catalogue is closed; the schema repeats it and a test compares the two.
type Action string

const (
	ActionAccepted         Action = "accepted"            // a notification was admitted
	ActionReplayed         Action = "replayed"            // the client repeated an admission; Count says how often since the last such event
	ActionDispatchStarted  Action = "dispatch_started"    // a worker spent a permit
	ActionAttemptFinished  Action = "attempt_finished"    // the call ended; the evidence is the attempt's result
	ActionAttemptInterrupt Action = "attempt_interrupted" // a restart found the call pending (R8)
	ActionLookupRecorded   Action = "lookup_recorded"     // the provider was asked
	ActionReceiptRecorded  Action = "receipt_recorded"    // a delivery report came
	ActionReceiptRepeated  Action = "receipt_repeated"    // the same report came again
	ActionReceiptUnmatched Action = "receipt_unmatched"   // an authentic report that names nothing here
	ActionVerdictRecorded  Action = "verdict_recorded"    // it was decided what became of an attempt
	ActionWithdrawn        Action = "withdrawn"           // the client, staff, a newer event or a policy withdrew it
	ActionSubjectWithdrawn Action = "subject_withdrawn"   // the client withdrew everything for a subject; Count says how many
	ActionExpired          Action = "expired"             // its life ended
	ActionSetAside         Action = "set_aside"           // its row cannot be read
	ActionFinalised        Action = "finalised"           // sent, and no receipt is expected any more
	ActionIncidentOpened   Action = "incident_opened"     // evidence contradicts
	ActionProviderPaused   Action = "provider_paused"     // no new attempts there for a while; Cause says why
	ActionProviderResumed  Action = "provider_resumed"    // new attempts again
	ActionClockStepped     Action = "clock_stepped"       // the wall clock jumped; Count is the step in ms
	ActionClockConfirmed   Action = "clock_confirmed"     // a person accepted the clock after a backward step
	ActionServerStarted    Action = "server_started"      // the dispatching process took the lock
	ActionServerStopped    Action = "server_stopped"      // it ended in good order
	ActionClientAdded      Action = "client_added"        //
	ActionAPIKeyAdded      Action = "api_key_added"       //
	ActionStaffAdded       Action = "staff_added"         //
)

// Actions lists the catalogue.
func Actions() []Action {
	return []Action{ActionAccepted, ActionReplayed, ActionDispatchStarted, ActionAttemptFinished, ActionAttemptInterrupt,
		ActionLookupRecorded, ActionReceiptRecorded, ActionReceiptRepeated, ActionReceiptUnmatched, ActionVerdictRecorded, ActionWithdrawn,
		ActionSubjectWithdrawn, ActionExpired, ActionSetAside, ActionFinalised, ActionIncidentOpened, ActionProviderPaused,
		ActionProviderResumed, ActionClockStepped, ActionClockConfirmed, ActionServerStarted, ActionServerStopped, ActionClientAdded,
		ActionAPIKeyAdded, ActionStaffAdded,
		ActionSignedIn, ActionSignInFailed, ActionSignedOut, ActionSessionsEnded, ActionPasswordChanged, ActionTOTPEnrolled,
		ActionTOTPRemoved, ActionRecoveryCodesMade, ActionStaffInvited, ActionInvitationAccepted, ActionStaffChanged, ActionStaffDisabled,
		ActionStaffEnabled, ActionAccessRefused,
		ActionSearched, ActionViewSaved, ActionViewDeleted, ActionAPIKeyRotated, ActionAPIKeyRevoked, ActionSettingChanged,
		ActionProposalMade, ActionProposalApproved, ActionProposalDeclined, ActionProposalVoided, ActionProposalLapsed, ActionClaimed,
		ActionClaimReleased, ActionClaimTakenOver, ActionRecipientRevealed, ActionIncidentClosed, ActionBulkStarted, ActionBulkFinished}
}

// EvidenceKind names the table of the evidence row that an event announces.
type EvidenceKind string

const (
	EvidenceAttempt EvidenceKind = "attempt"
	EvidenceLookup  EvidenceKind = "lookup"
	EvidenceReceipt EvidenceKind = "receipt"
	EvidenceVerdict EvidenceKind = "verdict"
)

// EvidenceKinds lists every kind.
func EvidenceKinds() []EvidenceKind {
	return []EvidenceKind{EvidenceAttempt, EvidenceLookup, EvidenceReceipt, EvidenceVerdict}
}

// Event is one line of the audit log. It never holds a token, a text or a number. Fields that do not apply are zero.
type Event struct {
	Seq          int64 // gapless from 1
	At           time.Time
	By           Actor
	Action       Action
	Client       ClientID
	Notification NotificationID
	Attempt      int // the attempt's number
	From, To     State
	Version      int // the notification's version after the event; 0: it does not move it
	Final        bool
	Reason       Reason
	Outcome      Outcome // of the attempt, after the event
	Grade        Grade
	Provider     string
	Cause        string // a closed word: the client's withdrawal reason, a verdict's reason code, why a provider pauses
	Count        int64
	Evidence     EvidenceKind
	EvidenceID   [16]byte
	EvidenceSHA  [32]byte // SHA-256 of the canonical encoding of the evidence row
	RequestID    string
}
