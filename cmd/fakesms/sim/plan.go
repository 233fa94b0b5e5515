package sim

import "time"

// ReceiptPlan is which delivery reports a message gets. The zero value means the server's own plan (Options.Receipts), and there the usual
// course: sent, then delivered.
type ReceiptPlan struct {
	Off          bool // nothing is posted; the message's status moves on all the same
	BeforeAnswer bool // the answer to the send waits until the plan has run
	Steps        []ReceiptStep
}

// ReceiptStep is one delivery report.
type ReceiptStep struct {
	After     time.Duration // since the step before it, or since the acceptance
	Status    string        // Twilio's word: sent, delivered, undelivered, failed …
	ErrorCode string
	Forgery   Forgery
}

// The pace of the usual course: quick enough to watch, slow enough to see each state.
const (
	sentAfter      = 300 * time.Millisecond
	deliveredAfter = time.Second
)

// Delivered is the usual course.
func Delivered() ReceiptPlan {
	return ReceiptPlan{Steps: []ReceiptStep{{After: sentAfter, Status: "sent"}, {After: deliveredAfter, Status: "delivered"}}}
}

// Undelivered says sent, then undelivered with an error code.
func Undelivered(code string) ReceiptPlan {
	return ReceiptPlan{Steps: []ReceiptStep{{After: sentAfter, Status: "sent"}, {After: deliveredAfter, Status: "undelivered", ErrorCode: code}}}
}

// Early says delivered before the send is answered.
func Early() ReceiptPlan {
	return ReceiptPlan{BeforeAnswer: true, Steps: []ReceiptStep{{Status: "delivered"}}}
}

// Mixed says delivered before sent, and both twice.
func Mixed() ReceiptPlan {
	return ReceiptPlan{Steps: []ReceiptStep{{After: sentAfter, Status: "delivered"}, {Status: "sent"}, {Status: "delivered"}, {Status: "sent"}}}
}

// or fills what the plan leaves open from another one.
func (p ReceiptPlan) or(other ReceiptPlan) ReceiptPlan {
	if len(p.Steps) == 0 {
		p.Steps = other.Steps
		p.Off = p.Off || other.Off
		p.BeforeAnswer = p.BeforeAnswer || other.BeforeAnswer
	}
	return p
}
