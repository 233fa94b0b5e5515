package views

import "strings"

func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// share is a part in percent, between 0 and 100.
func share(part, whole int) int {
	if whole <= 0 {
		return 0
	}
	return min(max(part*100/whole, 0), 100)
}

func abilityGlyph(yes bool) Glyph {
	if yes {
		return GlyphDone
	}
	return GlyphCancelled
}
