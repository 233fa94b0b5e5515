package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// pauseReasons are why a person pauses a provider.
func pauseReasons() []views.Choice {
	return []views.Choice{{Value: "provider_incident", Label: "The provider has an incident"},
		{Value: "many_unknowns", Label: "Too many outcomes are unknown"}, {Value: "maintenance", Label: "Planned work"},
		{Value: "cost", Label: "Cost or contract"}, {Value: "other", Label: "Another reason, in the note"}}
}

// showProviders serves GET /providers, and its live part: with rev, 204 while nothing has changed.
func (s *Server) showProviders(c echo.Context) error {
	m, err := s.providers(c)
	if err != nil {
		return err
	}
	rev := revisionOf(m.Rows)
	sp := spanOf(c.QueryParam("range"))
	if personOf(c).Live {
		m.Live = views.Live{Path: views.PathProviders + "?range=" + sp.name + "&rev=" + strconv.FormatInt(rev, 10), Rev: rev}
	}
	if asked := c.QueryParam("rev"); asked != "" {
		if asked == strconv.FormatInt(rev, 10) {
			return c.NoContent(http.StatusNoContent)
		}
		return render(c, http.StatusOK, views.ProviderCards(s.clock(c), m))
	}
	return render(c, http.StatusOK, views.ProvidersPage(s.shell(c), m))
}

func (s *Server) providers(c echo.Context) (m views.Providers, err error) {
	ctx, sp := c.Request().Context(), spanOf(c.QueryParam("range"))
	holds, err := s.deps.Staff.ProviderHolds(ctx)
	if err != nil {
		return m, err
	}
	starts, end := sp.bars(s.deps.Clock.Now())
	calls, err := s.deps.Staff.Calls(ctx, starts[0], end)
	if err != nil {
		return m, err
	}
	role := personOf(c).Role
	m = views.Providers{Ranges: spanTabs(views.PathProviders, sp), MayPause: s.pages.maySee(role, views.PathProviders+"/:name/pause"),
		System: []views.Fact{{Name: "Version", Text: s.deps.Version}}}
	if s.deps.ClockPaused != nil {
		m.System = append(m.System, views.Fact{Name: "Clock", Text: map[bool]string{true: "was set back; nothing is sent until it has caught up",
			false: "runs"}[s.deps.ClockPaused()]})
	}
	for _, p := range s.statuses() {
		row := buildProvider(p, holds, calls, s.deps.Calls.Of(p.Name), s.clock(c))
		if s.pages.maySee(role, views.PathNotifications) {
			row.List = withQuery(views.PathNotifications, encodePairs(pairs(store.Filter{States: []dispatch.State{dispatch.StateUnknown}, Provider: p.Name})))
		}
		m.Rows = append(m.Rows, row)
	}
	return m, nil
}

func (s *Server) statuses() []dispatch.ProviderStatus {
	if s.deps.Providers == nil {
		return nil
	}
	return s.deps.Providers.Status()
}

// buildProvider is one provider as it is now.
func buildProvider(p dispatch.ProviderStatus, holds []store.ProviderHold, calls []store.CallCount, l Latency, clock views.Clock) views.Provider {
	m := views.Provider{Name: p.Name, Kind: "SMS", Breaker: p.Breaker, InFlight: p.InFlight, AtOnce: p.Concurrency, LastTaken: p.LastTaken,
		LastFailed: p.LastFailed, Median: l.Median, P95: l.P95, P99: l.P99, Can: p.Can, Timeout: p.Timeout}
	hold := slices.IndexFunc(holds, func(h store.ProviderHold) bool { return h.Provider == p.Name })
	switch {
	case hold >= 0:
		h := holds[hold]
		m.State, m.HeldBy = views.ProviderHeld, orID(h.ByName, "an operator")
		m.Sentence = fmt.Sprintf("%s paused it %s: %s. Calls under way go on; new ones wait, or go to another provider.", m.HeldBy,
			clock.Relative(h.At), labelOf(pauseReasons(), h.Reason))
		if h.Note != "" {
			m.Sentence += " Note: " + h.Note
		}
	case p.Cause == dispatch.PauseAccountRefusing && p.Unavailable:
		m.State, m.Sentence = views.ProviderRefusing, "It refuses our account, not the messages. Look at its console: credential, balance, sender. Messages wait."
	case p.Breaker == "open":
		m.State, m.Sentence = views.ProviderOpen, "Too many calls ended in doubt or did not reach it, so that no new ones are made; single calls try it out soon."
	case !p.PausedUntil.IsZero():
		m.State, m.Sentence = views.ProviderPaused, "It asked for a pause, or could not be reached. The next call is made "+clock.Relative(p.PausedUntil)+"."
	default:
		m.State, m.Sentence = views.ProviderRunning, "It takes calls."
	}
	for _, c := range calls {
		if c.Provider == p.Name {
			m.Calls += c.N
			countCall(&m, c)
		}
	}
	return m
}

