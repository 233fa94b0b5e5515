package phone_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sentonce/dispatch/phone"
)

func TestValidNumbersAreKeptByteForByte(t *testing.T) {
	t.Parallel()
	for number, country := range map[string]string{
		"+4915112345678": "DE",
		"+4915120007919": "DE",
		"+447400123456":  "GB",
		"+12025550123":   "US",
		"+14165550123":   "CA",
		"+390612345678":  "IT", // Italian zeros belong to the number
		"+33612345678":   "FR",
		"+919876543210":  "IN",
		"+5511961234567": "BR",
		"+883510001234":  "", // of no country
	} {
		n, err := phone.Parse(number)
		if err != nil {
			t.Errorf("%s: %v", number, err)
			continue
		}
		if n.E164.Reveal() != number || n.Country != country {
			t.Errorf("%s: got %q in %q, want it unchanged in %q", number, n.E164.Reveal(), n.Country, country)
		}
	}
}

func TestFieldF35_ZerosExtensionsAndLetters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		number string
		rule   phone.Rule
	}{
		{"+4903012345678", phone.RuleLeadingZero},
		{"+44 07400123456", phone.RuleNotE164},
		{"+4407400123456", phone.RuleLeadingZero},
		{"030 12345678", phone.RuleNotE164},
		{"015112345678", phone.RuleNotE164},
		{"+1 415 555 2671 x123", phone.RuleExtension},
		{"+14155552671x123", phone.RuleExtension},
		{"+1 415 555 2671;ext=9", phone.RuleExtension},
		{"+4915112345678 ext 5", phone.RuleExtension},
		{"+14155552671#9", phone.RuleExtension},
		{"+4915112345678901", phone.RuleNotE164},
		{"+0123456789", phone.RuleNotE164},
		{"00491511234567", phone.RuleNotE164},
		{"+49151CALLME", phone.RuleLetters},
		{"tel:+4915112345678", phone.RuleLetters},
		{"+4915", phone.RuleInvalid},
		{"+999123456789", phone.RuleCountryCode},
		{"+12025", phone.RuleImpossible},
		{"+4712345678", phone.RuleInvalid},
		{"+ 4915112345678", phone.RuleNotE164},
		{" +4915112345678", phone.RuleNotE164},
		{"+49-151-12345678", phone.RuleNotE164},
		{"++4915112345678", phone.RuleNotE164},
		{"+49151\u00a012345678", phone.RuleInvisible},
		{"\u202a+4915112345678\u202c", phone.RuleInvisible},
		{"+49151\u200b12345678", phone.RuleInvisible},
		{"+4915112345678\n", phone.RuleInvisible},
		{"+49151\u0661\u0662345678", phone.RuleNonASCIIDigit},
		{"\uff0b4915112345678", phone.RuleNotE164},
		{"", phone.RuleNotE164},
		{"+", phone.RuleNotE164},
		{"+19005550123", phone.RulePremium},
		{"+449098790123", phone.RulePremium},
		{"61234", phone.RuleNotE164},
	} {
		_, err := phone.Parse(c.number)
		var refusal *phone.Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("%q: got error %v, want rule %s", c.number, err, c.rule)
			continue
		}
		if refusal.Rule != c.rule {
			t.Errorf("%q: got rule %s (%s), want %s", c.number, refusal.Rule, refusal.Detail, c.rule)
		}
	}
}

func TestRefusalAndNumberNeverShowTheDigits(t *testing.T) {
	t.Parallel()
	_, err := phone.Parse("+49151987654")
	if err == nil || strings.Contains(err.Error(), "987") {
		t.Errorf("the refusal is %v", err)
	}
	n, err := phone.Parse("+4915112345678")
	if err != nil {
		t.Fatal(err)
	}
	if printed := fmt.Sprintf("%v %+v %#v", n, n, n); strings.Contains(printed, "345678") {
		t.Errorf("printing shows %s", printed)
	}
}

func TestAllowList(t *testing.T) {
	t.Parallel()
	if !(phone.Countries{}).Allows("FR") || !phone.Countries(nil).Allows("") {
		t.Error("an empty list must allow all")
	}
	list := phone.Countries{"DE", "AT"}
	if !list.Allows("AT") || list.Allows("FR") || list.Allows("") {
		t.Error("a list must allow its members alone")
	}
}

// FuzzParse: whatever comes is taken unchanged or refused by a rule.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"+4915112345678", "+390612345678", "+4903012345678", "+1 415 555 2671 x123", "+49151\u0661", "\u202a+49", "+883510001234",
		"+80012345678", "", "+", "tel:+1;phone-context=+1", "+14155552671,,9", "+٤٩١٥١"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := phone.Parse(s)
		if err == nil {
			if n.E164.Reveal() != s || len(s) > 16 || s[0] != '+' {
				t.Errorf("%q was altered or is not E.164", s)
			}
			return
		}
		var refusal *phone.Refusal
		if !errors.As(err, &refusal) || refusal.Rule == "" || refusal.Detail == "" {
			t.Errorf("%q: %v", s, err)
		}
	})
}
