// Package phone decides which strings are telephone numbers that a message may be sent to.
//
// A number is taken as it is or not at all: what is stored and dialled is byte for byte what the storefront wrote, so nothing is trimmed,
// completed or repaired. Plausibility per country follows Google's libphonenumber metadata.
package phone

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"

	"sentonce/dispatch"
)

// Number is a valid E.164 number.
type Number struct {
	E164    dispatch.Secret // with the plus sign, as it was written
	Country string          // ISO 3166-1 alpha-2; "" for numbers of no country, such as +883
}

// Rule is a stable word for why a number is refused.
type Rule string

// The rules, in the order in which they are looked at.
const (
	RuleNonASCIIDigit Rule = "non_ascii_digit"     // a digit of another script
	RuleInvisible     Rule = "invisible_character" // a space, control or formatting character
	RuleExtension     Rule = "extension"           // an extension, which no message can reach
	RuleLetters       Rule = "letters"             // letters in place of digits
	RuleNotE164       Rule = "not_e164"            // not "+" and 2 to 15 digits, the first of which is not 0
	RuleCountryCode   Rule = "country_code"        // no country has the code
	RuleLeadingZero   Rule = "leading_zero"        // the national 0 was kept after the country code
	RuleImpossible    Rule = "impossible"          // too short or too long for its country
	RuleInvalid       Rule = "invalid"             // not in the numbering plan of its country
	RulePremium       Rule = "premium_rate"        // a number that earns on what it receives
	RuleCountry       Rule = "country_not_allowed" // a country that this installation does not serve
)

// Refusal says why a number is not taken. It never repeats the number.
type Refusal struct {
	Rule   Rule
	Detail string
}

func (r *Refusal) Error() string { return "number refused: " + r.Detail }

func refuse(rule Rule, detail string) *Refusal { return &Refusal{rule, detail} }

// maxDigits is the length of the longest number, country code included (ITU-T E.164, §6.1).
const maxDigits = 15

// Parse reads a number that must already be in its canonical E.164 form. The error is a *Refusal.
func Parse(s string) (Number, error) {
	if r := shape(s); r != nil {
		return Number{}, r
	}
	parsed, err := phonenumbers.Parse(s, "ZZ")
	if err != nil {
		return Number{}, unparsed(err)
	}
	if canonical := phonenumbers.Format(parsed, phonenumbers.E164); canonical != s {
		return Number{}, altered(s, parsed)
	}
	switch phonenumbers.GetNumberType(parsed) {
	case phonenumbers.UNKNOWN: // in no range of its country's plan
		return Number{}, invalid(s, parsed)
	case phonenumbers.PREMIUM_RATE, phonenumbers.SHARED_COST:
		return Number{}, refuse(RulePremium, "the number is a premium-rate one")
	}
	return Number{E164: dispatch.NewSecret(s), Country: country(parsed)}, nil
}

// shape checks the characters alone.
func shape(s string) *Refusal {
	for _, c := range s {
		switch {
		case c > unicode.MaxASCII && unicode.IsDigit(c):
			return refuse(RuleNonASCIIDigit, "the number has digits that are not 0 to 9")
		case c != ' ' && !unicode.IsGraphic(c), c > unicode.MaxASCII && unicode.IsSpace(c):
			return refuse(RuleInvisible, "the number has an invisible character")
		}
	}
	if hasExtension(s) {
		return refuse(RuleExtension, "the number has an extension")
	}
	if strings.ContainsFunc(s, unicode.IsLetter) {
		return refuse(RuleLetters, "the number has letters")
	}
	digits, plus := strings.CutPrefix(s, "+")
	if !plus {
		return refuse(RuleNotE164, "the number does not start with + and its country code")
	}
	if strings.ContainsFunc(digits, func(c rune) bool { return !isDigit(c) }) {
		return refuse(RuleNotE164, "only digits may follow the +")
	}
	if len(digits) < 2 || len(digits) > maxDigits {
		return refuse(RuleNotE164, "the number must have 2 to 15 digits")
	}
	if digits[0] == '0' {
		return refuse(RuleNotE164, "no country code starts with 0")
	}
	return nil
}

// hasExtension recognises the ways in which extensions are written: "ext 5", ";ext=5", "x5", "#5".
func hasExtension(s string) bool {
	lower := strings.ToLower(s)
	if strings.Contains(lower, "ext") || strings.ContainsAny(lower, ";#") {
		return true
	}
	before, after, found := strings.Cut(lower, "x")
	after = strings.TrimLeft(after, ". :")
	return found && strings.ContainsFunc(before, isDigit) && after != "" && strings.TrimFunc(after, isDigit) == ""
}

func isDigit(c rune) bool { return c >= '0' && c <= '9' }

// unparsed reads the library's refusal of a string of the right shape.
func unparsed(err error) *Refusal {
	if errors.Is(err, phonenumbers.ErrInvalidCountryCode) {
		return refuse(RuleCountryCode, "no country has this country code")
	}
	return refuse(RuleImpossible, "the number is too short or too long for its country")
}

// altered explains why the canonical form differs from what was written: it would be another string that is dialled.
func altered(s string, parsed *phonenumbers.PhoneNumber) *Refusal {
	if zeroAfterCode(s, parsed) {
		return leadingZero()
	}
	return refuse(RuleInvalid, "the number has a national prefix after its country code")
}

// invalid explains why a number belongs to no range.
func invalid(s string, parsed *phonenumbers.PhoneNumber) *Refusal {
	switch {
	case !phonenumbers.IsPossibleNumber(parsed):
		return refuse(RuleImpossible, "the number is too short or too long for its country")
	case zeroAfterCode(s, parsed):
		return leadingZero()
	}
	return refuse(RuleInvalid, "the number is not in the numbering plan of its country")
}

func leadingZero() *Refusal {
	return refuse(RuleLeadingZero, "the national leading zero must not follow the country code")
}

func zeroAfterCode(s string, parsed *phonenumbers.PhoneNumber) bool {
	return strings.HasPrefix(s, "+"+strconv.Itoa(int(parsed.GetCountryCode()))+"0")
}

// country is the number's ISO region, "" for the library's placeholders (001 and ZZ).
func country(parsed *phonenumbers.PhoneNumber) string {
	region := phonenumbers.GetRegionCodeForNumber(parsed)
	if len(region) != 2 || region == "ZZ" {
		return ""
	}
	return region
}

// Countries is an allow list of ISO 3166-1 alpha-2 codes; empty: all.
type Countries []string

// Allows reports whether numbers of a country may be sent to. With a list, numbers of no country are not.
func (l Countries) Allows(country string) bool {
	return len(l) == 0 || slices.Contains(l, country)
}
