package sim

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// reservation keeps a port ours while nothing listens on it: a bound socket that never listens. Connections to the port are refused, and
// the kernel gives the port to nobody who asks for any free one; a listener with SO_REUSEADDR, which Go sets, may still take it.
type reservation struct{ fd int }

// reserve binds addr; port 0 picks a free one. It returns the address with the port.
func reserve(addr *net.TCPAddr) (*reservation, *net.TCPAddr, error) {
	family, sockaddr := socketAddress(addr)
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("reserve a port: %w", os.NewSyscallError("socket", err))
	}
	r := &reservation{fd}
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return nil, nil, fmt.Errorf("reserve a port: %w", closing(r, os.NewSyscallError("setsockopt", err)))
	}
	if err := syscall.Bind(fd, sockaddr); err != nil {
		return nil, nil, fmt.Errorf("reserve %s: %w", addr, closing(r, os.NewSyscallError("bind", err)))
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		return nil, nil, fmt.Errorf("reserve a port: %w", closing(r, os.NewSyscallError("getsockname", err)))
	}
	port := addr.Port
	switch a := bound.(type) {
	case *syscall.SockaddrInet4:
		port = a.Port
	case *syscall.SockaddrInet6:
		port = a.Port
	}
	return r, &net.TCPAddr{IP: addr.IP, Port: port, Zone: addr.Zone}, nil
}

// Close gives the port up.
func (r *reservation) Close() error { return os.NewSyscallError("close", syscall.Close(r.fd)) }

func socketAddress(addr *net.TCPAddr) (int, syscall.Sockaddr) {
	if ip4 := addr.IP.To4(); ip4 != nil {
		return syscall.AF_INET, &syscall.SockaddrInet4{Port: addr.Port, Addr: [4]byte(ip4)}
	}
	if len(addr.IP) == 0 {
		return syscall.AF_INET6, &syscall.SockaddrInet6{Port: addr.Port}
	}
	return syscall.AF_INET6, &syscall.SockaddrInet6{Port: addr.Port, Addr: [16]byte(addr.IP.To16())}
}
