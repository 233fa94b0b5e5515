package views

// Glyph names one drawing on a 16 × 16 grid, made of strokes in the colour of the text around it.
type Glyph string

// The glyphs. The first ten are the shapes of states and differ from each other without colour.
const (
	GlyphAccepted    Glyph = "accepted"
	GlyphSending     Glyph = "sending"
	GlyphUnknown     Glyph = "unknown"
	GlyphSent        Glyph = "sent"
	GlyphDelivered   Glyph = "delivered"
	GlyphUndelivered Glyph = "undelivered"
	GlyphRefused     Glyph = "refused"
	GlyphExpired     Glyph = "expired"
	GlyphCancelled   Glyph = "cancelled"
	GlyphNotSent     Glyph = "not-sent"
	GlyphFlag        Glyph = "flag"
	GlyphCopy        Glyph = "copy"
	GlyphAlert       Glyph = "alert"
	GlyphInfo        Glyph = "info"
	GlyphDone        Glyph = "done"
	GlyphCross       Glyph = "cross"
	GlyphOverview    Glyph = "overview"
	GlyphList        Glyph = "list"
	GlyphAudit       Glyph = "audit"
	GlyphEvidence    Glyph = "evidence"
	GlyphProviders   Glyph = "providers"
	GlyphPeople      Glyph = "people"
	GlyphKey         Glyph = "key"
	GlyphSettings    Glyph = "settings"
	GlyphPerson      Glyph = "person"
	GlyphMenu        Glyph = "menu"
	GlyphMail        Glyph = "mail"
	GlyphQuestion    Glyph = "question"
	GlyphReceipt     Glyph = "receipt"
	GlyphLock        Glyph = "lock"
	GlyphRepeat      Glyph = "repeat"
	GlyphHand        Glyph = "hand"
	GlyphPause       Glyph = "pause"
	GlyphClock       Glyph = "clock"
	GlyphPrint       Glyph = "print"
)

const circle = "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2"

// Glyphs lists every glyph.
func Glyphs() []Glyph {
	return []Glyph{GlyphAccepted, GlyphSending, GlyphUnknown, GlyphSent, GlyphDelivered, GlyphUndelivered, GlyphRefused,
		GlyphExpired, GlyphCancelled, GlyphNotSent, GlyphFlag, GlyphCopy, GlyphAlert, GlyphInfo, GlyphDone, GlyphCross,
		GlyphOverview, GlyphList, GlyphAudit, GlyphEvidence, GlyphProviders, GlyphPeople, GlyphKey, GlyphSettings,
		GlyphPerson, GlyphMenu, GlyphMail, GlyphQuestion, GlyphReceipt, GlyphLock, GlyphRepeat, GlyphHand, GlyphPause,
		GlyphClock, GlyphPrint}
}

// strokes is the path data of the drawing.
func (g Glyph) strokes() string {
	switch g {
	case GlyphAccepted:
		return circle
	case GlyphSending:
		return circle + "M8 7.3a.7.7 0 1 1 0 1.4.7.7 0 0 1 0-1.4"
	case GlyphUnknown:
		return "M8 1.8 15 14H1zM6.6 7.4a1.4 1.4 0 1 1 2.1 1.3c-.5.3-.7.5-.7 1M8 11.7v.1"
	case GlyphSent:
		return "m3 8.5 3.2 3.2L13 4.8"
	case GlyphDelivered:
		return "m1 8.5 3 3 6-6.5M7.2 10.8l.8.7 6.5-6.5"
	case GlyphUndelivered:
		return "m1 7 2.8 2.8L8.5 4.5M10 9.5l4.5 4.5M14.5 9.5 10 14"
	case GlyphRefused:
		return "M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5zM5 8h6"
	case GlyphExpired:
		return "M4 2h8M4 14h8M5 2v2.4L8 8l3-3.6V2M5 14v-2.4L8 8l3 3.6V14"
	case GlyphCancelled:
		return "M3 8h10M3 5.5v5M13 5.5v5"
	case GlyphNotSent:
		return "M8 13V3M4 6.5 8 2.5l4 4M2.5 2.5l11 11"
	case GlyphFlag:
		return "M3.5 14.5v-12h8.5l-1.7 3.2L12 9H3.5"
	}
	return g.signs()
}

