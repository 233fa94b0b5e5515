package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"sentonce/cmd/sentonce/config"
	"sentonce/dispatch"
)

// The exit codes of every command.
const (
	exitOK      = 0
	exitFailure = 1 // the command was understood and did not succeed
	exitUsage   = 2 // the command line was not understood
)

// console is the process's surroundings, so that a test can bring its own.
type console struct {
	env      config.Env
	in       io.Reader
	out, err io.Writer
}

// say tells a person something. It goes to stderr: stdout is for what a script takes on.
func (c console) say(format string, args ...any) error {
	_, err := fmt.Fprintf(c.err, format+"\n", args...)
	return err
}

// common is the flags of every command that needs a configuration.
type common struct {
	Config string `default:"sentonce.toml" placeholder:"FILE" help:"Configuration file."`
}

func (c common) load(on console) (config.Config, error) { return config.Load(c.Config, on.env) }

type commands struct {
	Help    helpFlag   `short:"h" help:"Show what a command does and takes."`
	Demo    demoCmd    `cmd:"" help:"Run everything on this machine with a built-in provider, and watch. Needs nothing, keeps nothing."`
	Serve   serveCmd   `cmd:"" help:"Accept events and send them, until SIGTERM or SIGINT."`
	Init    initCmd    `cmd:"" help:"Write sentonce.toml and master.key to begin with."`
	Migrate migrateCmd `cmd:"" help:"Bring the database to this version's schema. serve does it, too."`
	Client  struct {
		Add clientAddCmd `cmd:"" help:"Add a client: a storefront with its own keys and records."`
	} `cmd:"" help:"Clients."`
	APIKey struct {
		Add apikeyAddCmd `cmd:"" help:"Make an API key for a client and print its secret, alone, on stdout. It is shown this once."`
	} `cmd:"" name:"apikey" help:"API keys."`
	Staff struct {
		Add staffAddCmd `cmd:"" help:"Add an account for a member of staff."`
	} `cmd:"" help:"Staff accounts."`
	Doctor  doctorCmd  `cmd:"" help:"Check the configuration, the keys, the database and the machine; exit 1 when something must be mended."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// errHelped ends the parsing after the help was printed.
var errHelped = errors.New("help was asked for")

// helpFlag prints the help and ends the command, without leaving the process as kong's own flag does.
type helpFlag bool

// BeforeReset is called by kong as soon as the flag is seen, so that it works whatever else is missing.
func (helpFlag) BeforeReset(ctx *kong.Context) error {
	if err := ctx.PrintUsage(false); err != nil {
		return err
	}
	return errHelped
}

// usageError is a command line that was parsed and makes no sense all the same.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run parses and runs one command and returns the exit code. What goes wrong is one line on stderr.
func run(ctx context.Context, args []string, on console) int {
	err := parseAndRun(ctx, args, on)
	var wrong usageError
	switch {
	case err == nil, errors.Is(err, errHelped):
		return exitOK
	case errors.As(err, &wrong):
		fmt.Fprintf(on.err, "sentonce: %v (see sentonce --help)\n", err)
		return exitUsage
	}
	fmt.Fprintf(on.err, "sentonce: %s\n", strings.ReplaceAll(err.Error(), "\n", "; ")) // joined errors stand on lines of their own
	return exitFailure
}

func parseAndRun(ctx context.Context, args []string, on console) error {
	var c commands
	parser, err := kong.New(&c, kong.Name("sentonce"), kong.NoDefaultHelp(), kong.Writers(on.out, on.err),
		kong.Description("Password-reset SMS: each event accepted once, never sent again on doubt, and every doubt with an end."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(on))
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		var wrong *kong.ParseError
		if errors.As(err, &wrong) && !errors.Is(err, errHelped) {
			return usageError{err}
		}
		return err
	}
	return parsed.Run()
}

// operator is the person on the command line, as the audit log names them: by the account of the operating system.
func operator() dispatch.Actor {
	id := fmt.Sprintf("uid %d", os.Getuid())
	if u, err := user.Current(); err == nil && u.Username != "" {
		id = u.Username
	}
	return dispatch.Actor{Kind: dispatch.ActorOperator, ID: id}
}

// instant is a point in time on the command line.
type instant struct{ time.Time }

// UnmarshalText reads an RFC 3339 time, or a date, which means its end in UTC.
func (i *instant) UnmarshalText(text []byte) error {
	if at, err := time.Parse(time.RFC3339, string(text)); err == nil {
		i.Time = at.UTC()
		return nil
	}
	day, err := time.Parse(time.DateOnly, string(text))
	if err != nil {
		return fmt.Errorf("%q is neither a date such as 2027-01-31 nor a time such as 2027-01-31T12:00:00Z", text)
	}
	i.Time = day.AddDate(0, 0, 1)
	return nil
}

// ahead is a usage error unless the instant is in the future or was not given.
func (i instant) ahead(flag string, now time.Time) error {
	if !i.IsZero() && !i.After(now) {
		return usage("%s: %s is over", flag, i.Format(time.RFC3339))
	}
	return nil
}
