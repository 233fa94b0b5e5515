package sim

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strings"
)

// providerHandler is what the provider's port serves: the API, the control interface's JSON, and the way to the control page.
func (s *Server) providerHandler() http.Handler {
	messages := "/2010-04-01/Accounts/" + s.opt.AccountSID + "/Messages"
	control := s.adminRoutes(true)
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+messages+".json", s.send)
	mux.HandleFunc("GET "+messages+".json", s.list)
	mux.HandleFunc("GET "+messages+"/{file}", s.fetch)
	mux.Handle("/admin/", control)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.controlLink(r), http.StatusSeeOther)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.book.change(func() { s.book.foreign++ })
		answerError(w, http.StatusNotFound, 20404, "The requested resource "+r.URL.Path+" was not found")
	})
	return mux
}

// authorised checks HTTP Basic and answers 401, code 20003, itself (https://www.twilio.com/docs/api/errors/20003).
func (s *Server) authorised(w http.ResponseWriter, r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	if ok && same(user, s.opt.AccountSID) && same(password, s.opt.AuthToken) {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="Twilio API"`)
	answerError(w, http.StatusUnauthorized, 20003, "Authenticate")
	return false
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// twilioError is the body of a refusal in the 2010-04-01 API.
type twilioError struct {
	Code     int    `json:"code"`
	Message  string `json:"message"`
	MoreInfo string `json:"more_info"`
	Status   int    `json:"status"`
}

func answerError(w http.ResponseWriter, status, code int, message string) {
	answerJSON(w, status, errorBody(status, code, message))
}

func errorBody(status, code int, message string) []byte {
	return encode(twilioError{code, message, "https://www.twilio.com/docs/errors/" + decimal(code), status})
}

// encode writes a value of this package's own types as JSON; those cannot fail.
func encode(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return []byte(b.String())
}

// answerJSON writes a whole answer. A client that has left by now is no concern of the provider's, so a failed write is not looked at.
func answerJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", decimal(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}
