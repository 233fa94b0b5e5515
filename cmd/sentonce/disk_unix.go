//go:build linux || darwin

package main

import (
	"fmt"
	"syscall"
)

// diskFree is the room, in bytes, that an unprivileged process has below a folder.
func diskFree(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
