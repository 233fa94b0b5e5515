package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"

	"sentonce/cmd/sentonce/config"
)

type doctorCmd struct{ common }

// Run checks what can be checked from outside the server and prints a table. It changes nothing and never prints a secret.
func (c doctorCmd) Run(ctx context.Context, on console) error {
	var found findings
	cfg, err := c.load(on)
	if err != nil {
		found.configuration(err)
	} else {
		found.good("configuration", "%s", c.Config)
		found.addresses(cfg)
		found.providers(cfg, on.env)
		found.machine(cfg)
		found.database(ctx, cfg)
	}
	if err := found.print(on); err != nil {
		return err
	}
	if n := found.count(levelFail); n > 0 {
		return fmt.Errorf("doctor: %d of %d checks failed", n, len(found.all))
	}
	return nil
}

// level is how bad a finding is.
type level string

const (
	levelOK   level = "ok"
	levelWarn level = "warn" // it works, and may not be what is wanted
	levelFail level = "fail" // it does not work, or must not be used like this
)

type finding struct {
	level               level
	check, detail, hint string
}

// findings are what the doctor saw, in the order of the checks.
type findings struct{ all []finding }

func (f *findings) add(l level, check, hint, detail string) {
	f.all = append(f.all, finding{l, check, strings.ReplaceAll(detail, "\n", "; "), hint})
}

func (f *findings) good(check, format string, args ...any) {
	f.add(levelOK, check, "", fmt.Sprintf(format, args...))
}

func (f *findings) warn(check, hint, format string, args ...any) {
	f.add(levelWarn, check, hint, fmt.Sprintf(format, args...))
}

func (f *findings) fail(check, hint, format string, args ...any) {
	f.add(levelFail, check, hint, fmt.Sprintf(format, args...))
}

func (f *findings) count(l level) (n int) {
	for _, one := range f.all {
		if one.level == l {
			n++
		}
	}
	return n
}

// print writes one line per finding, and its hint below it.
func (f *findings) print(on console) error {
	table := tabwriter.NewWriter(on.out, 0, 0, 2, ' ', 0)
	for _, one := range f.all {
		if _, err := fmt.Fprintf(table, "%s\t%s\t%s\n", one.level, one.check, one.detail); err != nil {
			return err
		}
		if one.hint == "" {
			continue
		}
		if _, err := fmt.Fprintf(table, "\t\t→ %s\n", one.hint); err != nil {
			return err
		}
	}
	return table.Flush()
}

// configuration makes a finding of each problem of a file that was not taken.
func (f *findings) configuration(err error) {
	problems, ok := config.Problems(err)
	if !ok {
		hint := "let the user of the server read it"
		if errors.Is(err, fs.ErrNotExist) {
			hint = "" // the message says what to do
		}
		f.fail("configuration", hint, "%v", err)
		return
	}
	for _, p := range problems {
		f.fail("configuration", "docs/configuration.md explains the setting", "%s", p)
	}
}
