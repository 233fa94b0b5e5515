// Command sentonce accepts events, sends one message for each, and proves what became of it. This package holds the commands and the wiring;
// the rules are in package dispatch.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// The context stays connected to the signals until the end, so that a second signal does not cut short what the first one began: calls
	// in flight are waited for (I10), and how long that takes is bounded.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], console{env: os.LookupEnv, in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}
