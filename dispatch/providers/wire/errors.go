package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"sentonce/dispatch"
)

var (
	errOtherHost = errors.New("the request is for another host than this provider's")
	errSealed    = errors.New("the exchange has ended")
	errReplay    = errors.New("the request has been written to another connection")
	errSpent     = errors.New("the connection was closed by the provider, or it has sent something unasked")
	errUnasked   = errors.New("an answer came before the request")
	errNotHTTP   = errors.New("the answer is not an HTTP answer to this request")
	errTooLarge  = errors.New("the answer is too large and was cut")
	errBroken    = errors.New("the connection broke, or the answer is not HTTP")
	errProxy     = errors.New("the proxy refuses the connection")
)

// refusal wraps the error of beforeFirstByte, so that explain tells it from the transport's.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// explain makes the error of an exchange that did not end with an answer. Only errors whose text is ours or the system's are kept: the
// transport's own quote URLs, and what the server wrote.
func (ex *exchange) explain(phase dispatch.Phase, err error) error {
	ex.mu.Lock()
	refused := ex.refused
	ex.mu.Unlock()
	var r *refusal
	switch {
	case errors.As(refused, &r):
		return fmt.Errorf("stopped while %s: %w", phase, r.error)
	case ex.ctx.Err() != nil:
		return fmt.Errorf("while %s: %w", phase, ex.ctx.Err())
	case refused != nil:
		return fmt.Errorf("while %s: %w", phase, refused)
	}
	return fmt.Errorf("while %s: %w", phase, printable(err))
}

func printable(err error) error {
	for _, known := range []error{errOtherHost, errUnasked, errNotHTTP, errTooLarge, errProxy, io.ErrUnexpectedEOF, io.EOF,
		context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, known) {
			return known
		}
	}
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		return dns
	case errors.As(err, &certificate):
		return certificate
	case errors.As(err, &record):
		return errors.New("tls: the peer does not speak TLS")
	case errors.As(err, &op):
		return op
	}
	return errBroken
}
