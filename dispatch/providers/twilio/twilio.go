// Package twilio speaks Twilio's Programmable Messaging API (2010-04-01): it sends, asks what became of a message, and reads delivery
// reports.
//
// What Twilio can and cannot prove decides the rest of the product. A send is not idempotent and has no field for a reference of ours; a 500
// may have sent (https://www.twilio.com/docs/api/errors/20500), a 429 never has (…/20429). The list of messages lags behind, by reports of
// its users for minutes to hours (https://github.com/twilio/twilio-java/issues/442), so absence is no proof. The address for delivery
// reports comes back signed and is the one thing that can carry our reference.
package twilio

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/providers/wire"
)

// DefaultBaseURL is Twilio's own.
const DefaultBaseURL = "https://api.twilio.com"

// The validity that Twilio takes: whole seconds, https://www.twilio.com/docs/api/errors/21624.
const (
	minValidity = time.Second
	maxValidity = 36000 * time.Second
)

// maxPage bounds one page of the message list.
const maxPage = 1 << 20

// Config says which account sends and how it is reached.
type Config struct {
	Name       string // as in the configuration; for error texts
	BaseURL    string // scheme and host, and a path where a gateway in front needs one; empty: DefaultBaseURL
	AccountSID string // "AC…"
	AuthToken  dispatch.Secret
	// From or MessagingServiceSID, exactly one, names the sender.
	From                string
	MessagingServiceSID string
	Wire                wire.Options     // time-outs, proxy and TLS; its BaseURL is ignored
	Now                 func() time.Time // for a Retry-After that is a date where the answer has none; required
}

// Adapter is one Twilio account as a provider.
type Adapter struct {
	config   Config
	messages *url.URL // …/Accounts/{sid}/Messages
	// Sends and lookups have connections of their own, so that a lookup's long answer or its loss never touches a send.
	sends, lookups *wire.Client
}

var (
	_ dispatch.Provider      = (*Adapter)(nil)
	_ dispatch.Finder        = (*Adapter)(nil)
	_ dispatch.ReceiptReader = (*Adapter)(nil)
)

// New checks the configuration. It opens no connection.
func New(c Config) (*Adapter, error) {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("provider %q: %w", c.Name, err)
	}
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("provider %q: the base URL cannot be read", c.Name)
	}
	a := &Adapter{config: c, messages: base.JoinPath(apiPath(c.AccountSID))}
	o := c.Wire
	o.BaseURL = c.BaseURL
	if a.sends, err = wire.New(o); err != nil {
		return nil, fmt.Errorf("provider %q: %w", c.Name, err)
	}
	o.MaxAnswer = maxPage
	if a.lookups, err = wire.New(o); err != nil {
		return nil, fmt.Errorf("provider %q: %w", c.Name, err)
	}
	return a, nil
}

func (c Config) check() error {
	switch {
	case !strings.HasPrefix(c.AccountSID, "AC") || clean(c.AccountSID, 64) == "":
		return errors.New("account_sid must look like AC0123…")
	case c.AuthToken.IsZero():
		return errors.New("there is no auth_token")
	case (c.From == "") == (c.MessagingServiceSID == ""):
		return errors.New("exactly one of from and messaging_service_sid is needed")
	case c.Now == nil:
		return errors.New("there is no clock")
	}
	return nil
}

func apiPath(account string) string { return "/2010-04-01/Accounts/" + account + "/Messages" }

// Capabilities says what Twilio can do and prove.
func (a *Adapter) Capabilities() dispatch.Capabilities {
	return dispatch.Capabilities{
		Lookup:       dispatch.LookupByRecipient,
		Receipts:     true,
		ReceiptsEcho: true,
		ValidityUnit: time.Second,
		ValidityMin:  minValidity,
		ValidityMax:  maxValidity,
	}
}

// CloseIdle gives up the connections that nothing uses.
func (a *Adapter) CloseIdle() {
	a.sends.CloseIdle()
	a.lookups.CloseIdle()
}

func (a *Adapter) authorise(r *http.Request) {
	r.SetBasicAuth(a.config.AccountSID, a.config.AuthToken.Reveal())
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "sentonce")
}

// clean returns s if it may be kept as an identifier (dispatch.Answer's alphabet), else "": half an identifier would be a false one.
func clean(s string, most int) string {
	if len(s) > most {
		return ""
	}
	for _, r := range s {
		switch {
		case r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
		default:
			return ""
		}
	}
	return s
}

// isSID reports whether s is the id of a message: SM or MM and 32 hexadecimal digits.
func isSID(s string) bool {
	if len(s) != 34 || s[:2] != "SM" && s[:2] != "MM" {
		return false
	}
	return strings.Trim(s[2:], "0123456789abcdefABCDEF") == ""
}
