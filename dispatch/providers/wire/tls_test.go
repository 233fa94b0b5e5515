package wire_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
	"sentonce/dispatch/providers/wire"
)

// tlsServer is a raw server behind TLS that would rather speak HTTP/2, and the client's configuration that trusts it.
func tlsServer(t *testing.T, script func(*dispatchtest.Peer)) (*dispatchtest.RawServer, *tls.Config) {
	t.Helper()
	donor := httptest.NewTLSServer(nil) // for its certificate
	donor.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(donor.Certificate())
	cfg := &tls.Config{Certificates: donor.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}
	return dispatchtest.ServeRaw(t, tls.NewListener(ln, cfg), script), &tls.Config{RootCAs: roots}
}

func TestOverTLSThePhasesAreOfTheRequestAndNotOfTheHandshake(t *testing.T) {
	t.Parallel()
	notSent := want{dispatch.PhaseConnecting, dispatch.OutcomeNotSent, dispatch.R2, 0}
	stopped := want{dispatch.PhaseConnected, dispatch.OutcomeNotSent, dispatch.R2, 0}
	tests := []struct {
		name   string
		script func(*dispatchtest.Peer)
		trust  bool
		stop   error
		want   want
	}{
		{"taken, in HTTP/1.1", dispatchtest.AnswerAlways(dispatchtest.Answer(201, "{}")), true, nil, taken},
		{"a certificate that we do not trust", dispatchtest.AnswerAlways(dispatchtest.Answer(201, "{}")), false, nil, notSent},
		{"stopped after the handshake", dispatchtest.AnswerAlways(dispatchtest.Answer(201, "{}")), true, dispatch.ErrStopped, stopped},
		{"closed after the request", once(func(*dispatchtest.Peer) {}), true, nil, silence},
		{"cut", say("HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\n{"), true, nil, cut},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, cfg := tlsServer(t, tt.script)
			if !tt.trust {
				cfg = nil
			}
			base := "https://" + s.Addr()
			c := newClient(t, wire.Options{BaseURL: base, TLS: cfg})
			r := c.Exchange(within(t, 5*time.Second), post(t, base), func(context.Context) error { return tt.stop })
			check(t, r, tt.want, len(s.Requests()))
		})
	}
}

// proxy tunnels to wherever it is asked to, if the credentials are right.
func proxy(t *testing.T) *dispatchtest.RawServer {
	t.Helper()
	return dispatchtest.NewRawServer(t, func(p *dispatchtest.Peer) {
		req, err := http.ReadRequest(bufio.NewReader(p))
		if err != nil {
			return
		}
		if req.Method != http.MethodConnect || req.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("us:er")) {
			p.Say(dispatchtest.Answer(407, "echo"))
			return
		}
		to, err := net.Dial("tcp", req.Host)
		if err != nil {
			p.Say(dispatchtest.Answer(502, "echo"))
			return
		}
		defer to.Close()
		p.Say("HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { io.Copy(to, p); to.Close() }()
		io.Copy(p, to)
	})
}

func TestAProxyIsATunnelAndItsRefusalIsNotSent(t *testing.T) {
	t.Parallel()
	s, cfg := tlsServer(t, dispatchtest.AnswerAlways(dispatchtest.Answer(201, "{}")))
	base := "https://" + s.Addr()
	at := proxy(t).Addr()
	for credentials, w := range map[*url.Userinfo]want{
		url.UserPassword("us", "er"):  taken,
		url.UserPassword("no", "one"): {dispatch.PhaseConnecting, dispatch.OutcomeNotSent, dispatch.R2, 1},
	} {
		before := len(s.Requests())
		c := newClient(t, wire.Options{BaseURL: base, TLS: cfg, Proxy: &url.URL{Scheme: "http", Host: at, User: credentials}})
		r := c.Exchange(within(t, 5*time.Second), post(t, base), nil)
		if w.rule == dispatch.R2 {
			w.requests = 0
		}
		check(t, r, w, len(s.Requests())-before)
	}
}

func TestTheEnvironmentsProxyIsNotAsked(t *testing.T) {
	never := dispatchtest.NewRawServer(t, func(*dispatchtest.Peer) {})
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, never.URL())
	}
	base := "http://" + strings.Repeat("x", 70) + ".invalid" // no question for it leaves this machine
	c := newClient(t, wire.Options{BaseURL: base})
	check(t, c.Exchange(within(t, 5*time.Second), post(t, base), nil), want{dispatch.PhaseConnecting, dispatch.OutcomeNotSent, dispatch.R2, 0}, never.Accepted())
}
