package views

import (
	"time"

	"sentonce/dispatch"
)

// Choice is one option of a field: the value that is posted and its words.
type Choice struct {
	Value, Label, Hint string
	Chosen             bool
	Off                string // why it cannot be chosen now; "" when it can
}

// ReasonCodes are the reasons that a person's verdict may give (DESIGN §5).
func ReasonCodes() []Choice {
	return []Choice{
		{Value: "provider_log", Label: "Seen in the provider's log or console"},
		{Value: "provider_statement", Label: "The provider's support told us"},
		{Value: "recipient_confirmed", Label: "The customer told us"},
		{Value: "provider_has_no_record", Label: "The provider has no record of it"},
		{Value: "incident", Label: "Part of a known incident"},
		{Value: "other", Label: "Another reason, in the note"},
	}
}

// EvidenceKinds are the kinds of evidence that a person's verdict may rest on (DESIGN §5).
func EvidenceKinds() []Choice {
	return []Choice{
		{Value: "provider_log", Label: "Provider log or console"},
		{Value: "provider_statement", Label: "Written statement of the provider"},
		{Value: "receipt", Label: "Delivery report"},
		{Value: "recipient", Label: "The customer's word"},
		{Value: "ticket", Label: "Ticket"},
		{Value: "none", Label: "None (only for “cannot be determined”)"},
	}
}

// wordOf is the label of a value in a list of choices.
func wordOf(choices []Choice, value string) string {
	for _, c := range choices {
		if c.Value == value {
			return c.Label
		}
	}
	return value
}

// Ability is one line of what a provider can do.
type Ability struct {
	Yes  bool
	Text string
}

// CapabilityWords says what a provider can do and prove.
func CapabilityWords(c dispatch.Capabilities) []Ability {
	all := []Ability{lookupWords(c.Lookup)}
	if c.AbsenceProves {
		all = append(all, Ability{true, "If it shows nothing after " + Duration(c.AbsenceLag) + ", that is proof that nothing was sent."})
	} else {
		all = append(all, Ability{false, "If it shows nothing, that proves nothing; a person has to decide."})
	}
	switch {
	case c.Receipts && c.ReceiptsEcho:
		all = append(all, Ability{true, "It sends delivery reports, and they name our reference."})
	case c.Receipts:
		all = append(all, Ability{true, "It sends delivery reports."})
	default:
		all = append(all, Ability{false, "It sends no delivery reports."})
	}
	return append(all, validityWords(c), Ability{c.DuplicatesRefused, yesNo(c.DuplicatesRefused, "It refuses a second message with the same reference.",
		"It would send the same reference twice; only we prevent that.")},
		Ability{c.Cancel, yesNo(c.Cancel, "A message it holds can be called back.", "A message it has taken cannot be called back.")})
}

func lookupWords(k dispatch.LookupKind) Ability {
	switch k {
	case dispatch.LookupByReference:
		return Ability{true, "It can be asked about a message by our own reference."}
	case dispatch.LookupByRecipient:
		return Ability{true, "It can be asked what it sent to a number in a span of time; the match is ours to make."}
	case dispatch.LookupByMessageID:
		return Ability{true, "It can be asked about a message only by its own id."}
	}
	return Ability{false, "It cannot be asked what became of a message."}
}

func validityWords(c dispatch.Capabilities) Ability {
	if c.ValidityUnit == 0 {
		return Ability{false, "It cannot be told how long the message is worth sending."}
	}
	text := "It is told how long the message is worth sending, in steps of " + Duration(c.ValidityUnit)
	if c.ValidityMin > 0 || c.ValidityMax > 0 {
		text += ", from " + Duration(max(c.ValidityMin, time.Second)) + " to " + Duration(c.ValidityMax)
	}
	return Ability{true, text + "."}
}

func yesNo(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}
