package views

import "time"

// Settings is the page of policy values: /settings.
type Settings struct {
	Groups  []SettingGroup
	Version int
	MayEdit bool
	Boot    []Fact // what the configuration file says; secrets only as "set" or "not set"
}

// SettingGroup is a few settings under one heading.
type SettingGroup struct {
	Name     string
	Settings []Setting
}

// Setting is one policy value.
type Setting struct {
	Name      string // in the address and in the audit log
	Label     string
	Help      string
	Value     string // as people read it, e.g. "10 min"
	Default   string
	Range     string // "1 min to 24 h"
	ChangedAt time.Time
	ChangedBy string
}

// SettingEdit is the page of one setting: /settings/{name}. First the value is asked, then the difference is shown.
type SettingEdit struct {
	Setting
	Version int
	Input   Input // of the value
	Choices []Choice
	Note    string
	Diff    bool   // the difference is shown and has to be confirmed
	New     string // the new value as people read it
	Effect  string // what changes with it
	History []SettingChange
	Errors  FieldErrors
}

// SettingChange is one earlier change.
type SettingChange struct {
	At       time.Time
	By       string
	From, To string
	Note     string
	Version  int
}
