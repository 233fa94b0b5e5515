package sim

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// ErrInvalid is a behaviour, mode or request to the control interface that makes no sense.
var ErrInvalid = errors.New("invalid")

// Ending is how the exchange of a send ends on the wire.
type Ending string

const (
	EndAnswer Ending = ""      // a complete HTTP answer
	EndHang   Ending = "hang"  // no byte until released, the client gives up, or Close
	EndStall  Ending = "stall" // status line and header, then as EndHang
	EndCut    Ending = "cut"   // half of the announced body, then the connection closes
	EndClose  Ending = "close" // the connection closes in good order without a byte
	EndReset  Ending = "reset" // the connection is reset (RST) without a byte
)

// Endings lists every ending.
func Endings() []Ending {
	return []Ending{EndAnswer, EndHang, EndStall, EndCut, EndClose, EndReset}
}

// Behaviour is what the provider does with one send. The zero value accepts nothing and answers an empty 201, which no real provider does:
// start from Normal or a Named one.
type Behaviour struct {
	Accept      bool          // take the message into the ledger, before anything else happens
	AcceptAfter time.Duration // take it only after this long, even when the client has left by then
	Delay       time.Duration // wait this long before the ending
	Ending      Ending
	Status      int         // HTTP status; 0 means 201
	Code        int         // Twilio's error code, for a status of 400 and more
	Header      http.Header // further header fields of the answer
	ContentType string      // of Body
	Body        string      // raw body instead of Twilio's shape
	Times       int         // apply it to that many sends, then go on; 0 means for ever
	Receipts    ReceiptPlan
}

// Normal accepts and answers.
func Normal() Behaviour { return Behaviour{Accept: true} }

func (b Behaviour) check() error {
	switch {
	case !slices.Contains(Endings(), b.Ending):
		return fmt.Errorf("ending %q: %w", b.Ending, ErrInvalid)
	case b.Status != 0 && (b.Status < 200 || b.Status > 599):
		return fmt.Errorf("status %d: %w", b.Status, ErrInvalid)
	case b.Times < 0 || b.Delay < 0 || b.AcceptAfter < 0:
		return fmt.Errorf("a count or duration below zero: %w", ErrInvalid)
	}
	return nil
}

// clone makes the behaviour independent of what its maker does with the header later.
func (b Behaviour) clone() Behaviour {
	b.Header = b.Header.Clone()
	b.Receipts.Steps = slices.Clone(b.Receipts.Steps)
	return b
}

// Mode is what the whole provider does with recipients that have no script.
type Mode string

const (
	ModeNormal         Mode = "normal"           // what the number's last digits say
	ModeSlow           Mode = "slow"             // accept at once, answer after five seconds
	ModeAcceptThenDrop Mode = "accept_then_drop" // accept, then close the connection without a byte
	ModeDrop           Mode = "drop"             // close the connection without a byte, accept nothing
	ModeThrottle       Mode = "throttle"         // 429 with Retry-After: 5
	ModeDown           Mode = "down"             // the port is closed
)

// Modes lists every mode.
func Modes() []Mode {
	return []Mode{ModeNormal, ModeSlow, ModeAcceptThenDrop, ModeDrop, ModeThrottle, ModeDown}
}

// behaviour is what the mode imposes on a send; false when it imposes nothing.
func (m Mode) behaviour() (Behaviour, bool) {
	switch m {
	case ModeSlow:
		return Behaviour{Accept: true, Delay: 5 * time.Second}, true
	case ModeAcceptThenDrop:
		return Behaviour{Accept: true, Ending: EndClose}, true
	case ModeDrop:
		return Behaviour{Ending: EndClose}, true
	case ModeThrottle:
		return throttled("5"), true
	}
	return Behaviour{}, false
}

func throttled(retryAfter string) Behaviour {
	return Behaviour{Status: http.StatusTooManyRequests, Code: 20429, Header: http.Header{"Retry-After": {retryAfter}}}
}
