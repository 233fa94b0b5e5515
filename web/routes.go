package web

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
)

// route is one line of the table: an address, what it takes to be let in, and who answers.
type route struct {
	method, path string
	needs        access
	serve        func(*Server, echo.Context) error
	body         int64         // the largest body, in bytes; 0: none is read
	holds        time.Duration // how much longer than other requests it may take
	ownLimit     bool          // the handler applies the rate limit itself
}

const (
	apiBody     = 16 << 10 // of a command
	receiptBody = 64 << 10 // of a provider's call-back
	formBody    = 64 << 10 // of a form of the staff app
)

// routes is every address of the service: the API's and, where there is a staff app, its pages.
func routes(staff bool) []route {
	all := apiRoutes()
	if staff {
		all = append(all, accountRoutes()...)
		all = append(all, readingRoutes()...)
		all = append(all, decidingRoutes()...)
	}
	return all
}

func apiRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{method: post, path: "/v1/notifications", needs: key(dispatch.ScopeAdmit), serve: (*Server).admit, body: apiBody, ownLimit: true},
		{method: get, path: "/v1/notifications", needs: key(dispatch.ScopeRead), serve: (*Server).find},
		{method: get, path: "/v1/notifications/:id", needs: key(dispatch.ScopeRead), serve: (*Server).status, holds: maxWait},
		{method: post, path: "/v1/notifications/:id/cancel", needs: key(dispatch.ScopeWithdraw), serve: (*Server).cancel, body: apiBody},
		{method: post, path: "/v1/cancellations", needs: key(dispatch.ScopeWithdraw), serve: (*Server).cancelSubject, body: apiBody},

		{method: post, path: "/receipts/:provider", needs: open(), serve: (*Server).receipt, body: receiptBody},
		{method: post, path: "/receipts/:provider/", needs: open(), serve: (*Server).receipt, body: receiptBody},

		{method: get, path: "/livez", needs: open(), serve: (*Server).livez},
		{method: get, path: "/readyz", needs: open(), serve: (*Server).readyz},
		{method: get, path: "/metrics", needs: open(), serve: (*Server).metrics},
		{method: get, path: "/openapi.yaml", needs: open(), serve: (*Server).openAPI},
		{method: get, path: "/problems/:name", needs: open(), serve: (*Server).explain},
	}
}
