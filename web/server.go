package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
)

// Server answers every HTTP request of the service. It is safe for concurrent use and holds no connection of its own.
type Server struct {
	deps     Deps
	echo     *echo.Echo
	admitter dispatch.Admitter
	others   *limiter        // of everything but admissions
	patterns map[string]bool // the paths of the route table, as they may appear in logs and metrics
	waiting  waitingRoom     // requests that are held by Prefer: wait
	pages    pageTable       // the pages of the staff app; empty without one
	desk     *desk           // what the pages need; nil without a staff app
}

// New builds the server. The error names what is missing.
func New(d Deps) (_ *Server, err error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	s := &Server{deps: d, echo: echo.New(), others: newLimiter(d.LimitsNow), patterns: map[string]bool{},
		pages: pageTable{}}
	gated := gate{Admissions: d.Store, countries: d.Countries, limits: newLimiter(d.LimitsNow), clock: d.Clock}
	s.admitter = dispatch.Admitter{Store: gated, Clock: d.Clock, Policy: d.Policy}
	s.echo.IPExtractor = clientAddress(d.TrustedProxies)
	s.echo.SchemeExtractor = echo.ExtractSchemeDirect()
	s.echo.HTTPErrorHandler = s.answerError
	s.echo.Use(s.outer()...)
	if s.desk, err = newDesk(d); err != nil {
		return nil, err
	}
	if err := s.register(routes(d.Staff != nil)); err != nil {
		return nil, err
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// register puts the table into the router. HEAD is answered wherever GET is.
func (s *Server) register(table []route) error {
	for _, rt := range table {
		if rt.needs.nobody() {
			return fmt.Errorf("web: the route %s %s says nothing of who may use it", rt.method, rt.path)
		}
		handler := func(c echo.Context) error { return rt.serve(s, c) }
		s.patterns[rt.path] = true
		s.pages.add(rt)
		s.echo.Add(rt.method, rt.path, handler, s.inner(rt)...)
		if rt.method == http.MethodGet {
			s.echo.Add(http.MethodHead, rt.path, handler, s.inner(rt)...)
		}
	}
	return nil
}

// clientAddress reads the client's address from the connection, or from X-Forwarded-For where the connection comes from a trusted proxy.
func clientAddress(trusted []netip.Prefix) echo.IPExtractor {
	if len(trusted) == 0 {
		return echo.ExtractIPDirect()
	}
	options := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range trusted {
		p = p.Masked()
		options = append(options, echo.TrustIPRange(&net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}))
	}
	return echo.ExtractIPFromXFFHeader(options...)
}
