package views

import "time"

// Clients is the list of storefronts: /clients.
type Clients struct {
	Rows    []ClientRow
	MayEdit bool
	Empty   *Empty
}

// ClientRow is one storefront.
type ClientRow struct {
	ID, Name  string
	Keys      int
	KeysNote  string // "one expires in 6 days"
	CreatedAt time.Time
	LastUsed  time.Time
	Accepted  int // in the last 24 hours
	Unknown   int // open now
}

// NewClient is the form: /clients/new.
type NewClient struct {
	Name   string
	Errors FieldErrors
}

// Client is one storefront with its keys: /clients/{id}.
type Client struct {
	ID, Name  string
	CreatedAt time.Time
	Facts     []Fact
	Keys      []APIKey
	MayEdit   bool
	Form      KeyForm
}

// APIKey is a key as it may be shown: never its secret.
type APIKey struct {
	ID, Name  string
	Hint      string // how the secret begins and ends
	Scopes    string // in words
	State     string // "In use", "Expires soon", "Replaced", "Revoked", "Expired"
	Tone      Tone
	CreatedAt time.Time
	CreatedBy string
	LastUsed  time.Time
	ExpiresAt time.Time
	Live      bool // it can be rotated and revoked
}

// KeyForm makes a key: name, scopes, expires_on.
type KeyForm struct {
	Name, ExpiresOn string
	Scopes          []Choice
	Errors          FieldErrors
}

// Scopes are what a key may be allowed to do.
func Scopes() []Choice {
	return []Choice{{Value: "admit", Label: "Hand over events"}, {Value: "read", Label: "Read the status"}, {Value: "withdraw", Label: "Withdraw"}}
}

// Secret is the page that shows a secret, once: a new key, or an invitation's link.
type Secret struct {
	Title   string
	What    string // "API key", "Invitation link"
	Value   string
	Told    string // what to do with it
	Facts   []Fact
	Back    string
	Example string // a command to paste; "" for none
}
