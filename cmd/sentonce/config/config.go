// Package config reads the configuration file: TOML, with an environment variable for each single value, and secrets only by the name of a
// variable or a file that holds them. docs/configuration.md lists every setting, and a test compares it with the types here.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Config is a checked configuration. Its paths are absolute or relative to the working folder, ready for use.
type Config struct {
	Path string `toml:"-"` // the file that it was read from

	Listen         string         `toml:"listen"`
	PublicURL      URL            `toml:"public_url"`
	DataDir        string         `toml:"data_dir"`
	KeyFile        string         `toml:"key_file"`
	LogLevel       slog.Level     `toml:"log_level"`
	TrustedProxies []netip.Prefix `toml:"trusted_proxies"`
	Countries      []string       `toml:"countries"` // ISO 3166-1 alpha-2; empty: all
	Dispatch       Dispatch       `toml:"dispatch"`
	Limits         Limits         `toml:"limits"`
	Providers      []Provider     `toml:"-"` // in the order of preference
}

// Dispatch bounds the sending.
type Dispatch struct {
	Workers      int           `toml:"workers"`
	MaxAttempts  int           `toml:"max_attempts"`
	MinRemaining time.Duration `toml:"min_remaining"`
	MaxTTL       time.Duration `toml:"max_ttl"`
}

// Limits bounds what storefronts may ask for, as token buckets: so many requests a second, and so many at once after a pause.
type Limits struct {
	KeyRate     float64 `toml:"key_rate"`
	KeyBurst    int     `toml:"key_burst"`
	ClientRate  float64 `toml:"client_rate"`
	ClientBurst int     `toml:"client_burst"`
}

// Provider is one [[provider]] table.
type Provider struct {
	Name                string          `toml:"name"`
	Kind                string          `toml:"kind"`
	BaseURL             URL             `toml:"base_url"`
	AccountSID          string          `toml:"account_sid"`
	AuthTokenEnv        string          `toml:"auth_token_env"`
	AuthTokenFile       string          `toml:"auth_token_file"`
	From                string          `toml:"from"`
	MessagingServiceSID string          `toml:"messaging_service_sid"`
	Timeout             time.Duration   `toml:"timeout"`
	Concurrency         int             `toml:"concurrency"` // 0: as many as there are workers
	Rate                float64         `toml:"rate"`        // calls per second; 0: no limit
	Reconcile           []time.Duration `toml:"reconcile"`   // ages of a doubt at which the provider is asked
	AutoResolve         bool            `toml:"auto_resolve"`
}

// KindTwilio is the kind of Twilio's Programmable Messaging, and of what speaks its API.
const KindTwilio = "twilio"

// URL is an absolute http or https address.
type URL struct{ url.URL }

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *URL) UnmarshalText(text []byte) error {
	parsed, err := url.Parse(string(text))
	switch {
	case err == nil && parsed.User != nil:
		return errors.New("an address must not hold a user or a password")
	case err != nil, parsed.Scheme != "https" && parsed.Scheme != "http", parsed.Hostname() == "":
		if strings.Contains(string(text), "@") { // it may hold a password, and is not repeated
			return errors.New("not an absolute address such as https://sms.example.org; a user or a password must not be in it")
		}
		return fmt.Errorf("%q is not an absolute address such as https://sms.example.org", text)
	case parsed.RawQuery != "" || parsed.Fragment != "":
		return errors.New("an address must not have a query or a fragment")
	}
	u.URL = *parsed
	return nil
}

// Loopback reports whether the address never leaves this machine.
func (u URL) Loopback() bool {
	if u.Hostname() == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback()
}

func defaults() Config {
	return Config{
		Listen:   "127.0.0.1:8080",
		DataDir:  "data",
		KeyFile:  "master.key",
		LogLevel: slog.LevelInfo,
		Dispatch: Dispatch{Workers: 32, MaxAttempts: 3, MinRemaining: 5 * time.Second, MaxTTL: 24 * time.Hour},
		Limits:   Limits{KeyRate: 500, KeyBurst: 1000, ClientRate: 1000, ClientBurst: 2000},
	}
}

func providerDefaults() Provider {
	return Provider{
		Kind:    KindTwilio,
		Timeout: 10 * time.Second,
		Reconcile: []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
			10 * time.Minute},
		AutoResolve: true,
	}
}
