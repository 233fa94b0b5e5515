package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
)

// name is what a person calls something: 1 to 100 characters that can be seen.
type name string

// UnmarshalText refuses what would look like something else in a list.
func (n *name) UnmarshalText(text []byte) error {
	s := string(text)
	if strings.TrimSpace(s) != s || s == "" || len([]rune(s)) > 100 || strings.ContainsFunc(s, unseen) {
		return fmt.Errorf("%q must have 1 to 100 visible characters and no space around them", s)
	}
	*n = name(s)
	return nil
}

type clientAddCmd struct {
	common
	Name name `required:"" placeholder:"NAME" help:"Name of the client, unique."`
}

// Run adds a client, beside a running server or without one.
func (c clientAddCmd) Run(ctx context.Context, on console) error {
	cfg, err := c.load(on)
	if err != nil {
		return err
	}
	return useStore(ctx, cfg, func(db *store.DB) error {
		id, err := db.AddClient(ctx, string(c.Name), operator())
		if err != nil {
			return err
		}
		return on.say("added the client %q (%s)", c.Name, id)
	})
}

type apikeyAddCmd struct {
	common
	Client  name     `required:"" placeholder:"NAME" help:"Name of the client that the key belongs to."`
	Name    name     `required:"" placeholder:"NAME" help:"Name of the key, unique for its client."`
	Scope   []string `enum:"admit,read,withdraw" default:"admit,read,withdraw" help:"What the key may do: admit, read, withdraw. Without it, all three."`
	Expires instant  `placeholder:"DATE" help:"The last day on which the key is valid (UTC), or the instant at which it ends."`
}

// Run makes a key. Its secret is the only thing on stdout, so that a script can take it on.
func (c apikeyAddCmd) Run(ctx context.Context, on console) error {
	if err := c.Expires.ahead("--expires", time.Now()); err != nil {
		return err
	}
	cfg, err := c.load(on)
	if err != nil {
		return err
	}
	return useStore(ctx, cfg, func(db *store.DB) error {
		client, err := db.ClientByName(ctx, string(c.Client))
		if errors.Is(err, dispatch.ErrNotFound) {
			return fmt.Errorf("there is no client %q; add it with `sentonce client add --name %q`", c.Client, c.Client)
		}
		if err != nil {
			return err
		}
		key := store.NewAPIKey{Client: client, Name: string(c.Name), ExpiresAt: c.Expires.Time, By: operator()}
		for _, s := range c.Scope {
			key.Scopes = append(key.Scopes, dispatch.Scope(s))
		}
		secret, err := db.AddAPIKey(ctx, key)
		if err != nil {
			return err
		}
		if err := on.say("added the API key %q of %q; its secret is on stdout, and nowhere else", c.Name, c.Client); err != nil {
			return err
		}
		_, err = fmt.Fprintln(on.out, secret.Reveal())
		return err
	})
}
