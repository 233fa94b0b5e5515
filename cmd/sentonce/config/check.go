package config

import (
	"fmt"
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// The bounds of settings. They exclude what can only be a slip, such as a number where a duration was meant.
const (
	mostWorkers     = 1024
	mostAttempts    = 10
	shortestLife    = 100 * time.Millisecond
	longestLife     = 7 * 24 * time.Hour
	shortestTimeout = 100 * time.Millisecond
	longestTimeout  = 2 * time.Minute
	mostAges        = 32
)

// checker gathers problems.
type checker struct {
	problems []Problem
	provider int // the table that is looked at, from 1
}

func (c *checker) when(wrong bool, key, say string, args ...any) {
	if wrong {
		c.problems = append(c.problems, Problem{Key: key, provider: c.provider, Say: fmt.Sprintf(say, args...)})
	}
}

// check finds what is missing and what contradicts itself.
func (c *Config) check() []Problem {
	var k checker
	_, port, err := net.SplitHostPort(c.Listen)
	k.when(err != nil, "listen", "%q is not an address with a port, such as 127.0.0.1:8080", c.Listen)
	n, errPort := strconv.Atoi(port)
	k.when(err == nil && (errPort != nil || n < 0 || n > math.MaxUint16), "listen", "%q is not a port from 0 to 65535", port)
	k.when(c.PublicURL.Host == "", "public_url", "missing: set the address at which storefronts and providers reach this service")
	k.when(c.DataDir == "", "data_dir", "empty: name the folder for the database")
	k.when(c.KeyFile == "", "key_file", "empty: name the file that `sentonce init` made")
	for _, country := range c.Countries {
		k.when(!countryCode.MatchString(country), "countries", "%q is not an ISO 3166 code of two capital letters, such as \"DE\"", country)
	}
	c.Dispatch.check(&k)
	c.Limits.check(&k)
	c.checkProviders(&k)
	return k.problems
}

func (d Dispatch) check(k *checker) {
	k.when(d.Workers < 1 || d.Workers > mostWorkers, "dispatch.workers", "%d is not between 1 and %d", d.Workers, mostWorkers)
	k.when(d.MaxAttempts < 1 || d.MaxAttempts > mostAttempts, "dispatch.max_attempts", "%d is not between 1 and %d", d.MaxAttempts, mostAttempts)
	within(k, "dispatch.min_remaining", d.MinRemaining, shortestLife, longestLife)
	within(k, "dispatch.max_ttl", d.MaxTTL, shortestLife, longestLife)
	k.when(d.MaxTTL <= d.MinRemaining, "dispatch.max_ttl", "%s is not longer than min_remaining (%s): no event could be accepted", d.MaxTTL, d.MinRemaining)
}

func within(k *checker, key string, d, least, most time.Duration) {
	k.when(d < least || d > most, key, "%s is not between %s and %s; write durations as text, such as \"10s\"", d, short(least), short(most))
}

func (l Limits) check(k *checker) {
	rate := func(key string, v float64) {
		k.when(!(v > 0) || math.IsInf(v, 0), key, "must be a number above 0: requests per second")
	}
	burst := func(key string, v int) { k.when(v < 1, key, "must be at least 1: requests at once") }
	rate("limits.key_rate", l.KeyRate)
	burst("limits.key_burst", l.KeyBurst)
	rate("limits.client_rate", l.ClientRate)
	burst("limits.client_burst", l.ClientBurst)
}

var (
	countryCode  = regexp.MustCompile(`^[A-Z]{2}$`)
	providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`) // it is a part of the address for receipts
)

func (c *Config) checkProviders(k *checker) {
	k.when(len(c.Providers) == 0, "provider", "none: add at least one [[provider]] table")
	var names []string
	for n, p := range c.Providers {
		k.provider = n + 1
		k.when(slices.Contains(names, p.Name), "provider.name", "%q is used twice: each provider needs a name of its own", p.Name)
		names = append(names, p.Name)
		p.check(&providerChecker{k, p.Name, len(c.Providers) > 1})
	}
}

// providerChecker names the provider in each sentence where there are several.
type providerChecker struct {
	*checker
	name    string
	several bool
}

func (k *providerChecker) when(wrong bool, key, say string, args ...any) {
	if k.several {
		say = fmt.Sprintf("of %q: ", k.name) + say
	}
	k.checker.when(wrong, "provider."+key, say, args...)
}

func (p *Provider) check(k *providerChecker) {
	k.when(!providerName.MatchString(p.Name), "name", "%q is not 1 to 32 small letters, digits, - or _", p.Name)
	k.when(p.Kind != KindTwilio, "kind", "%q is not known; this version speaks %q", p.Kind, KindTwilio)
	k.when(p.BaseURL.Host == "", "base_url", "missing: set the provider's address, such as https://api.twilio.com")
	k.when(p.BaseURL.Host != "" && p.BaseURL.Scheme != "https" && !p.BaseURL.Loopback(), "base_url",
		"%s is not https: the credential and the messages would travel in the clear", p.BaseURL.URL.String())
	k.when(p.AccountSID == "", "account_sid", "missing: set the account's identifier")
	k.when(p.AuthTokenEnv == "" && p.AuthTokenFile == "", "auth_token_env", "missing: name the variable (auth_token_env) or the file (auth_token_file) that holds the token")
	k.when(p.AuthTokenEnv != "" && p.AuthTokenFile != "", "auth_token_file", "given beside auth_token_env: keep one of the two")
	k.when(p.From == "" && p.MessagingServiceSID == "", "from", "missing: set the sender (from) or messaging_service_sid")
	k.when(p.From != "" && p.MessagingServiceSID != "", "messaging_service_sid", "given beside from: keep one of the two")
	k.when(p.Timeout < shortestTimeout || p.Timeout > longestTimeout, "timeout", "%s is not between %s and %s; write durations as text, such as \"10s\"",
		p.Timeout, short(shortestTimeout), short(longestTimeout))
	k.when(p.Concurrency < 0, "concurrency", "%d is below 0; 0 means as many as there are workers", p.Concurrency)
	k.when(!(p.Rate >= 0) || math.IsInf(p.Rate, 0), "rate", "must be 0 (no limit) or a number of calls per second")
	k.when(len(p.Reconcile) == 0 || len(p.Reconcile) > mostAges, "reconcile", "needs 1 to %d ages at which the provider is asked about a doubt", mostAges)
	k.when(!ascending(p.Reconcile), "reconcile", "the ages must be at least 1ms and each greater than the one before")
}

func ascending(ages []time.Duration) bool {
	last := time.Millisecond - 1
	for _, age := range ages {
		if age <= last {
			return false
		}
		last = age
	}
	return true
}

// ReceiptAddress is where a provider sends delivery reports.
func (c *Config) ReceiptAddress(provider string) string {
	return c.PublicURL.JoinPath("receipts", provider).String()
}

// Insecure reports whether an address sends what it carries in the clear over a network.
func (u URL) Insecure() bool { return u.Scheme != "https" && !u.Loopback() }