// signs are the drawings beside texts and events.
func (g Glyph) signs() string {
	switch g {
	case GlyphCopy:
		return "M6 5.5h7.5v8H6zM10 5.5v-3H2.5v8H6"
	case GlyphAlert:
		return "M8 1.8 15 14H1zM8 6.2v3.6M8 11.8v.1"
	case GlyphInfo:
		return circle + "M8 7.4v3.4M8 5.1v.1"
	case GlyphDone:
		return circle + "M5.4 8.2l1.9 1.9 3.4-3.9"
	case GlyphCross:
		return "m4 4 8 8M12 4l-8 8"
	case GlyphMail:
		return "M2 4h12v8.5H2zM2 4.5l6 4.5 6-4.5"
	case GlyphQuestion:
		return circle + "M6.5 6.6a1.5 1.5 0 1 1 2.2 1.3c-.5.3-.7.6-.7 1.1M8 11.1v.1"
	case GlyphReceipt:
		return "M3.5 2v12l1.5-1 1.5 1L8 13l1.5 1 1.5-1 1.5 1V2zM6 5.5h4M6 8.5h4"
	case GlyphLock:
		return "M3.5 7.5h9v6.5h-9zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5"
	case GlyphRepeat:
		return "M3 7a5 5 0 0 1 8.8-2.5L13 5.8M13 2.5v3.3H9.7M13 9a5 5 0 0 1-8.8 2.5L3 10.2M3 13.5v-3.3h3.3"
	case GlyphHand:
		return "M8 2v5M5.5 7.5V4M10.5 7.5v-4M3 8.5v1.2C3 12.5 5 14 8 14s5-1.7 5-4.5V5.5M3 8.5l2.5 1"
	case GlyphPause:
		return "M5.5 3v10M10.5 3v10"
	case GlyphClock:
		return circle + "M8 4.8V8l2.2 1.6"
	case GlyphPrint:
		return "M4.5 6V2h7v4M4.5 11.5h-2V6h11v5.5h-2M4.5 9.5h7V14h-7z"
	}
	return g.places()
}

// places are the drawings of the navigation.
func (g Glyph) places() string {
	switch g {
	case GlyphOverview:
		return "M2 14h12M4 14V8M8 14V3M12 14V6"
	case GlyphList:
		return "M5.5 4H14M5.5 8H14M5.5 12H14M2.2 4h.1M2.2 8h.1M2.2 12h.1"
	case GlyphAudit:
		return "M3 2h7l3 3v9H3zM5.5 7.5h5M5.5 10.5h5"
	case GlyphEvidence:
		return "M8 1.5 13.5 4v4c0 3.2-2.3 5.4-5.5 6.5C4.8 13.4 2.5 11.2 2.5 8V4zM5.8 8l1.6 1.6 2.9-3.2"
	case GlyphProviders:
		return "M8 14V8M5.5 10.5a3.5 3.5 0 1 1 5 0M3.2 12.3a6.5 6.5 0 1 1 9.6 0M8 8v.1"
	case GlyphPeople:
		return "M6 7.5A2.5 2.5 0 1 0 6 2.5a2.5 2.5 0 0 0 0 5M1.5 13.5c.3-2.6 2-4 4.5-4s4.2 1.4 4.5 4M10.8 7.3a2.3 2.3 0 0 0 0-4.5M12.5 10c1.2.6 1.9 1.8 2 3.5"
	case GlyphKey:
		return "M5 5.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5M7.5 8h6.5v2.5M11.5 8v2"
	case GlyphSettings:
		return "M2 4.5h6M12 4.5h2M10 2.8v3.4M2 11.5h2M8 11.5h6M6 9.8v3.4"
	case GlyphPerson:
		return "M8 7.5A2.7 2.7 0 1 0 8 2a2.7 2.7 0 0 0 0 5.5M3 14c.3-2.9 2.2-4.5 5-4.5s4.7 1.6 5 4.5"
	case GlyphMenu:
		return "M2.5 4.5h11M2.5 8h11M2.5 11.5h11"
	}
	return ""
}
