package main

import (
	"context"
	"runtime/debug"

	"sentonce/cmd/sentonce/config"
)

type serveCmd struct{ common }

// Run serves until the context ends, and then stops in good order.
func (c serveCmd) Run(ctx context.Context, on console) error {
	cfg, err := c.load(on)
	if err != nil {
		return err
	}
	tuneMemory(on.env)
	s, err := start(ctx, setup{cfg: cfg, env: on.env, log: newLogger(on.err, cfg.LogLevel)})
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// The server's memory settings: garbage is collected more rarely than by default, because admissions make much short-lived garbage over a
// small live heap, and the limit keeps that from growing beyond what the service promises to need.
const (
	gcPercent   = 400
	memoryLimit = 256 << 20
)

// tuneMemory applies the settings, except where the operator has set Go's own variables.
func tuneMemory(env config.Env) {
	if _, set := env("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if _, set := env("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(memoryLimit)
	}
}
