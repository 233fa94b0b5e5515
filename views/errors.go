package views

import "net/http"

// Error is the page for what did not work. It never holds the cause of a fault of ours: the log has it under the request id.
type Error struct {
	Status    int
	Title     string
	Text      string
	RequestID string
	Changed   []Fact // 409: what is so now, and who made it so
	Kept      string // the note that the person had typed
	Links     []Link
}

// ErrorOf gives the words for a status. The caller may put better ones in their place.
func ErrorOf(status int, requestID string) Error {
	e := Error{Status: status, RequestID: requestID, Links: []Link{{"Go to the overview", PathOverview}}}
	switch status {
	case http.StatusForbidden:
		e.Title, e.Text = "This is not for your role", "Your role may not see or do this. If you need it, ask an admin. Nothing was changed."
	case http.StatusNotFound:
		e.Title, e.Text = "There is no such page", "The address leads nowhere. It may have been cut when it was copied, or what it named has been purged."
	case http.StatusConflict:
		e.Title, e.Text = "It has changed in the meantime", "Somebody or something was faster. Nothing of your form was carried out."
	case http.StatusUnprocessableEntity:
		e.Title, e.Text = "Something is missing or does not fit", "Nothing was changed. Go back, look at the form again, and send it once more."
	case http.StatusTooManyRequests:
		e.Title, e.Text = "Too many requests", "Wait a moment before you go on. Nothing was changed."
	case http.StatusServiceUnavailable:
		e.Title, e.Text = "Not possible at the moment", "The service cannot write what you asked for, so it has not done it. Reading may still work. Nothing was changed."
	default:
		e.Title, e.Text = "Something went wrong here", "That is a fault of ours. What you asked for may or may not have been done: look at the item before you do it again. Tell your operator the request id; the log has the details under it."
	}
	return e
}
