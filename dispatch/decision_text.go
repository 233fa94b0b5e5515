package dispatch

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TextFault says why a note or a reference must not be kept, "" when it may: too long, not printable, or it looks like a link, a token or
// a number. It errs on the side of refusing: what a person types is kept for good and is seen by others. max is in characters; the words in
// known may stand in it.
func TextFault(s string, max int, known ...string) string {
	if length(s) > max {
		return "It is too long."
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, unprintable) {
		return "It holds characters that cannot be shown."
	}
	plain := without(s, known)
	switch {
	case linkLike().MatchString(plain):
		return "It looks like a link. Links must not be kept: name the place instead."
	case hasLongNumber(plain):
		return "It holds a number of seven digits or more, such as a phone number. Numbers must not be kept."
	case hasCode(plain):
		return "It looks like a code of a customer. Codes must not be kept."
	case hasToken(plain):
		return "It looks like a token. Tokens must not be kept."
	}
	return ""
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\r' && r != '\t' }

// without takes the known words out where they stand as words.
func without(s string, known []string) string {
	return wordLike().ReplaceAllStringFunc(s, func(w string) string {
		bare := strings.Trim(w, ".,;:!?()[]<>\"'")
		if bare != "" && (slices.Contains(known, bare) || ownID(bare) || messageID().MatchString(bare)) {
			return "id"
		}
		return w
	})
}

// ownID reports whether a word is an id of ours: it names a record, and opens nothing.
func ownID(w string) bool {
	prefix, _, ok := strings.Cut(w, "_")
	return ok && slices.Contains([]string{"ntf", "att", "lkp", "rct", "vdt", "inc", "prp", "blk", "rcp", "stf", "cli"}, prefix) &&
		len(w) == len(prefix)+1+encoding().EncodedLen(len(StaffID{}))
}

// maxDigits is how many digits a number in a note may have.
const maxDigits = 6

// hasLongNumber counts digits through the separators that people put between them. Dates and times of day are no numbers.
func hasLongNumber(s string) bool {
	s = clockLike().ReplaceAllString(dateLike().ReplaceAllString(s, "d"), "t")
	digits, gap := 0, 0
	for _, r := range s {
		switch {
		case unicode.IsDigit(r):
			digits++
			gap = 0
			if digits > maxDigits {
				return true
			}
		case digits > 0 && gap < maxGap && separates(r):
			gap++
		default:
			digits, gap = 0, 0
		}
	}
	return false
}

// maxGap is how many separators in a row still join two groups of digits: ") - " has four.
const maxGap = 4

func separates(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.Pd, r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(".,/()+_*|·'’:;#\\", r)
}

// hasCode looks for a one-time code that is called one.
func hasCode(s string) bool { return codeLike().MatchString(s) }

const (
	tokenMixed  = 12 // characters of a word with letters and digits
	tokenLength = 32 // characters of a word of any kind
)

// hasToken looks for words that no language has: very long, or long and mixed of letters and digits.
func hasToken(s string) bool {
	for _, w := range tokenWord().FindAllString(s, -1) {
		if length(w) >= tokenLength {
			return true
		}
		letters, digits := 0, 0
		for _, r := range w {
			if unicode.IsLetter(r) {
				letters++
			} else if unicode.IsDigit(r) {
				digits++
			}
		}
		if letters+digits >= tokenMixed && letters > 0 && digits > 1 {
			return true
		}
	}
	return false
}

func wordLike() *regexp.Regexp  { return regexp.MustCompile(`\S+`) }
func tokenWord() *regexp.Regexp { return regexp.MustCompile(`[\pL\pN_+=~]+`) }

// messageID is the documented form of Twilio's message ids: a person reads one in the console and names it as evidence.
func messageID() *regexp.Regexp { return regexp.MustCompile(`^(?:SM|MM)[0-9a-f]{32}$`) }

func dateLike() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:19|20)\d\d-(?:0\d|1[0-2])-[0-3]\d(?:T|\b)`)
}
func clockLike() *regexp.Regexp {
	return regexp.MustCompile(`\b[0-2]?\d:[0-5]\d(?::[0-5]\d(?:\.\d{1,3})?)?Z?\b`)
}

func linkLike() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:\w://|\bwww\.|\b(?:mailto|https?|tel|sms):|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?::\d+)?[/?]\S)`)
}

func codeLike() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:code|otp|pin|tan|token|passcode|password)\b[^\d\n]{0,12}\b\d{3}[ \-]?\d{3}\b`)
}
