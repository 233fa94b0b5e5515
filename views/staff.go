package views

import "time"

// Staff is the list of accounts: /staff.
type Staff struct {
	Rows    []Person
	MayEdit bool
	Notices []Alert // conflicting roles, accounts without a second factor
	Roles   []RoleLine
}

// Person is one account.
type Person struct {
	ID, Name, Email string
	Role            string // as a word
	State           string // "Active", "Invited", "Disabled", "Ended"
	Tone            Tone
	SecondFactor    bool
	LastSeen        time.Time
	EndsOn          string // the last day, "2026-12-31"; "" for none
}

// RoleLine says what a role may do, in words.
type RoleLine struct{ Role, May, Not string }

// RoleLines describes the roles (DESIGN §9).
func RoleLines() []RoleLine {
	return []RoleLine{
		{"Support", "see, search, settle, pause a provider", "approve, export, change settings"},
		{"Compliance", "what support may, and approve, read the audit log, export", "people, keys, settings"},
		{"Auditor", "read, audit log, export; until an end date", "anything that changes something"},
		{"Admin", "people, keys, providers, settings", "decide, export"},
	}
}

// RoleChoices are the roles to choose from.
func RoleChoices() []Choice {
	var all []Choice
	for i, value := range []string{"support", "compliance", "auditor", "admin"} {
		line := RoleLines()[i]
		all = append(all, Choice{Value: value, Label: line.Role, Hint: "May " + line.May + ". Not: " + line.Not + "."})
	}
	return all
}

// Invite is the form: /staff/invite.
type Invite struct {
	Email, Name, Role, EndsOn string
	Errors                    FieldErrors
}

// Account is one person's page: /staff/{id}.
type Account struct {
	Person
	Role     string // its value
	Sessions []Session
	MayEdit  bool
	Self     bool // nobody changes their own role
	Errors   FieldErrors
}

// Session is one browser that is signed in.
type Session struct {
	What      string // the browser in words
	StartedAt time.Time
	LastSeen  time.Time
	This      bool
}
