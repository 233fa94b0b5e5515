package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/mail"
	"strings"
	"time"
	"unicode"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/web/auth"
)

// mostInput bounds what is read as a password.
const mostInput = 4 << 10

type staffAddCmd struct {
	common
	Email         string  `required:"" placeholder:"ADDRESS" help:"Address with which the person signs in, unique."`
	Name          name    `required:"" placeholder:"NAME" help:"The person's name, as others see it."`
	Role          string  `required:"" enum:"support,compliance,auditor,admin" help:"support, compliance, auditor or admin."`
	PasswordStdin bool    `required:"" help:"Read the password from stdin. There is no other way: arguments are visible to everybody on the machine."`
	Ends          instant `placeholder:"DATE" help:"The last day of the account (UTC), or the instant at which it ends."`
}

// Run adds an account. The password is hashed here; only the hash reaches the database.
func (c staffAddCmd) Run(ctx context.Context, on console) error {
	if a, err := mail.ParseAddress(c.Email); err != nil || a.Address != c.Email || strings.ContainsFunc(c.Email, unseen) {
		return usage("--email: %q is not a mail address", c.Email)
	}
	if err := c.Ends.ahead("--ends", time.Now()); err != nil {
		return err
	}
	password, err := readPassword(on.in)
	if err != nil {
		return err
	}
	hash, err := auth.HashPassword(password, rand.Reader)
	if err != nil {
		return err
	}
	cfg, err := c.load(on)
	if err != nil {
		return err
	}
	return useStore(ctx, cfg, func(db *store.DB) error {
		_, err := db.AddStaff(ctx, store.NewStaff{Email: c.Email, Name: string(c.Name), Role: store.Role(c.Role), PasswordHash: hash,
			EndsAt: c.Ends.Time, By: operator()})
		if err != nil {
			return err
		}
		return on.say("added %s as %s", c.Email, c.Role)
	})
}

// readPassword reads one line.
func readPassword(in io.Reader) (dispatch.Secret, error) {
	raw, err := io.ReadAll(io.LimitReader(in, mostInput))
	if err != nil {
		return dispatch.Secret{}, fmt.Errorf("password from stdin: %w", err)
	}
	line, rest, _ := strings.Cut(string(raw), "\n")
	line = strings.TrimSuffix(line, "\r")
	switch {
	case line == "":
		return dispatch.Secret{}, fmt.Errorf("there is no password on stdin: pass it in, one line")
	case rest != "":
		return dispatch.Secret{}, fmt.Errorf("there is more than one line on stdin; the password is one line")
	}
	return dispatch.NewSecret(line), nil
}

// unseen reports whether a character cannot be seen, or cannot be told from a space.
func unseen(r rune) bool { return r != ' ' && (!unicode.IsGraphic(r) || unicode.IsSpace(r)) }
