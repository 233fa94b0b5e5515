package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// keySoon is when a key that ends is pointed out.
const keySoon = 14 * 24 * time.Hour

// showClients serves GET /clients.
func (s *Server) showClients(c echo.Context) error {
	now := s.deps.Clock.Now()
	all, err := s.deps.Staff.Clients(c.Request().Context(), now.Add(-24*time.Hour))
	if err != nil {
		return err
	}
	m := views.Clients{MayEdit: true}
	for _, x := range all {
		m.Rows = append(m.Rows, clientRow(x, now))
	}
	if len(m.Rows) == 0 {
		m.Empty = &views.Empty{Kind: views.NothingYet, Title: "No client yet", Text: "Add the storefront that hands over the first events."}
	}
	return render(c, http.StatusOK, views.ClientsPage(s.shell(c), m))
}

func clientRow(x store.ClientSummary, now time.Time) views.ClientRow {
	r := views.ClientRow{ID: x.ID.String(), Name: x.Name, Keys: x.Keys, CreatedAt: x.CreatedAt, Accepted: x.Accepted, Unknown: x.Unknown}
	switch {
	case x.Keys == 0:
		r.KeysNote = "it cannot hand over events"
	case !x.NextEnd.IsZero() && x.NextEnd.Sub(now) < keySoon:
		r.KeysNote = "one ends in " + views.Duration(x.NextEnd.Sub(now).Truncate(time.Hour))
	}
	return r
}

// askClient serves the form of a new client.
func (s *Server) askClient(c echo.Context) error {
	return render(c, http.StatusOK, views.NewClientPage(s.shell(c), views.NewClient{}))
}

// addClient makes a client.
func (s *Server) addClient(c echo.Context) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	name := strings.TrimSpace(form.Get("name"))
	again := func(text string) error {
		return render(c, http.StatusUnprocessableEntity, views.NewClientPage(s.shell(c), views.NewClient{Name: name,
			Errors: views.FieldErrors{{Field: "name", Text: text}}}))
	}
	if !plainName(name, 80) {
		return again("Write a name of at most 80 characters.")
	}
	id, err := s.deps.Staff.AddClient(c.Request().Context(), name, personOf(c).actor())
	if errors.Is(err, store.ErrExists) {
		return again("There is a client of that name.")
	}
	if err != nil {
		return err
	}
	s.flash(c, name+" is added. It needs a key now.")
	return seeOther(c, views.ClientPath(id.String()))
}

