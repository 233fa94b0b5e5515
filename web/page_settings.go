package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// settingWords is how a setting is called and explained.
type settingWords struct {
	group, label, help, effect string
}

// wordsOfSetting says what a setting means, and from when on a change counts.
func wordsOfSetting(name string) settingWords {
	const next = "From now on it holds for everything that is looked at next; nothing has to be restarted."
	switch name {
	case "min_remaining":
		return settingWords{"Sending", "Least life for a call", "What has less life left is not sent any more.", next}
	case "max_ttl":
		return settingWords{"Sending", "Longest life of an event", "An event that lives longer is refused.", "It holds for events that come from now on."}
	case "max_attempts":
		return settingWords{"Sending", "Calls after a doubt", "How many calls one notification may have, when the ones before ended in doubt.", next}
	case "max_segments":
		return settingWords{"Sending", "Messages that one text may take", "A longer text is refused; 0 is no limit.", "It holds for events that come from now on."}
	case store.SettingFourEyes:
		return settingWords{"Decisions", "Sending again needs a second person", "Off means that one person alone can have it sent again.", next}
	case store.SettingSupportApproves:
		return settingWords{"Decisions", "Support may be the second person", "Off means that compliance alone approves.", next}
	case "countries":
		return settingWords{"Recipients", "Countries", "Numbers of other countries are refused.", "It holds for events that come from now on."}
	case "key_rate":
		return settingWords{"Limits", "Requests a second of one key", "Admissions and other requests are counted apart.", next}
	case "key_burst":
		return settingWords{"Limits", "Requests at once of one key", "After a pause.", next}
	case "client_rate":
		return settingWords{"Limits", "Requests a second of one client", "All its keys together.", next}
	case "client_burst":
		return settingWords{"Limits", "Requests at once of one client", "After a pause.", next}
	}
	return settingWords{"Other", name, "", next}
}

// showSettings serves GET /settings.
func (s *Server) showSettings(c echo.Context) error {
	values, err := s.deps.Staff.Settings(c.Request().Context())
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, views.SettingsPage(s.shell(c), buildSettings(values, s.pages.maySee(personOf(c).Role, views.PathSettings+"/:name"))))
}

// buildSettings makes the page from the stored values.
func buildSettings(values map[string]store.SettingVersion, mayEdit bool) views.Settings {
	m := views.Settings{MayEdit: mayEdit}
	for _, spec := range store.SettingSpecs() {
		v := values[spec.Name]
		m.Version += v.Version
		group := wordsOfSetting(spec.Name).group
		if n := len(m.Groups); n == 0 || m.Groups[n-1].Name != group {
			m.Groups = append(m.Groups, views.SettingGroup{Name: group})
		}
		last := &m.Groups[len(m.Groups)-1]
		last.Settings = append(last.Settings, buildSetting(spec, v))
	}
	return m
}

func buildSetting(spec store.SettingSpec, v store.SettingVersion) views.Setting {
	w := wordsOfSetting(spec.Name)
	m := views.Setting{Name: spec.Name, Label: w.label, Help: w.help, Value: v.Value, Default: spec.Default, Range: spec.Range}
	if m.Value == "" {
		m.Value = spec.Default
	}
	if v.Version > 1 {
		m.ChangedAt, m.ChangedBy = v.At, orID(v.ByName, "an operator")
	}
	return m
}

// settingOf is the setting that an address names, with its stored value.
func (s *Server) settingOf(c echo.Context) (spec store.SettingSpec, v store.SettingVersion, err error) {
	for _, each := range store.SettingSpecs() {
		if each.Name == c.Param("name") {
			values, err := s.deps.Staff.Settings(c.Request().Context())
			return each, values[each.Name], err
		}
	}
	return spec, v, fmt.Errorf("setting: %w", dispatch.ErrNotFound)
}

// askSetting serves the form of one setting.
func (s *Server) askSetting(c echo.Context) error {
	spec, v, err := s.settingOf(c)
	if err != nil {
		return err
	}
	m, err := s.settingPage(c, spec, v)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, views.SettingPage(s.shell(c), m))
}

func (s *Server) settingPage(c echo.Context, spec store.SettingSpec, v store.SettingVersion) (m views.SettingEdit, err error) {
	history, err := s.deps.Staff.SettingHistory(c.Request().Context(), spec.Name)
	if err != nil {
		return m, err
	}
	m = views.SettingEdit{Setting: buildSetting(spec, v), Version: v.Version, Effect: wordsOfSetting(spec.Name).effect}
	m.Input = views.Input{Name: "value", Label: "New value", Value: m.Value, Required: true, Max: 200, Short: true}
	if spec.Range == "on or off" {
		for _, word := range []string{"on", "off"} {
			m.Choices = append(m.Choices, views.Choice{Value: word, Label: word, Chosen: word == m.Value})
		}
	}
	for i, h := range history {
		if i+1 < len(history) {
			m.History = append(m.History, views.SettingChange{At: h.At, By: orID(h.ByName, "an operator"), From: history[i+1].Value, To: h.Value,
				Note: h.Note, Version: h.Version})
		}
	}
	return m, nil
}

// changeSetting takes a new value: first it shows the difference, then, with confirm=yes, it stores the value, which counts at once.
func (s *Server) changeSetting(c echo.Context) error {
	spec, v, err := s.settingOf(c)
	if err != nil {
		return err
	}
	form, err := formOf(c)
	if err != nil {
		return err
	}
	if wholeNumber(form.Get("version")) != v.Version {
		return fmt.Errorf("setting: %w", dispatch.ErrStale)
	}
	m, err := s.settingPage(c, spec, v)
	if err != nil {
		return err
	}
	m.Input.Value, m.Note = strings.TrimSpace(form.Get("value")), strings.TrimSpace(form.Get("note"))
	value, faults := checkSetting(spec, m.Input.Value, m.Note)
	if value == v.Value && len(faults) == 0 {
		faults = views.FieldErrors{{Field: "value", Text: "This is the value that it has."}}
	}
	if m.Errors = faults; len(faults) > 0 {
		for i := range m.Choices {
			m.Choices[i].Chosen = m.Choices[i].Value == m.Input.Value
		}
		return render(c, http.StatusUnprocessableEntity, views.SettingPage(s.shell(c), m))
	}
	if form.Get("confirm") != "yes" {
		m.Diff, m.New, m.Input.Value = true, value, value
		return render(c, http.StatusOK, views.SettingPage(s.shell(c), m))
	}
	if err := s.deps.Staff.ChangeSetting(c.Request().Context(), store.SettingVersion{Name: spec.Name, Version: v.Version, Value: value,
		By: personOf(c).actor(), Note: m.Note}); err != nil {
		return err
	}
	if s.deps.Settings != nil {
		if err := s.deps.Staff.LoadPolicy(c.Request().Context(), s.deps.Settings); err != nil {
			return err
		}
	}
	s.flash(c, m.Label+" is "+value+" now.")
	return seeOther(c, views.PathSettings)
}

// checkSetting reads a typed value and gives it in the form in which it is stored.
func checkSetting(spec store.SettingSpec, typed, note string) (value string, faults views.FieldErrors) {
	p := store.DefaultPolicy()
	err := spec.Parse(typed, &p)
	if err == nil {
		err = spec.Check(p)
	}
	if err != nil {
		text := err.Error()
		faults = append(faults, views.FieldError{Field: "value", Text: strings.ToUpper(text[:1]) + text[1:] + "."})
	}
	if note == "" || len(note) > 200 {
		faults = append(faults, views.FieldError{Field: "note", Text: "Say why, in at most 200 characters."})
	}
	return spec.Show(p), faults
}