func countCall(m *views.Provider, c store.CallCount) {
	switch c.Outcome {
	case dispatch.OutcomeAccepted:
		m.Sent += c.N
	case dispatch.OutcomeRefused:
		m.Refused += c.N
	case dispatch.OutcomeNotSent:
		m.NotSent += c.N
	case dispatch.OutcomeUnknown, dispatch.OutcomeUndetermined:
		m.Unknown += c.N
	}
}

// providerOf is the configured provider that an address names.
func (s *Server) providerOf(c echo.Context) (string, error) {
	name := c.Param("name")
	for _, p := range s.statuses() {
		if p.Name == name {
			return name, nil
		}
	}
	return "", fmt.Errorf("provider: %w", dispatch.ErrNotFound)
}

// askPause serves the page before a pause.
func (s *Server) askPause(c echo.Context) error {
	name, err := s.providerOf(c)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, views.ConfirmPage(s.shell(c), pauseForm(name, "", "", nil)))
}

func pauseForm(name, reason, note string, faults views.FieldErrors) views.Confirm {
	return views.Confirm{Title: "Pause " + name, Object: "No new calls go to it until somebody resumes it.",
		Effects: []string{"Calls that are under way go on to their end.",
			"Notifications wait, or go to another provider. What waits longer than its lifetime expires unsent.",
			"It stays paused over a restart, and the audit log says who paused it and why."},
		Action:  views.ProviderPausePath(name),
		Selects: []views.Choosing{{Input: views.Input{Name: "reason", Label: "Why?", Value: reason, Required: true}, Choices: pauseReasons()}},
		Inputs:  []views.Input{{Name: "note", Label: "Note", Hint: "For your colleagues. No number, no code, no link.", Value: note, Max: 200}},
		Button:  "Pause " + name, Danger: true, Back: views.PathProviders, Errors: faults}
}

// pauseProvider holds a provider: first on disk with its event, then at once in this process.
func (s *Server) pauseProvider(c echo.Context) error {
	name, err := s.providerOf(c)
	if err != nil {
		return err
	}
	form, err := formOf(c)
	if err != nil {
		return err
	}
	reason, note := form.Get("reason"), strings.TrimSpace(form.Get("note"))
	var faults views.FieldErrors
	if !slices.ContainsFunc(pauseReasons(), func(c views.Choice) bool { return c.Value == reason }) {
		faults = append(faults, views.FieldError{Field: "reason", Text: "Choose why it is paused."})
	}
	if fault := dispatch.TextFault(note, 200); fault != "" && note != "" {
		faults, note = append(faults, views.FieldError{Field: "note", Text: fault}), ""
	} else if reason == "other" && note == "" {
		faults = append(faults, views.FieldError{Field: "note", Text: "Say in the note what the reason is."})
	}
	if len(faults) > 0 {
		return render(c, http.StatusUnprocessableEntity, views.ConfirmPage(s.shell(c), pauseForm(name, reason, note, faults)))
	}
	err = s.deps.Staff.HoldProvider(c.Request().Context(), store.ProviderHold{Provider: name, By: personOf(c).actor(), Reason: reason, Note: note})
	if errors.Is(err, store.ErrExists) {
		return pageFail(http.StatusConflict, "It is paused already.")
	}
	if err != nil {
		return err
	}
	s.deps.Providers.Hold(name, true)
	s.flash(c, name+" is paused.")
	return seeOther(c, views.PathProviders)
}

// askResume serves the page before the end of a pause.
func (s *Server) askResume(c echo.Context) error {
	name, err := s.providerOf(c)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, views.ConfirmPage(s.shell(c), views.Confirm{Title: "Resume " + name, Object: "New calls go to it again.",
		Effects: []string{"What waits is sent as soon as the provider can take it.", "What has expired meanwhile stays expired."},
		Action:  views.ProviderResumePath(name), Button: "Resume " + name, Back: views.PathProviders}))
}

// resumeProvider ends a hold.
func (s *Server) resumeProvider(c echo.Context) error {
	name, err := s.providerOf(c)
	if err != nil {
		return err
	}
	err = s.deps.Staff.ReleaseProvider(c.Request().Context(), name, personOf(c).actor())
	if errors.Is(err, dispatch.ErrNotFound) {
		return pageFail(http.StatusConflict, "Nobody has paused it.")
	}
	if err != nil {
		return err
	}
	s.deps.Providers.Hold(name, false)
	s.flash(c, name+" takes calls again.")
	return seeOther(c, views.PathProviders)
}

// usableFor is how long a key that a page makes may live at most.
const usableFor = 366 * 24 * time.Hour

// clientOf reads a client and its keys by the id in the address.
func (s *Server) clientOf(ctx context.Context, c echo.Context) (id dispatch.ClientID, name string, created time.Time, keys []dispatch.APIKey, err error) {
	if id, err = dispatch.ParseClientID(c.Param("id")); err != nil {
		return id, "", created, nil, err
	}
	name, created, keys, err = s.deps.Staff.APIKeys(ctx, id)
	return id, name, created, keys, err
}
