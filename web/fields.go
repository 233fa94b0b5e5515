package web

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sentonce/dispatch"
	"sentonce/dispatch/phone"
)

const (
	maxID      = 128
	maxPurpose = 64
	maxSubject = 256
	maxMessage = 1600 // ten parts of 160
)

// form collects what is wrong with the members of a command. Faults of form answer 400, refusals of content 422; the former come first.
type form struct {
	values   map[string]string
	faults   []fault
	refusals []fault
}

func (f *form) wrong(name, rule, detail string) {
	f.faults = append(f.faults, fault{"/" + name, rule, detail})
}

func (f *form) refuse(name, rule, detail string) {
	f.refusals = append(f.refusals, fault{"/" + name, rule, detail})
}

// err is what the client is told, nil when nothing is wrong.
func (f *form) err() error {
	switch {
	case len(f.faults) > 0:
		return fail(problemInvalid, "the request has the wrong form", f.faults...)
	case len(f.refusals) > 0:
		return fail(problemRefused, "the content is not accepted", f.refusals...)
	}
	return nil
}

// id reads a member that must be an id of the client's.
func (f *form) id(name string) string {
	v, has := f.values[name]
	if has && !isID(v) {
		f.wrong(name, "visible_ascii", "the member must have 1 to 128 visible ASCII characters")
	}
	return v
}

// isID reports whether a string has 1 to 128 visible ASCII characters.
func isID(s string) bool {
	return s != "" && len(s) <= maxID && !strings.ContainsFunc(s, func(c rune) bool { return c < 0x21 || c > 0x7e })
}

// purpose reads the purpose, or gives the default one.
func (f *form) purpose() string {
	v, has := f.values["purpose"]
	if !has {
		return dispatch.DefaultPurpose
	}
	odd := strings.Trim(v, "abcdefghijklmnopqrstuvwxyz0123456789_.-")
	if v == "" || len(v) > maxPurpose || odd != "" {
		f.wrong("purpose", "charset", "the member must have 1 to 64 of the characters a-z, 0-9, _ . and -")
	}
	return v
}

// subject reads the storefront's account reference.
func (f *form) subject() dispatch.Secret {
	v, has := f.values["subject"]
	hidden := func(c rune) bool { return !unicode.IsGraphic(c) || unicode.IsSpace(c) }
	if has && (v == "" || utf8.RuneCountInString(v) > maxSubject || strings.ContainsFunc(v, hidden)) {
		f.wrong("subject", "visible", "the member must have 1 to 256 visible characters")
	}
	return dispatch.NewSecret(v)
}

// recipient reads the number; only one in canonical E.164 form is accepted.
func (f *form) recipient() phone.Number {
	v, has := f.values["recipient"]
	if !has {
		return phone.Number{}
	}
	n, err := phone.Parse(v)
	if refusal := (*phone.Refusal)(nil); errors.As(err, &refusal) {
		f.refuse("recipient", string(refusal.Rule), refusal.Detail)
	}
	return n
}

// message reads the text.
func (f *form) message() dispatch.Secret {
	v, has := f.values["message"]
	switch {
	case !has:
	case strings.TrimSpace(v) == "":
		f.refuse("message", "blank", "the text is empty")
	case utf8.RuneCountInString(v) > maxMessage:
		f.refuse("message", "too_long", "the text is longer than 1600 characters")
	case strings.ContainsFunc(v, func(c rune) bool { return c != '\n' && unicode.IsControl(c) }):
		f.refuse("message", "control_character", "the text has a control character other than a line feed")
	}
	return dispatch.NewSecret(v)
}

// instant reads a time: RFC 3339 with a zone, as UTC, cut to milliseconds towards the past. A leap second (:60) is refused, because no clock
// here can meet it.
func (f *form) instant(name string) time.Time {
	v, has := f.values[name]
	if !has {
		return time.Time{}
	}
	var t time.Time
	if err := t.UnmarshalText([]byte(v)); err != nil || !isRFC3339(v) {
		f.wrong(name, "rfc3339", "the member must be a time as in RFC 3339 with a zone, such as 2030-01-31T12:00:00Z")
		return time.Time{}
	}
	t = t.UTC().Truncate(time.Millisecond)
	if t.Year() < 1970 || t.Year() > 9999 {
		f.wrong(name, "range", "the year must be 1970 to 9999")
		return time.Time{}
	}
	return t
}

// isRFC3339 checks the form digit by digit, because the standard library is laxer than the RFC: it takes a comma for the point, hours of one
// digit and zones of more than a day.
func isRFC3339(s string) bool {
	const form = "dddd-dd-ddTdd:dd:dd"
	if len(s) <= len(form) || !fits(s[:len(form)], form) {
		return false
	}
	rest := s[len(form):]
	if fraction, has := strings.CutPrefix(rest, "."); has {
		rest = strings.TrimLeft(fraction, "0123456789")
		if rest == fraction {
			return false
		}
	}
	zone := fits(rest, "+dd:dd") || fits(rest, "-dd:dd")
	return rest == "Z" || zone && rest[1:3] < "24" && rest[4:] < "60"
}

// fits reports whether s has the form, in which d stands for a digit.
func fits(s, form string) bool {
	for i := range len(form) {
		if len(s) != len(form) || form[i] == 'd' && (s[i] < '0' || s[i] > '9') || form[i] != 'd' && s[i] != form[i] {
			return false
		}
	}
	return true
}

// cause reads the reason of a withdrawal.
func (f *form) cause() dispatch.Cause {
	v, has := f.values["reason"]
	if has && !slices.Contains(dispatch.Causes(), dispatch.Cause(v)) {
		f.wrong("reason", "word", "the member must be password_changed, token_used, user_request or other")
	}
	return dispatch.Cause(v)
}

// parseForm reads a body as a command.
func parseForm(body []byte, known []member) (*form, error) {
	values, faults := decodeStrict(body, known)
	if len(faults) > 0 {
		return nil, fail(problemInvalid, "the body is not one JSON object of the documented members", faults...)
	}
	return &form{values: values}, nil
}

// admissionMembers is the body of POST /v1/notifications.
func admissionMembers() []member {
	return []member{{"event_id", true}, {"idempotency_key", false}, {"purpose", false}, {"subject", false}, {"recipient", true},
		{"message", true}, {"expires_at", true}, {"occurred_at", false}}
}

// parseAdmission reads a command from its body and headers.
func parseAdmission(h http.Header, body []byte) (dispatch.Admission, error) {
	f, err := parseForm(body, admissionMembers())
	if err != nil {
		return dispatch.Admission{}, err
	}
	a := dispatch.Admission{EventID: f.id("event_id"), IdempotencyKey: f.id("idempotency_key"), Purpose: f.purpose(), Subject: f.subject(),
		Text: f.message(), ExpiresAt: f.instant("expires_at"), OccurredAt: f.instant("occurred_at")}
	number := f.recipient()
	a.Recipient, a.Country = number.E164, number.Country
	if err := f.err(); err != nil && len(f.faults) > 0 {
		return dispatch.Admission{}, err
	}
	if a.IdempotencyKey, err = idempotencyKey(h, a.IdempotencyKey); err != nil {
		return dispatch.Admission{}, err
	}
	return a, f.err()
}
