// Package wire makes one HTTP exchange with a provider and says exactly how far it got. It is the only place where a provider adapter
// touches the network.
//
// net/http alone can send a request twice: Transport replays a request that it takes for idempotent (GET, or a POST with an
// Idempotency-Key header, whose body is absent or can be rewound) when a kept connection dies under it, and Client follows 307 and 308
// with the body. Neither can happen here: bodies cannot be rewound, redirects are not followed, and above all one exchange writes to one
// connection only (see exchange.admit), so that a replay finds its connection shut.
//
// HTTP/1.1 only. In HTTP/2 one connection carries many requests and the transport itself retries refused streams, so that "has a byte of
// this request left?" has no answer at the connection.
//
// Environment proxies are ignored; errors hold no URL, no header and nothing that the server wrote.
package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"sentonce/dispatch"
)

// Defaults of Options.
const (
	DefaultDialTimeout = 5 * time.Second
	DefaultTLSTimeout  = 5 * time.Second
	// DefaultIdleTimeout is below the shortest idle time-out that servers commonly have (5 s), so that a kept connection is given up by us
	// before the server gives it up under a request: that would be a doubt. Under load connections are still reused all the time.
	DefaultIdleTimeout = 4 * time.Second
	DefaultMaxAnswer   = 64 << 10
)

const (
	maxAnswerHeader = 64 << 10
	maxIdle         = 64
	// bufferSize is how much of a request is gathered before the first write. Requests here are smaller, so that one write is the request.
	bufferSize = 64 << 10
)

// Options says how to reach one provider. Zero values mean the defaults.
type Options struct {
	BaseURL     string        // scheme and host of the provider (a path is kept out of this: it is the adapter's); required
	DialTimeout time.Duration // for the name look-up and TCP together
	TLSTimeout  time.Duration // for the TLS handshake, and for a proxy's answer
	IdleTimeout time.Duration // how long an unused connection is kept; negative: every exchange has a connection of its own
	MaxAnswer   int64         // bytes of an answer's body; a longer one counts as cut
	Proxy       *url.URL      // an http or https proxy that tunnels (CONNECT); nil: none. The environment is never asked
	TLS         *tls.Config   // nil: the system's roots. It is cloned; protocol and server name are set here
}

// Client makes exchanges with one provider. It is safe for concurrent use.
type Client struct {
	scheme, host string
	maxAnswer    int64
	transport    *http.Transport
	// fresh is set once the server has dropped a kept connection under a request without a byte of an answer. Each such loss is a doubt
	// that a person may have to settle, so the first one ends the reuse of connections for this provider.
	fresh atomic.Bool
}

// New makes a client. It opens no connection.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.User != nil || (base.Scheme != "https" && base.Scheme != "http") {
		return nil, errors.New("wire: the base URL must be http(s)://host without credentials")
	}
	d, err := newDialer(o)
	if err != nil {
		return nil, err
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &Client{
		scheme:    base.Scheme,
		host:      base.Host,
		maxAnswer: orDefault(o.MaxAnswer, DefaultMaxAnswer),
		transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            d.dialPlain,
			DialTLSContext:         d.dialTLS,
			DisableKeepAlives:      o.IdleTimeout < 0,
			DisableCompression:     true, // the answer's hash is of the bytes as received, and nothing inflates
			MaxIdleConns:           maxIdle,
			MaxIdleConnsPerHost:    maxIdle,
			IdleConnTimeout:        max(orDefault(o.IdleTimeout, DefaultIdleTimeout), 0),
			MaxResponseHeaderBytes: maxAnswerHeader,
			WriteBufferSize:        bufferSize,
			Protocols:              protocols,
		},
	}, nil
}

// CloseIdle gives up the connections that no exchange uses.
func (c *Client) CloseIdle() { c.transport.CloseIdleConnections() }

// Result is what was seen of one exchange. Err is nil exactly when Phase is PhaseAnswered.
type Result struct {
	Phase    dispatch.Phase
	Err      error
	TimedOut bool // the context's deadline, or a time-out of the connection, ended it

	// The answer; zero unless PhaseAnswered.
	Status int
	Header http.Header
	Body   []byte
	// CloseDelimited: nothing but the end of the connection marked the end of the body (HTTP/1.0 style). The reader must judge from the
	// body itself whether it is whole.
	CloseDelimited bool
}

// Exchange sends req once and reads the answer. ctx carries the deadline. beforeFirstByte (nil: no question) is asked once, when the
// connection is there and before the first byte; its error stops the exchange in PhaseConnected and is wrapped by Result.Err. It runs on a
// goroutine of the transport, and Exchange does not return before it does.
func (c *Client) Exchange(ctx context.Context, req *http.Request, beforeFirstByte func(context.Context) error) Result {
	ex := newExchange(ctx, beforeFirstByte)
	var res Result
	var err error
	if req.URL.Scheme != c.scheme || req.URL.Host != c.host {
		err = errOtherHost
	} else {
		res, err = c.roundTrip(ex, req)
	}
	phase := ex.seal()
	if err == nil && phase == dispatch.PhaseAnswered {
		res.Phase = phase
		return res
	}
	if ex.lostReused(err) {
		c.fresh.Store(true)
		c.CloseIdle()
	}
	return Result{Phase: phase, Err: ex.explain(phase, err), TimedOut: timedOut(ctx, err)}
}

func (c *Client) roundTrip(ex *exchange, req *http.Request) (Result, error) {
	r := req.WithContext(httptrace.WithClientTrace(ex.ctx, ex.trace()))
	r.GetBody = nil
	if c.fresh.Load() {
		r.Close = true
		c.CloseIdle() // exchanges that began before the loss may have put theirs back
	}
	resp, err := c.transport.RoundTrip(r)
	if err != nil {
		return Result{}, err
	}
	defer resp.Body.Close()
	if !ex.begun() {
		return Result{}, errUnasked
	}
	if resp.StatusCode < 200 { // 101: the "body" would be the connection itself
		return Result{}, errNotHTTP
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.maxAnswer+1))
	if err != nil {
		return Result{}, err
	}
	if int64(len(body)) > c.maxAnswer {
		return Result{}, errTooLarge
	}
	ex.advance(dispatch.PhaseAnswered)
	return Result{
		Status:         resp.StatusCode,
		Header:         resp.Header,
		Body:           body,
		CloseDelimited: resp.ContentLength < 0 && len(resp.TransferEncoding) == 0,
	}, nil
}

func orDefault[T int64 | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

func timedOut(ctx context.Context, err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// NewRequest makes a request without a context of its own: Exchange brings it. The error holds no URL.
func NewRequest(method, target string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(context.Background(), method, target, body)
	if err != nil {
		return nil, fmt.Errorf("wire: the request's address or method cannot be used: %w", dispatch.ErrUnbuildable)
	}
	req.GetBody = nil
	return req, nil
}
