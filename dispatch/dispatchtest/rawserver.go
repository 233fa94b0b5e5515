package dispatchtest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

// RawServer is a provider on loopback that does byte for byte what a script says, and remembers every request that it read whole.
type RawServer struct {
	listener net.Listener
	stop     chan struct{}
	running  sync.WaitGroup

	mu          sync.Mutex
	connections map[net.Conn]struct{}
	accepted    int
	requests    []RawRequest
	partial     int
}

// RawRequest is one request as the server read it.
type RawRequest struct {
	Connection int // 1 for the first connection that the server accepted
	Method     string
	Target     string // path and query as received
	Header     http.Header
	Body       string
}

// Peer is one connection to a RawServer.
type Peer struct {
	net.Conn
	Number int // as RawRequest.Connection
	server *RawServer
	reader *bufio.Reader
}

// NewRawServer listens on a free loopback port and runs the script for each connection; the connection is closed when the script returns.
// The server ends with the test.
func NewRawServer(t testing.TB, script func(*Peer)) *RawServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	return ServeRaw(t, ln, script)
}

// ServeRaw is NewRawServer on a listener of the caller's, e.g. one that speaks TLS.
func ServeRaw(t testing.TB, ln net.Listener, script func(*Peer)) *RawServer {
	s := &RawServer{listener: ln, stop: make(chan struct{}), connections: map[net.Conn]struct{}{}}
	s.running.Go(func() { s.accept(script) })
	t.Cleanup(s.close)
	return s
}

// Addr is "127.0.0.1:port".
func (s *RawServer) Addr() string { return s.listener.Addr().String() }

// URL is "http://127.0.0.1:port".
func (s *RawServer) URL() string { return "http://" + s.Addr() }

// Requests are the requests read whole so far.
func (s *RawServer) Requests() []RawRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]RawRequest(nil), s.requests...)
}

// Accepted counts the connections so far.
func (s *RawServer) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Partial counts the requests of which at least a byte came, but not all.
func (s *RawServer) Partial() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.partial
}

// Next reads one request to its end and reports whether there was one.
func (p *Peer) Next() bool {
	if _, err := p.reader.Peek(1); err != nil {
		return false
	}
	req, err := http.ReadRequest(p.reader)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(req.Body)
	}
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	if err != nil {
		p.server.partial++
		return false
	}
	p.server.requests = append(p.server.requests, RawRequest{p.Number, req.Method, req.RequestURI, req.Header, string(body)})
	return true
}

// Say writes bytes as they are. An error means that the client is gone, which the client's side of the test sees.
func (p *Peer) Say(raw string) bool {
	_, err := io.WriteString(p.Conn, raw)
	return err == nil
}

// Reset ends the connection with a TCP reset instead of a close.
func (p *Peer) Reset() {
	if tcp, ok := p.Conn.(*net.TCPConn); ok && tcp.SetLinger(0) == nil {
		tcp.Close()
	}
}

// Hang does nothing until the client closes the connection or the test ends.
func (p *Peer) Hang() {
	_, err := io.Copy(io.Discard, p.reader)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return
	}
}

// Stopped is closed when the test ends.
func (p *Peer) Stopped() <-chan struct{} { return p.server.stop }

// Answer writes one whole HTTP answer with a length and any further header lines ("Name: value").
func Answer(status int, body string, lines ...string) string {
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n")
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n" + body)
	return b.String()
}

// AnswerAlways is a script that gives every request the same raw answer.
func AnswerAlways(raw string) func(*Peer) {
	return func(p *Peer) {
		for p.Next() && p.Say(raw) {
		}
	}
}

// Eventually waits until ok holds, for things that another goroutine does on its own. It fails the test after 5 seconds.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 5 s: %s", what)
		}
		<-tick.C
	}
}

func (s *RawServer) accept(script func(*Peer)) {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		p := s.admit(c)
		if p == nil {
			return
		}
		s.running.Go(func() {
			defer s.forget(c)
			script(p)
		})
	}
}

func (s *RawServer) admit(c net.Conn) *Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stop:
		c.Close()
		return nil
	default:
	}
	s.accepted++
	s.connections[c] = struct{}{}
	return &Peer{Conn: c, Number: s.accepted, server: s, reader: bufio.NewReader(c)}
}

func (s *RawServer) forget(c net.Conn) {
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, c)
}

func (s *RawServer) close() {
	s.mu.Lock()
	close(s.stop)
	for c := range s.connections {
		c.Close()
	}
	s.mu.Unlock()
	s.listener.Close()
	s.running.Wait()
}
