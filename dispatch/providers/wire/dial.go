package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// dialer opens connections. The transport lets a dial run on when the exchange that asked for it is given up, and may hand the connection
// to another one; so dials are bounded by their own time-outs and not by an exchange's deadline.
type dialer struct {
	open       func(ctx context.Context, network, addr string) (net.Conn, error)
	tlsTimeout time.Duration
	tls        *tls.Config
	proxy      *url.URL
}

func newDialer(o Options) (*dialer, error) {
	if p := o.Proxy; p != nil && (p.Host == "" || p.Scheme != "http" && p.Scheme != "https") {
		return nil, errors.New("wire: the proxy must be http(s)://host")
	}
	cfg := &tls.Config{}
	if o.TLS != nil {
		cfg = o.TLS.Clone()
	}
	cfg.MinVersion = max(cfg.MinVersion, tls.VersionTLS12)
	if cfg.ClientSessionCache == nil {
		cfg.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	open := (&net.Dialer{Timeout: orDefault(o.DialTimeout, DefaultDialTimeout)}).DialContext
	return &dialer{open: open, tlsTimeout: orDefault(o.TLSTimeout, DefaultTLSTimeout), tls: cfg, proxy: o.Proxy}, nil
}

func (d *dialer) dialPlain(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := d.reach(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return newConn(raw), nil
}

func (d *dialer) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := d.reach(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	secure, err := d.handshake(ctx, raw, addr)
	if err != nil {
		return nil, err
	}
	return newConn(secure), nil
}

// reach opens a connection to addr, through the proxy if there is one.
func (d *dialer) reach(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.proxy == nil {
		return d.open(ctx, network, addr)
	}
	at := d.proxy.Host
	if d.proxy.Port() == "" {
		at = net.JoinHostPort(d.proxy.Hostname(), map[string]string{"http": "80", "https": "443"}[d.proxy.Scheme])
	}
	raw, err := d.open(ctx, network, at)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if d.proxy.Scheme == "https" {
		if raw, err = d.handshake(ctx, raw, at); err != nil {
			return nil, fmt.Errorf("proxy: %w", err)
		}
	}
	if err := d.tunnel(raw, addr); err != nil {
		return nil, errors.Join(fmt.Errorf("proxy: %w", err), ignoreClosed(raw.Close()))
	}
	return raw, nil
}

// handshake speaks TLS on raw, which it closes when that fails.
func (d *dialer) handshake(ctx context.Context, raw net.Conn, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, errors.Join(err, ignoreClosed(raw.Close()))
	}
	cfg := d.tls.Clone()
	cfg.NextProtos = []string{"http/1.1"}
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	ctx, cancel := context.WithTimeout(ctx, d.tlsTimeout)
	defer cancel()
	secure := tls.Client(raw, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, ignoreClosed(raw.Close()))
	}
	return secure, nil
}

// tunnel asks the proxy for a connection to addr. What it writes is for the proxy; no byte of a request is in it.
func (d *dialer) tunnel(raw net.Conn, addr string) error {
	if err := raw.SetDeadline(time.Now().Add(d.tlsTimeout)); err != nil {
		return err
	}
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{}}
	if u := d.proxy.User; u != nil {
		password, _ := u.Password()
		credentials := base64.StdEncoding.EncodeToString([]byte(u.Username() + ":" + password))
		req.Header.Set("Proxy-Authorization", "Basic "+credentials)
	}
	if err := req.Write(raw); err != nil {
		return err
	}
	answer := bufio.NewReader(raw)
	resp, err := http.ReadResponse(answer, req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || answer.Buffered() > 0 {
		return fmt.Errorf("%w: status %d", errProxy, resp.StatusCode)
	}
	return raw.SetDeadline(time.Time{})
}

// ignoreClosed drops the error of closing what is closed already: HandshakeContext closes the connection when its context ends.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
