package web

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// longestSearch is the longest id that there is: a client's has 128 characters.
const longestSearch = 200

// search serves POST /search. A number leads to its pseudonym; it is in no address, log line or event.
func (s *Server) search(c echo.Context) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	ctx, text := c.Request().Context(), strings.TrimSpace(form.Get("q"))
	if text == "" || len(text) > longestSearch {
		return pageFail(http.StatusUnprocessableEntity, "Search for a number with its country code, an id, an idempotency key, an event id or the provider's message id.")
	}
	if ref, err := dispatch.ParseRecipientRef(text); err == nil {
		if err := s.noteSearch(ctx, c, "recipient"); err != nil {
			return err
		}
		return seeOther(c, views.FilterByRecipient(ref.String()))
	}
	number, sure := readNumber(text)
	if !sure {
		ids, kind, err := s.deps.Staff.Search(ctx, text)
		if err != nil {
			return err
		}
		if len(ids) > 0 || number.IsZero() {
			if err := s.noteSearch(ctx, c, kind); err != nil {
				return err
			}
			return s.found(c, ids)
		}
	}
	if err := s.noteSearch(ctx, c, "number"); err != nil {
		return err
	}
	return seeOther(c, views.FilterByRecipient(s.deps.Staff.RecipientRef(number).String()))
}

// found leads to the one thing that was found, to a list of several, or says that there is none. What was searched for is not repeated.
func (s *Server) found(c echo.Context, ids []dispatch.NotificationID) error {
	switch len(ids) {
	case 0:
		return render(c, http.StatusNotFound, views.NotificationsPage(s.shell(c), views.Notifications{Empty: &views.Empty{
			Kind: views.NothingMatches, Title: "Nothing was found",
			Text:  "No notification, attempt, event or message has this id. A number is written with its country code, such as +49 …; ids have to be complete, only the id of a notification may be cut off.",
			Links: []views.Link{{Text: "All notifications", Path: views.PathNotifications}}}}))
	case 1:
		list := encodePairs(pairs(store.Filter{IDs: ids})) // so that the page has no neighbours but what was found
		return seeOther(c, withQuery(views.NotificationPath(ids[0].String()), encodePairs([]pair{{"list", list}})))
	}
	return seeOther(c, foundIDs(ids))
}

// readNumber reads a number as people write it: with spaces, dashes and brackets, with + or 00 or with nothing before the country code. sure
// says that it can be nothing else. The zero secret: it is none.
func readNumber(text string) (number dispatch.Secret, sure bool) {
	plain := strings.NewReplacer(" ", "", "-", "", "(", "", ")", "", "/", "", ".", "", "\u00a0", "", "\u202f", "").Replace(text)
	plain = strings.TrimPrefix(plain, "tel:")
	digits, plus := strings.CutPrefix(plain, "+")
	if !plus {
		digits, plus = strings.CutPrefix(plain, "00")
	}
	if !regexp.MustCompile(`^[1-9][0-9]{6,14}$`).MatchString(digits) {
		return dispatch.Secret{}, false
	}
	return dispatch.NewSecret("+" + digits), plus
}
