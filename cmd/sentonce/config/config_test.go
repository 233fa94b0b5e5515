package config_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sentonce/cmd/sentonce/config"
)

const good = `listen = "127.0.0.1:8080"
public_url = "https://sms.example.org/sms"
data_dir = "data"
key_file = "/etc/sentonce/master.key"
log_level = "debug"
trusted_proxies = ["10.0.0.0/8"]
countries = ["DE", "AT"]

[dispatch]
workers = 7
min_remaining = "1s"

[limits]
key_rate = 10
key_burst = 20

[[provider]]
name = "main"
kind = "twilio"
base_url = "https://api.twilio.com"
account_sid = "AC00000000000000000000000000000001"
auth_token_env = "TOKEN"
from = "+15005550006"
reconcile = ["300ms", "800ms", "1500ms", "3s", "4s", "6s", "8s", "9s", "10s"]

[[provider]]
name = "other"
base_url = "http://127.0.0.1:9099"
account_sid = "AC2"
auth_token_file = "token"
messaging_service_sid = "MG1"
timeout = "3s"
auto_resolve = false
reconcile = ["7s"]
`

func noEnv(string) (string, bool) { return "", false }

func env(pairs map[string]string) config.Env {
	return func(name string) (string, bool) {
		v, ok := pairs[name]
		return v, ok
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sentonce.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadFillsInDefaultsAndTakesRelativePathsFromTheFilesFolder(t *testing.T) {
	t.Parallel()
	path := write(t, good)
	c, err := config.Load(path, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	first, second := c.Providers[0], c.Providers[1]
	for _, check := range []struct {
		what      string
		got, want any
	}{
		{"data_dir", c.DataDir, filepath.Join(filepath.Dir(path), "data")},
		{"key_file", c.KeyFile, "/etc/sentonce/master.key"},
		{"log_level", c.LogLevel, slog.LevelDebug},
		{"workers", c.Dispatch.Workers, 7},
		{"max_attempts", c.Dispatch.MaxAttempts, 3},
		{"min_remaining", c.Dispatch.MinRemaining, time.Second},
		{"max_ttl", c.Dispatch.MaxTTL, 24 * time.Hour},
		{"key_rate", c.Limits.KeyRate, 10.0},
		{"client_rate", c.Limits.ClientRate, 1000.0},
		{"proxy", fmt.Sprint(c.TrustedProxies), "[10.0.0.0/8]"},
		{"countries", fmt.Sprint(c.Countries), "[DE AT]"},
		{"first timeout", first.Timeout, 10 * time.Second},
		{"first ages", len(first.Reconcile), 9},
		{"first resolves", first.AutoResolve, true},
		{"second kind", second.Kind, config.KindTwilio},
		{"second timeout", second.Timeout, 3 * time.Second},
		{"second ages", fmt.Sprint(second.Reconcile), "[7s]"},
		{"second resolves", second.AutoResolve, false},
		{"second token file", second.AuthTokenFile, filepath.Join(filepath.Dir(path), "token")},
		{"receipts", c.ReceiptAddress("main"), "https://sms.example.org/sms/receipts/main"},
	} {
		if check.got != check.want {
			t.Errorf("%s: got %v, want %v", check.what, check.got, check.want)
		}
	}
}

func TestEnvironmentOverridesSingleValues(t *testing.T) {
	t.Parallel()
	c, err := config.Load(write(t, good), env(map[string]string{"SENTONCE_LISTEN": "127.0.0.1:9", "SENTONCE_PUBLIC_URL": "http://localhost:9",
		"SENTONCE_DISPATCH_WORKERS": "3", "SENTONCE_DISPATCH_MAX_TTL": "30m", "SENTONCE_LIMITS_KEY_RATE": "2.5", "SENTONCE_LOG_LEVEL": "warn",
		"SENTONCE_DATA_DIR": "/d", "SENTONCE_COUNTRIES": "FR", "SENTONCE_PORT": "tcp://10.0.0.1:80"}))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(c.Listen, c.PublicURL.Host, c.Dispatch.Workers, c.Dispatch.MaxTTL, c.Limits.KeyRate, c.LogLevel, c.DataDir, c.Countries)
	if want := fmt.Sprint("127.0.0.1:9", "localhost:9", 3, 30*time.Minute, 2.5, slog.LevelWarn, "/d", []string{"DE", "AT"}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAVariableIsBlamedForWhatItSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ value, say string }{
		"SENTONCE_DISPATCH_WORKERS":      {"many", `"many" is not a whole number`},
		"SENTONCE_DISPATCH_MAX_TTL":      {"10", `"10" is not a duration such as "10s"`},
		"SENTONCE_LIMITS_KEY_RATE":       {"fast", `"fast" is not a number`},
		"SENTONCE_LISTEN":                {"nope", `"nope" is not an address with a port`},
		"SENTONCE_DATA_DIR":              {"", "empty"},
		"SENTONCE_LIMITS_KEY_BURST":      {"0", "must be at least 1"},
		"SENTONCE_LOG_LEVEL":             {"loud", "is not debug, info"},
		"SENTONCE_PUBLIC_URL":            {"sms.example.org", "absolute address"},
		"SENTONCE_DISPATCH_MAX_ATTEMPTS": {"99", "not between"},
	} {
		_, err := config.Load(write(t, good), env(map[string]string{name: c.value}))
		if err == nil || !strings.Contains(err.Error(), name+" in the environment: ") || !strings.Contains(err.Error(), c.say) || strings.Contains(err.Error(), "line ") {
			t.Errorf("%s=%s: got %v, want %q of the variable and no line", name, c.value, err, c.say)
		}
	}
}

func TestEveryFaultIsNamedWithItsKeyAndLine(t *testing.T) {
	t.Parallel()
	change := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the good file has no %q", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, c := range map[string]struct{ text, key, say string }{
		"unknown top-level key":      {"colour = 1\n" + good, "line 1: colour", "no such setting"},
		"unknown table":              {good + "[retention]\ndays = 3\n", "line 35: retention", "no such setting"},
		"unknown key of a provider":  {change(`kind = "twilio"`, `knd = "twilio"`), "line 19: provider.knd", "no such setting"},
		"not TOML":                   {change(`listen = `, `listen `), "line 1", "expected"},
		"a key twice":                {"listen = \"127.0.0.1:1\"\n" + good, "listen", "already"},
		"wrong type":                 {change(`workers = 7`, `workers = "7"`), "line 10: dispatch.workers", "needs a whole number, and this is a text"},
		"duration without unit":      {change(`min_remaining = "1s"`, `min_remaining = 5`), "line 11: dispatch.min_remaining", `needs a duration such as "10s"`},
		"no duration":                {change(`min_remaining = "1s"`, `min_remaining = "10"`), "line 11: dispatch.min_remaining", `"10" is not a duration such as "10s"`},
		"no list":                    {change(`["7s"]`, `"7s"`), "line 34: provider.reconcile", "needs a list in brackets, and this is a text"},
		"no duration in a list":      {change(`["7s"]`, `["7"]`), "line 34: provider.reconcile", `"7" is not a duration`},
		"the second provider's age":  {change(`["7s"]`, `["7s", "6s"]`), "line 34: provider.reconcile", "greater than the one before"},
		"no number":                  {change(`key_rate = 10`, `key_rate = "10"`), "line 14: limits.key_rate", "needs a number, and this is a text"},
		"neither true nor false":     {change(`auto_resolve = false`, `auto_resolve = "no"`), "provider.auto_resolve", "needs true or false"},
		"no text":                    {change(`kind = "twilio"`, `kind = 1`), "line 19: provider.kind", "needs a text in quotes, and this is a whole number"},
		"no table":                   {"limits = 3\n" + change("[limits]\nkey_rate = 10\nkey_burst = 20\n", ""), "line 1: limits", "needs a table, [limits]"},
		"a provider that is no list": {strings.Replace(good[:strings.LastIndex(good, "[[provider]]")], "[[provider]]", "[provider]", 1), "line 17: provider", "[[provider]]"},
		"a password, no address":     {change(`https://sms.example.org/sms`, `u:secret-p@sms.example.org`), "public_url", "password"},
		"no port":                    {change(`"127.0.0.1:8080"`, `"127.0.0.1"`), "line 1: listen", "port"},
		"port out of range":          {change(`:8080"`, `:80800"`), "line 1: listen", "65535"},
		"no public address":          {change(`public_url = "https://sms.example.org/sms"`, ``), "public_url", "missing"},
		"relative public address":    {change(`"https://sms.example.org/sms"`, `"sms.example.org"`), "public_url", "absolute"},
		"a password in the address":  {change(`https://sms.`, `https://u:secret-p@sms.`), "public_url", "password"},
		"a query in the address":     {change(`/sms"`, `/sms?a=1"`), "public_url", "query"},
		"no data folder":             {change(`data_dir = "data"`, `data_dir = ""`), "line 3: data_dir", "empty"},
		"a lower-case country":       {change(`"AT"`, `"at"`), "line 7: countries", "capital"},
		"a proxy without bits":       {change(`10.0.0.0/8`, `10.0.0.1`), "line 6: trusted_proxies", `"10.0.0.1" is not a network such as`},
		"a log level":                {change(`"debug"`, `"loud"`), "line 5: log_level", `"loud" is not debug, info, warn or error`},
		"no workers":                 {change(`workers = 7`, `workers = 0`), "line 10: dispatch.workers", "between 1"},
		"lives too short":            {change(`min_remaining = "1s"`, `min_remaining = "25h"`), "dispatch.max_ttl", "not longer than min_remaining"},
		"a rate of nothing":          {change(`key_rate = 10`, `key_rate = 0`), "line 14: limits.key_rate", "above 0"},
		"a rate that is no number":   {change(`key_rate = 10`, `key_rate = nan`), "limits.key_rate", "above 0"},
		"no provider":                {good[:strings.Index(good, "[[provider]]")], "provider", "[[provider]]"},
		"a name twice":               {change(`name = "other"`, `name = "main"`), "provider.name", "twice"},
		"a name unfit for addresses": {change(`name = "main"`, `name = "Main/1"`), "provider.name", "small letters"},
		"another kind":               {change(`kind = "twilio"`, `kind = "carrier-pigeon"`), "line 19: provider.kind", "twilio"},
		"a provider in the clear":    {change(`https://api.twilio.com`, `http://api.twilio.com`), "provider.base_url", "in the clear"},
		"no credential":              {change(`auth_token_env = "TOKEN"`, ``), "provider.auth_token_env", "missing"},
		"two credentials":            {change(`auth_token_env = "TOKEN"`, "auth_token_env = \"T\"\nauth_token_file = \"f\""), "provider.auth_token_file", "keep one"},
		"a literal credential":       {change(`auth_token_env = "TOKEN"`, `auth_token = "hunter2"`), "provider.auth_token", "no such setting"},
		"no sender":                  {change(`from = "+15005550006"`, ``), "provider.from", "missing"},
		"two senders":                {change(`from = "+15005550006"`, "from = \"+1\"\nmessaging_service_sid = \"M\""), "provider.messaging_service_sid", "keep one"},
		"no time at all":             {change(`timeout = "3s"`, `timeout = "0s"`), "provider.timeout", "between"},
		"ages that fall":             {change(`"800ms"`, `"200ms"`), "line 24: provider.reconcile", "greater than the one before"},
		"no ages":                    {change(`["7s"]`, `[]`), "provider.reconcile", "needs 1 to"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(write(t, c.text), noEnv)
			if err == nil {
				t.Fatal("it was taken")
			}
			if text := err.Error(); !strings.Contains(text, c.key) || !strings.Contains(text, c.say) || strings.Contains(text, "\n") {
				t.Errorf("got %q, want one line with %q and %q", text, c.key, c.say)
			}
			if strings.Contains(err.Error(), "secret-p") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the message repeats a secret: %v", err)
			}
		})
	}
}

func TestAllFaultsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	_, err := config.Load(write(t, "colour = 1\nlisten = 1\n"), noEnv)
	if err == nil {
		t.Fatal("it was taken")
	}
	_, err = config.Load(write(t, `listen = "x"`), noEnv)
	var all *config.Error
	if !errors.As(err, &all) || len(all.Problems) != 3 {
		t.Errorf("got %v, want three problems: listen, public_url, provider", err)
	}
	if _, err := config.Load(filepath.Join(t.TempDir(), "none.toml"), noEnv); !errors.Is(err, os.ErrNotExist) || !strings.HasSuffix(err.Error(), "none.toml: make one with `sentonce init`, or name one with --config") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestTokenComesFromTheNamedPlaceOnly(t *testing.T) {
	t.Parallel()
	file := func(text string, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		p    config.Provider
		want string // "" when it is refused
	}{
		"variable":            {config.Provider{AuthTokenEnv: "TOKEN"}, "from-env"},
		"empty variable":      {config.Provider{AuthTokenEnv: "EMPTY"}, ""},
		"missing variable":    {config.Provider{AuthTokenEnv: "NONE"}, ""},
		"file":                {config.Provider{AuthTokenFile: file("from-file\r\n", 0o600)}, "from-file"},
		"file of a group":     {config.Provider{AuthTokenFile: file("from-file", 0o640)}, ""},
		"file for everybody":  {config.Provider{AuthTokenFile: file("from-file", 0o604)}, ""},
		"empty file":          {config.Provider{AuthTokenFile: file("\n", 0o600)}, ""},
		"file that is absent": {config.Provider{AuthTokenFile: filepath.Join(t.TempDir(), "no")}, ""},
	} {
		got, err := c.p.Token(env(map[string]string{"TOKEN": "from-env", "EMPTY": ""}))
		if got.Reveal() != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %q, %v", name, got.Reveal(), err)
		}
		if err != nil && strings.Contains(err.Error(), "from-") {
			t.Errorf("%s: the error holds the secret: %v", name, err)
		}
	}
}

func TestLoopbackIsKnownByAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{"http://127.0.0.1:1": true, "http://localhost": true, "http://[::1]:1": true, "http://127.9.9.9": true,
		"http://10.0.0.1": false, "http://localhost.example.org": false, "https://127.0.0.1.example.org": false} {
		var u config.URL
		if err := u.UnmarshalText([]byte(address)); err != nil {
			t.Fatal(err)
		}
		if u.Loopback() != want {
			t.Errorf("%s: loopback = %v", address, u.Loopback())
		}
	}
}

// TestDocumentationListsEverySetting compares docs/configuration.md with the types: the rows "| `key` | `VARIABLE` | `default` | … |".
func TestDocumentationListsEverySetting(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		if strings.TrimSpace(cells[4]) == "" {
			t.Errorf("no words for %s", cells[1])
		}
		rows = append(rows, strings.Join([]string{cell(cells[1]), cell(cells[2]), cell(cells[3])}, " | "))
	}
	var want []string
	for _, s := range config.Settings() {
		want = append(want, strings.Join([]string{s.Key, s.Env, s.Default}, " | "))
	}
	if got, want := strings.Join(rows, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("the table in docs/configuration.md differs from the settings.\ntable:\n%s\n\nsettings:\n%s", got, want)
	}
}

// cell reads a cell of the table: a code, or a dash for nothing.
func cell(s string) string {
	s = strings.Trim(strings.TrimSpace(s), "`")
	if s == "–" {
		return ""
	}
	return s
}
