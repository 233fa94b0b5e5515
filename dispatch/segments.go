package dispatch

import (
	"strings"
	"unicode/utf16"
)

// Encoding is how a text travels over the air.
type Encoding string

const (
	EncodingGSM7 Encoding = "GSM-7" // the 7-bit default alphabet of 3GPP TS 23.038 §6.2.1
	EncodingUCS2 Encoding = "UCS-2" // 16-bit units; one character outside the 7-bit alphabet makes the whole text so
)

// Encodings lists every encoding.
func Encodings() []Encoding { return []Encoding{EncodingGSM7, EncodingUCS2} }

// Capacity of one message, in units of the encoding: alone, and as one part of several, where the user data header takes its place
// (3GPP TS 23.040 §9.2.3.24.1).
const (
	gsm7Alone, gsm7Part = 160, 153
	ucs2Alone, ucs2Part = 70, 67
)

// gsm7Beyond is the default alphabet beyond ASCII; each of its characters takes one unit.
const gsm7Beyond = "£¥èéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà"

// gsm7Extension is the extension table; each of its characters takes two units, the escape and its code.
const gsm7Extension = "\f^{}\\[~]|€"

// gsm7Size is the number of units of a character in the 7-bit alphabet, 0 for one that is not in it.
func gsm7Size(r rune) int {
	switch {
	case strings.ContainsRune(gsm7Extension, r):
		return 2
	case r == '\n' || r == '\r' || r >= ' ' && r <= '~' && r != '`':
		return 1
	case r > '~' && strings.ContainsRune(gsm7Beyond, r):
		return 1
	}
	return 0
}

// Segments returns the encoding that a text needs and the number of messages that carry it. A character that takes two units is never split
// between two parts. The empty text takes one.
func Segments(text string) (Encoding, int) {
	if units, ok := sizes(text, gsm7Size); ok {
		return EncodingGSM7, parts(units, gsm7Alone, gsm7Part)
	}
	units, _ := sizes(text, ucs2Size)
	return EncodingUCS2, parts(units, ucs2Alone, ucs2Part)
}

// sizes lists the units of each character; ok is false when one is outside the alphabet.
func sizes(text string, size func(rune) int) (units []int, ok bool) {
	for _, r := range text {
		n := size(r)
		if n == 0 {
			return nil, false
		}
		units = append(units, n)
	}
	return units, true
}

func ucs2Size(r rune) int { return max(utf16.RuneLen(r), 1) }

// parts fills one part after the other.
func parts(units []int, alone, part int) int {
	total := 0
	for _, n := range units {
		total += n
	}
	if total <= alone {
		return 1
	}
	count, room := 1, part
	for _, n := range units {
		if n > room {
			count, room = count+1, part
		}
		room -= n
	}
	return count
}
