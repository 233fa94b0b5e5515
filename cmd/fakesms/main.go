// Command fakesms is a simulator of an SMS provider on loopback, for trying sentonce and for watching it while the provider misbehaves.
// Package sim says what it can do.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"sentonce/cmd/fakesms/sim"
)

type cli struct {
	Listen       string        `default:"127.0.0.1:9099" help:"Address of the provider's API."`
	Control      string        `default:"127.0.0.1:9098" help:"Address of the control page; it stays up while the provider is down."`
	AccountSID   string        `name:"account-sid" default:"${sid}" help:"Account that senders must name."`
	AuthTokenEnv string        `name:"auth-token-env" help:"Environment variable with the account's token; without it a fixed token for local use is printed."`
	ListLag      time.Duration `default:"0s" help:"Age at which a message first shows in lists."`
	Receipts     string        `enum:"auto,off" default:"auto" help:"Send delivery reports for numbers that do not say otherwise: auto or off."`
	NoPatterns   bool          `help:"Give the last digits of a number no meaning."`
	AllowRemote  bool          `help:"Listen on, and send receipts to, addresses beyond this machine. The control page has no password."`
	Seed         uint64        `help:"Seed of the message ids; 0 means another one each time. Not 0 together with a database that outlives the simulator."`
}

func main() {
	var c cli
	kong.Parse(&c, kong.Name("fakesms"), kong.Vars{"sid": sim.DefaultAccountSID},
		kong.Description("A simulator of an SMS provider that fails on demand, also after accepting. It sends nothing to any phone."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, c, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "fakesms:", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, c cli, out, log io.Writer) error {
	opt, err := c.options(log)
	if err != nil {
		return err
	}
	s, err := sim.Start(opt)
	if err != nil {
		return err
	}
	if err := c.greet(out, s); err != nil {
		return errors.Join(err, s.Close())
	}
	<-ctx.Done()
	return s.Close()
}

func (c cli) options(log io.Writer) (sim.Options, error) {
	opt := sim.Options{Listen: c.Listen, Control: c.Control, AccountSID: c.AccountSID, ListLag: c.ListLag, NoPatterns: c.NoPatterns,
		AllowRemote: c.AllowRemote, Seed: c.Seed, Logger: slog.New(slog.NewTextHandler(log, nil))}
	opt.Receipts.Off = c.Receipts == "off"
	if c.AuthTokenEnv != "" {
		if opt.AuthToken = os.Getenv(c.AuthTokenEnv); opt.AuthToken == "" {
			return opt, fmt.Errorf("the environment variable %s is empty", c.AuthTokenEnv)
		}
	}
	return opt, nil
}

// greet prints what a sender is configured with. Of the tokens only the fixed one is shown, which is no secret.
func (c cli) greet(out io.Writer, s *sim.Server) error {
	token := "from $" + c.AuthTokenEnv
	if c.AuthTokenEnv == "" {
		token = s.AuthToken()
	}
	_, err := fmt.Fprintf(out, `provider      %s
control page  %s
account SID   %s
auth token    %s
`, s.BaseURL(), s.ControlURL(), s.AccountSID(), token)
	return err
}