// plainName reports whether a text can be a name: visible characters, not too many.
func plainName(name string, most int) bool {
	return name != "" && len(name) <= most && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// showClient serves GET /clients/{id}.
func (s *Server) showClient(c echo.Context) error {
	return s.clientPage(c, http.StatusOK, views.KeyForm{Scopes: scopeChoices(nil)})
}

func (s *Server) clientPage(c echo.Context, status int, form views.KeyForm) error {
	id, name, created, keys, err := s.clientOf(c.Request().Context(), c)
	if err != nil {
		return err
	}
	m := views.Client{ID: id.String(), Name: name, CreatedAt: created, MayEdit: true, Form: form,
		Facts: []views.Fact{{Name: "Client id", ID: id.String()}, {Name: "Added", Time: created}}}
	for _, k := range keys {
		m.Keys = append(m.Keys, buildKey(k, s.deps.Clock.Now()))
	}
	return render(c, status, views.ClientPage(s.shell(c), m))
}

// buildKey is a key as it may be shown.
func buildKey(k dispatch.APIKey, now time.Time) views.APIKey {
	m := views.APIKey{ID: k.ID.String(), Name: k.Name, Hint: k.ID.String(), Scopes: scopeWords(k.Scopes), CreatedAt: k.CreatedAt,
		CreatedBy: "an administrator", ExpiresAt: k.ExpiresAt, Live: k.Valid(now), State: "In use", Tone: views.ToneGood}
	switch {
	case !k.RevokedAt.IsZero():
		m.State, m.Tone = "Revoked", views.ToneMuted
	case !m.Live:
		m.State, m.Tone = "Expired", views.ToneMuted
	case !k.ExpiresAt.IsZero() && k.ExpiresAt.Sub(now) < keySoon:
		m.State, m.Tone = "Expires soon", views.ToneWarn
	}
	return m
}

func scopeWords(scopes []dispatch.Scope) string {
	var words []string
	for _, s := range scopes {
		words = append(words, labelOf(views.Scopes(), string(s)))
	}
	return strings.Join(words, ", ")
}

func scopeChoices(chosen []string) (all []views.Choice) {
	for _, c := range views.Scopes() {
		c.Chosen = slices.Contains(chosen, c.Value)
		all = append(all, c)
	}
	return all
}

// makeKey makes a key and shows its secret once, on the page that answers.
func (s *Server) makeKey(c echo.Context) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	id, clientName, _, _, err := s.clientOf(c.Request().Context(), c)
	if err != nil {
		return err
	}
	f := views.KeyForm{Name: strings.TrimSpace(form.Get("name")), ExpiresOn: form.Get("expires_on"), Scopes: scopeChoices(form["scopes"])}
	expires, scopes := s.checkKey(&f, form["scopes"], zoneOf(c))
	if len(f.Errors) > 0 {
		return s.clientPage(c, http.StatusUnprocessableEntity, f)
	}
	secret, err := s.deps.Staff.AddAPIKey(c.Request().Context(), store.NewAPIKey{Client: id, Name: f.Name, Scopes: scopes, ExpiresAt: expires,
		By: personOf(c).actor()})
	if errors.Is(err, store.ErrExists) {
		f.Errors = views.FieldErrors{{Field: "name", Text: "This client has a key of that name."}}
		return s.clientPage(c, http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	return s.showSecret(c, id, clientName, f.Name, secret, expires)
}

// checkKey reads the form of a key; its faults go into the form.
func (s *Server) checkKey(f *views.KeyForm, asked []string, zone *time.Location) (expires time.Time, scopes []dispatch.Scope) {
	fault := func(field, text string) { f.Errors = append(f.Errors, views.FieldError{Field: field, Text: text}) }
	if !plainName(f.Name, 60) {
		fault("name", "Write a name of at most 60 characters.")
	}
	for _, s := range dispatch.Scopes() {
		if slices.Contains(asked, string(s)) {
			scopes = append(scopes, s)
		}
	}
	if len(scopes) == 0 || len(scopes) != len(asked) {
		fault("scopes", "Choose what the key may do.")
	}
	day, err := time.ParseInLocation(time.DateOnly, f.ExpiresOn, zone)
	expires = day.AddDate(0, 0, 1)
	switch now := s.deps.Clock.Now(); {
	case err != nil:
		fault("expires_on", "Choose the last day on which the key works.")
	case !expires.After(now):
		fault("expires_on", "The last day must not be over.")
	case expires.Sub(now) > usableFor:
		fault("expires_on", "A key lives for one year at most.")
	}
	return expires, scopes
}

// showSecret answers with a new secret. It stands in this answer alone: not in an address, not in a log, not in the database.
func (s *Server) showSecret(c echo.Context, id dispatch.ClientID, clientName, name string, secret dispatch.Secret, expires time.Time) error {
	return render(c, http.StatusOK, views.SecretPage(s.shell(c), views.Secret{Title: "New API key", What: "API key", Value: secret.Reveal(),
		Told: "Give it to the backend of " + clientName + " now.", Back: views.ClientPath(id.String()),
		Facts: []views.Fact{{Name: "Client", Text: clientName}, {Name: "Key", Text: name}, {Name: "Works until", Time: expires}}}))
}

// overlaps are how long an old key may go on beside its successor.
func overlaps() []views.Choice {
	return []views.Choice{{Value: "1h", Label: "1 hour"}, {Value: "24h", Label: "1 day"}, {Value: "168h", Label: "7 days"}}
}

// clientKey is the usable key that an address names.
func (s *Server) clientKey(c echo.Context) (change store.KeyChange, clientName string, k dispatch.APIKey, err error) {
	id, clientName, _, keys, err := s.clientOf(c.Request().Context(), c)
	if err != nil {
		return change, "", k, err
	}
	i := slices.IndexFunc(keys, func(k dispatch.APIKey) bool { return k.ID.String() == c.Param("key") })
	if i < 0 {
		return change, "", k, fmt.Errorf("key: %w", dispatch.ErrNotFound)
	}
	if !keys[i].Valid(s.deps.Clock.Now()) {
		return change, "", k, pageFail(http.StatusConflict, "This key has ended already.")
	}
	return store.KeyChange{Client: id, Key: keys[i].ID, By: personOf(c).actor()}, clientName, keys[i], nil
}

// askRotate serves the page before a key is replaced.
func (s *Server) askRotate(c echo.Context) error {
	change, client, k, err := s.clientKey(c)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, views.ConfirmPage(s.shell(c), rotateForm(change, client, k, nil)))
}

func rotateForm(change store.KeyChange, client string, k dispatch.APIKey, faults views.FieldErrors) views.Confirm {
	id := change.Client.String()
	return views.Confirm{Title: "Replace the key “" + k.Name + "”", Object: "A key of " + client,
		Effects: []string{"A new key with the same rights is made; its secret is shown once, on the next page.",
			"The old key goes on for the time that you choose, so that the backend can change over without a gap."},
		Action:  views.KeyPath(id, k.ID.String(), "rotate"),
		Selects: []views.Choosing{{Input: views.Input{Name: "overlap", Label: "The old key works for another", Value: "24h", Required: true}, Choices: overlaps()}},
		Button:  "Replace the key", Back: views.ClientPath(id), Errors: faults}
}

// rotateKey replaces a key.
func (s *Server) rotateKey(c echo.Context) error {
	change, client, k, err := s.clientKey(c)
	if err != nil {
		return err
	}
	form, err := formOf(c)
	if err != nil {
		return err
	}
	chosen := form.Get("overlap")
	overlap, err := time.ParseDuration(chosen)
	if err != nil || !slices.ContainsFunc(overlaps(), func(c views.Choice) bool { return c.Value == chosen }) {
		return render(c, http.StatusUnprocessableEntity, views.ConfirmPage(s.shell(c), rotateForm(change, client, k,
			views.FieldErrors{{Field: "overlap", Text: "Choose how long the old key goes on."}})))
	}
	expires := s.deps.Clock.Now().Add(usableFor)
	secret, name, err := s.deps.Staff.RotateAPIKey(c.Request().Context(), change, overlap, expires)
	if err != nil {
		return err
	}
	return s.showSecret(c, change.Client, client, name, secret, expires)
}

// askRevoke serves the page before a key is revoked.
func (s *Server) askRevoke(c echo.Context) error {
	change, client, k, err := s.clientKey(c)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, views.ConfirmPage(s.shell(c), views.Confirm{Title: "Revoke the key “" + k.Name + "”", Object: "A key of " + client,
		Effects: []string{"From this moment every request with it is refused.", "What it handed over stays and is sent.", "It cannot be taken back."},
		Action:  views.KeyPath(change.Client.String(), k.ID.String(), "revoke"), Button: "Revoke the key", Danger: true,
		Back: views.ClientPath(change.Client.String())}))
}

// revokeKey ends a key at once.
func (s *Server) revokeKey(c echo.Context) error {
	change, _, k, err := s.clientKey(c)
	if err != nil {
		return err
	}
	if err := s.deps.Staff.RevokeAPIKey(c.Request().Context(), change); err != nil {
		return err
	}
	s.flash(c, "The key “"+k.Name+"” is revoked.")
	return seeOther(c, views.ClientPath(change.Client.String()))
}
