package views

func keyGlyph(k APIKey) Glyph {
	switch {
	case k.Live && k.Tone == ToneWarn:
		return GlyphAlert
	case k.Live:
		return GlyphDone
	}
	return GlyphCancelled
}

func personGlyph(p Person) Glyph {
	switch p.Tone {
	case ToneGood:
		return GlyphDone
	case ToneInfo:
		return GlyphMail
	}
	return GlyphCancelled
}

func (a Account) facts() []Fact {
	return []Fact{{Name: "Role", Text: a.Person.Role}, {Name: "State", Text: a.State}, {Name: "Second factor", Text: yesNo(a.SecondFactor, "an authenticator app", "none")},
		{Name: "Last seen", Time: a.LastSeen}, {Name: "Last day", Text: a.EndsOn}, {Name: "Account id", ID: a.ID}}
}
