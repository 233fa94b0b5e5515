package sim

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// controlHandler is what the control port serves: the page and the JSON.
func (s *Server) controlHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/admin/", s.adminRoutes(false))
	mux.Handle("GET /{$}", s.guarded(http.HandlerFunc(s.controlPage)))
	mux.Handle("GET /control.css", s.guarded(http.HandlerFunc(controlStyle)))
	return mux
}

// adminRoutes is the control interface: reads by GET, every change by POST, as JSON or as a form of the page. onProvider tells that it
// is served on the port that the mode "down" closes.
func (s *Server) adminRoutes(onProvider bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /admin/ledger", s.adminLedger)
	mux.HandleFunc("GET /admin/patterns", adminPatterns)
	mux.Handle("POST /admin/script", s.command(s.adminScript))
	mux.Handle("POST /admin/list", s.command(s.adminList))
	mux.Handle("POST /admin/release", s.command(s.adminRelease))
	mux.Handle("POST /admin/receipts", s.command(s.adminReceipt))
	mux.Handle("POST /admin/mode", s.command(func(_ context.Context, c command) (any, error) {
		if onProvider && c.Mode == ModeDown {
			return modeAnswer{ModeDown}, s.start(s.downAfterAnswer(c.answered))
		}
		err := s.SetMode(c.Mode)
		return modeAnswer{s.Mode()}, err
	}))
	return s.guarded(mux)
}

// downAfterAnswer lets the answer to the request that asked for it leave by the very port that is to be closed.
func (s *Server) downAfterAnswer(answered <-chan struct{}) func() {
	return func() {
		select {
		case <-answered:
		case <-s.ctx.Done():
		}
		if err := s.Down(); err != nil {
			s.opt.Logger.Error("the provider's port did not close", "err", err)
		}
	}
}

// guarded keeps other sites' pages in a browser on this machine out: no POST from another origin, and, on loopback, no name in the Host
// header that somebody else's DNS may have pointed here.
func (s *Server) guarded(next http.Handler) http.Handler {
	sameOrigin := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !s.opt.AllowRemote && !isLoopbackName(r.Host) {
			http.Error(w, "this is the control interface of a simulator on loopback; ask for it by its address", http.StatusMisdirectedRequest)
			return
		}
		sameOrigin.ServeHTTP(w, r)
	})
}

func isLoopbackName(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

type modeAnswer struct {
	Mode Mode `json:"mode"`
}

// command reads a POST, runs it, and answers JSON with JSON and a form with the page.
func (s *Server) command(run func(context.Context, command) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, isJSON, err := readCommand(w, r)
		answered := make(chan struct{})
		defer close(answered)
		c.answered = answered
		var answer any
		if err == nil {
			answer, err = run(r.Context(), c)
		}
		switch {
		case errors.Is(err, ErrInvalid), errors.Is(err, ErrNoCallback):
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadGateway)
		case isJSON:
			answerJSON(w, http.StatusOK, encode(answer))
		default:
			w.Header().Set("Content-Length", "0") // the answer is whole at the flush, even if the port closes right after it
			http.Redirect(w, r, s.controlLink(r), http.StatusSeeOther)
		}
		flush(w)
	})
}

func (s *Server) adminScript(_ context.Context, c command) (any, error) {
	answer := struct {
		To       string   `json:"to"`
		Scripted []string `json:"scripted"`
	}{To: c.To}
	var steps []Behaviour
	if !c.Clear {
		b, err := c.scripted()
		if err != nil {
			return nil, err
		}
		steps = append(steps, b)
	}
	err := s.Script(c.To, steps...)
	answer.Scripted = s.rules.scripted()
	return answer, err
}

func (s *Server) adminList(_ context.Context, c command) (any, error) {
	lag, err := duration(c.Lag)
	if err != nil {
		return nil, err
	}
	s.SetListLag(lag)
	s.Hide(c.Hide)
	return struct {
		Lag  string `json:"lag"`
		Hide bool   `json:"hide"`
	}{lag.String(), c.Hide}, nil
}

func (s *Server) adminRelease(_ context.Context, c command) (any, error) {
	return struct {
		Released int `json:"released"`
	}{s.Release(c.To)}, nil
}

func (s *Server) adminReceipt(ctx context.Context, c command) (any, error) {
	if c.ErrorCode == "" && (c.Report == "undelivered" || c.Report == "failed") {
		c.ErrorCode = "30003" // a failure always has a code; this one is an unreachable handset
	}
	code, err := s.SendReceipt(ctx, c.SID, c.Report, ReceiptOptions{ErrorCode: c.ErrorCode, Forgery: c.Forgery})
	if errors.Is(err, ErrInvalid) || errors.Is(err, ErrNoCallback) || errors.Is(err, ErrClosed) {
		return nil, err
	}
	// A receiver that does not answer is a result, not a mistake of whoever asked; the ledger shows it, too.
	return struct {
		HTTP  int    `json:"http_status"`
		Error string `json:"error,omitempty"`
	}{code, errorText(err)}, nil
}

func adminPatterns(w http.ResponseWriter, _ *http.Request) {
	type row struct {
		Suffix string `json:"suffix"`
		Name   string `json:"name"`
		What   string `json:"what"`
	}
	var rows []row
	for _, p := range Patterns() {
		rows = append(rows, row{p.Suffix, p.Name, p.What})
	}
	answerJSON(w, http.StatusOK, encode(rows))
}

// controlLink is the control page's address under the name by which the request came.
func (s *Server) controlLink(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	return "http://" + net.JoinHostPort(host, decimal(s.control.addr.Port)) + "/"
}

// latest are the newest messages to a number, or of all, at most limit.
func (s *Server) latest(to string, limit int) []Message {
	rows := make([]Message, 0, limit)
	s.book.newest(to, func(m *Message) bool {
		if len(rows) == limit {
			return false
		}
		rows = append(rows, m.copy())
		return true
	})
	return slices.Clip(rows)
}
