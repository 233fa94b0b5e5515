//go:build !linux

package sim

import (
	"fmt"
	"net"
)

// reservation names a port; on this system nothing keeps it ours while the server is down.
type reservation struct{}

// reserve finds a free port if addr has none. It returns the address with the port.
func reserve(addr *net.TCPAddr) (*reservation, *net.TCPAddr, error) {
	ln, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, nil, fmt.Errorf("reserve %s: %w", addr, err)
	}
	r, found := &reservation{}, ln.Addr().(*net.TCPAddr)
	return r, found, closing(ln, nil)
}

// Close does nothing.
func (*reservation) Close() error { return nil }
