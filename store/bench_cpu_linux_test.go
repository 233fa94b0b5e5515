package store_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is the processor time of this process so far: on a machine that others use, too, it moves less than the clock does.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
