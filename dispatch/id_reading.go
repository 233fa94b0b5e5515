package dispatch

import "strings"

type viewKind struct{}

func (viewKind) prefix() string { return "view_" }

// ViewID names a saved list.
type ViewID = ID[viewKind] // view_

// ParseViewID reads "view_…".
func ParseViewID(s string) (ViewID, error) { return ParseID[viewKind](s) }

// ParseAPIKeyID reads "key_…".
func ParseAPIKeyID(s string) (APIKeyID, error) { return ParseID[apiKeyKind](s) }

// ParseClientID reads "cli_…".
func ParseClientID(s string) (ClientID, error) { return ParseID[clientKind](s) }

// ParseRecipientRef reads "rcp_…".
func ParseRecipientRef(s string) (RecipientRef, error) { return ParseID[recipientKind](s) }

// ParseEvidenceID reads the id of a lookup, a receipt, a verdict or an incident.
func ParseEvidenceID(s string) (kind string, raw [16]byte, err error) {
	if id, err := ParseID[lookupKind](s); err == nil {
		return "lookup", id, nil
	}
	if id, err := ParseID[receiptKind](s); err == nil {
		return "receipt", id, nil
	}
	if id, err := ParseID[verdictKind](s); err == nil {
		return "verdict", id, nil
	}
	id, err := ParseID[incidentKind](s)
	return "incident", id, err
}

// PrefixRange gives the first and the last id that begin with a text such as "ntf_01kb7v". The error is ErrNotFound when the text begins no id
// of the kind, or has fewer than min characters after its prefix.
func PrefixRange(s string, min int) (first, last NotificationID, err error) {
	var kind notificationKind
	rest, ok := strings.CutPrefix(lowerASCII(s), kind.prefix())
	length := encoding().EncodedLen(len(NotificationID{}))
	if !ok || len(rest) < min || len(rest) > length {
		return first, last, ErrNotFound
	}
	if first, err = padded(rest, crockford[0], length); err != nil {
		return first, last, err
	}
	last, err = padded(rest, crockford[len(crockford)-1], length)
	return first, last, err
}

// padded fills a beginning up to a whole id. The last character holds three bits only, so that its others are cut off.
func padded(rest string, with byte, length int) (NotificationID, error) {
	text := []byte(rest)
	for len(text) < length {
		text = append(text, with)
	}
	raw, err := encoding().DecodeString(string(text))
	if err != nil {
		return NotificationID{}, ErrNotFound
	}
	return NotificationID(raw), nil
}
