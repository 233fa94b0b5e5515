package dispatch

import "time"

// Withdrawal is a client's command to stop one notification. Repeating it changes nothing.
type Withdrawal struct {
	Client    ClientID
	ID        NotificationID
	Cause     Cause
	By        Actor
	RequestID string
}

// SubjectWithdrawal is a client's command to stop everything that is not yet sent for one account, whatever its purpose. Repeating it
// changes nothing.
type SubjectWithdrawal struct {
	Client     ClientID
	Subject    Secret    // the storefront's account reference
	OccurredAt time.Time // when it happened at the storefront: newer events are left alone; zero: not said
	Cause      Cause
	By         Actor
	RequestID  string
}

// ReceiptFate is what became of a delivery report. Each of them is kept as evidence.
type ReceiptFate string

const (
	ReceiptMatched   ReceiptFate = "matched"   // it names an attempt of this database
	ReceiptRepeated  ReceiptFate = "repeated"  // the same report had come before; nothing changed
	ReceiptUnmatched ReceiptFate = "unmatched" // it is authentic and names nothing here
)

// ReceiptFates lists every fate.
func ReceiptFates() []ReceiptFate {
	return []ReceiptFate{ReceiptMatched, ReceiptRepeated, ReceiptUnmatched}
}
