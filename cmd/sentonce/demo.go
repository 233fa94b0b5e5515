package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sentonce/cmd/fakesms/sim"
	"sentonce/cmd/sentonce/config"
	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/seal"
	"sentonce/views"
)

type demoCmd struct {
	Listen string `default:"127.0.0.1:0" placeholder:"ADDRESS" help:"Address to serve on; port 0 means a free one."`
}

// demoTokenEnv is the name under which the demo's configuration finds the simulator's token. It is never looked up in the environment.
const demoTokenEnv = "DEMO_TOKEN"

// The demo's provider is asked early, so that every outcome shows within a minute.
const (
	demoTimeout = 2 * time.Second
	demoSender  = "+15005550006"
)

func demoAges() []time.Duration {
	return []time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second}
}

// demo is the service and its provider in one process, on a folder that goes with it.
type demo struct {
	sim    *sim.Server
	server *server
	shop   shop // a storefront
	logins []login
	print  printer
}

// Run shows the service at work until the context ends. It keeps nothing and reaches nothing beyond this machine.
func (c demoCmd) Run(ctx context.Context, on console) (err error) {
	dir, err := os.MkdirTemp("", "sentonce-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := &demo{print: printer{out: on.out, start: time.Now()}}
	if d.sim, err = sim.Start(sim.Options{}); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, d.sim.Close()) }()
	if err := d.start(ctx, c.Listen, dir, on); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var story sync.WaitGroup
	story.Go(func() { d.tell(ctx) })
	err = d.server.run(ctx)
	stop()
	story.Wait()
	if err == nil {
		d.print.farewell()
	}
	return err
}

// start starts the server and gives it two clients, as an operator would.
func (d *demo) start(ctx context.Context, address, dir string, on console) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("demo: listen: %w", err)
	}
	cfg, err := d.config(listener, dir)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	tuneMemory(on.env)
	d.server, err = start(ctx, setup{cfg: cfg, listener: listener, log: newLogger(on.err, cfg.LogLevel),
		environment: views.Environment{Name: "DEMO"},
		env:         func(name string) (string, bool) { return d.sim.AuthToken(), name == demoTokenEnv }})
	if err != nil {
		return err
	}
	d.shop = shop{base: cfg.PublicURL.String()}
	if d.shop.key, err = d.client(ctx, "shop"); err == nil {
		_, err = d.client(ctx, "travel")
	}
	if err == nil {
		d.logins, err = hire(ctx, d.server.db)
	}
	if err != nil {
		return errors.Join(err, d.server.release(ctx))
	}
	return nil
}

// config is a configuration as a person would write it, but for its places.
func (d *demo) config(listener net.Listener, dir string) (cfg config.Config, err error) {
	cfg = config.Config{Path: "the demo", Listen: listener.Addr().String(), LogLevel: slog.LevelError,
		DataDir: filepath.Join(dir, "data"), KeyFile: filepath.Join(dir, "master.key"),
		Dispatch: config.Dispatch{Workers: 16, MaxAttempts: 3, MinRemaining: time.Second, MaxTTL: 24 * time.Hour},
		Providers: []config.Provider{{Name: "simulator", Kind: config.KindTwilio, AccountSID: d.sim.AccountSID(), AuthTokenEnv: demoTokenEnv,
			From: demoSender, Timeout: demoTimeout, Reconcile: demoAges(), AutoResolve: true}}}
	if err := seal.WriteKeyFile(cfg.KeyFile, rand.Reader); err != nil {
		return cfg, err
	}
	if err := cfg.Providers[0].BaseURL.UnmarshalText([]byte(d.sim.BaseURL())); err != nil {
		return cfg, fmt.Errorf("demo: %w", err)
	}
	return cfg, cfg.PublicURL.UnmarshalText([]byte("http://" + reachable(listener.Addr())))
}

// reachable is the address under which a listener is reached from this machine.
func reachable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return a.String()
	}
	return fmt.Sprintf("127.0.0.1:%d", tcp.Port)
}

// client adds a client with one key and returns the key.
func (d *demo) client(ctx context.Context, name string) (dispatch.Secret, error) {
	id, err := d.server.db.AddClient(ctx, name, operator())
	if err != nil {
		return dispatch.Secret{}, err
	}
	return d.server.db.AddAPIKey(ctx, store.NewAPIKey{Client: id, Name: "demo", Scopes: dispatch.Scopes(), By: operator()})
}
