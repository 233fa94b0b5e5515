package sim

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// fault is why Twilio refuses to create a message, always with status 400. Each code has its page at
// https://www.twilio.com/docs/api/errors/<code>.
type fault struct {
	code    int
	message string
}

// validate applies Twilio's checks of a new message in Twilio's order of importance; nil when it may be created.
func validate(form url.Values) *fault {
	to, from, service, body := form.Get("To"), form.Get("From"), form.Get("MessagingServiceSid"), form.Get("Body")
	switch {
	case to == "":
		return &fault{21604, "A 'To' phone number is required."}
	case !matches(e164, to):
		return &fault{21211, "Invalid 'To' Phone Number: " + to}
	case from == "" && service == "":
		return &fault{21603, "A 'From' or 'MessagingServiceSid' parameter is required."}
	case from != "" && !validSender(from):
		return &fault{21212, "Invalid From Number (caller ID): " + from}
	case service != "" && !matches(serviceSID, service):
		return &fault{21701, "The Messaging Service does not exist."}
	case from == to:
		return &fault{21266, "'To' and 'From' number cannot be the same: " + to}
	case body == "":
		return &fault{21602, "Message body is required."}
	case utf8.RuneCountInString(body) > 1600:
		return &fault{21617, "The concatenated message body exceeds the 1600 character limit."}
	case !validPeriod(form):
		return &fault{21624, "Invalid ValidityPeriod."}
	case !validCallback(form.Get("StatusCallback")):
		return &fault{21609, "The 'StatusCallback' URL is not a valid URL."}
	}
	return nil
}

const (
	e164       = `^\+[1-9][0-9]{6,14}$`
	shortCode  = `^[0-9]{3,8}$`
	senderName = `^[A-Za-z0-9 ]{1,11}$` // an alphanumeric sender id; it needs a letter, too
	serviceSID = `^MG[0-9a-fA-F]{32}$`
)

// matches compiles each time: the simulator has no package state, and these expressions are small.
func matches(expression, s string) bool { return regexp.MustCompile(expression).MatchString(s) }

func validSender(from string) bool {
	if matches(e164, from) || matches(shortCode, from) {
		return true
	}
	return matches(senderName, from) && strings.ContainsFunc(from, func(r rune) bool { return r > '9' })
}

// validPeriod: 1 to 36000 seconds, or absent (https://www.twilio.com/docs/api/errors/21624).
func validPeriod(form url.Values) bool {
	if !form.Has("ValidityPeriod") {
		return true
	}
	n, err := atoi(form.Get("ValidityPeriod"))
	return err == nil && n >= 1 && n <= 36000
}

func validCallback(callback string) bool {
	if callback == "" {
		return true
	}
	u, err := url.Parse(callback)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func isForm(r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded")
}

// atoi reads digits alone: no sign, no space.
func atoi(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err
}
