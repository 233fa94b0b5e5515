package dispatch_test

import (
	"strings"
	"testing"

	"sentonce/dispatch"
)

func TestFieldF37_SegmentsAreCountedByTheGSMRules(t *testing.T) {
	t.Parallel()
	rep := strings.Repeat
	for name, x := range map[string]struct {
		text     string
		encoding dispatch.Encoding
		parts    int
	}{
		"160 plain characters":                     {rep("a", 160), dispatch.EncodingGSM7, 1},
		"161 plain characters":                     {rep("a", 161), dispatch.EncodingGSM7, 2},
		"twice 153":                                {rep("a", 306), dispatch.EncodingGSM7, 2},
		"one more":                                 {rep("a", 307), dispatch.EncodingGSM7, 3},
		"70 units with a curly quote":              {rep("a", 69) + "’", dispatch.EncodingUCS2, 1},
		"71 units with a curly quote":              {rep("a", 70) + "’", dispatch.EncodingUCS2, 2},
		"69 characters and an emoji":               {rep("a", 69) + "🙂", dispatch.EncodingUCS2, 2},
		"80 brackets take two units each":          {rep("[", 80), dispatch.EncodingGSM7, 1},
		"81 brackets":                              {rep("[", 81), dispatch.EncodingGSM7, 2},
		"69 bars are single units in UCS-2":        {rep("|", 69) + "ж", dispatch.EncodingUCS2, 1},
		"an escape is not split between parts":     {rep("a", 152) + "[" + rep("a", 152), dispatch.EncodingGSM7, 3},
		"a surrogate pair is not split":            {rep("ж", 66) + "🙂" + rep("ж", 66), dispatch.EncodingUCS2, 3},
		"every character of the basic table":       {"@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ¡ÄÖÑÜ§¿äöñüà", dispatch.EncodingGSM7, 1},
		"a lower-case c with cedilla is not in it": {"ç", dispatch.EncodingUCS2, 1},
		"the euro sign is":                         {"€", dispatch.EncodingGSM7, 1},
		"a backquote is not":                       {"`", dispatch.EncodingUCS2, 1},
		"nothing":                                  {"", dispatch.EncodingGSM7, 1},
	} {
		if e, n := dispatch.Segments(x.text); e != x.encoding || n != x.parts {
			t.Errorf("%s: %s in %d parts, want %s in %d", name, e, n, x.encoding, x.parts)
		}
	}
}
