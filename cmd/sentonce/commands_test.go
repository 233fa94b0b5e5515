package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// nowhere is the address of a provider that no test of this file calls.
const nowhere = "http://127.0.0.1:1"

func TestUsageErrorsExitTwoWithOneLine(t *testing.T) {
	t.Parallel()
	s := newSite(t, nowhere, "")
	s.must(t, "", "migrate")
	for name, args := range map[string][]string{
		"no command":            {},
		"unknown command":       {"explode"},
		"unknown flag":          {"serve", "--colour"},
		"an argument too many":  {"serve", "now"},
		"no name":               {"client", "add"},
		"a blank name":          {"client", "add", "--name", " ", "--config", s.config},
		"an invisible name":     {"client", "add", "--name", "a\u200bb", "--config", s.config},
		"no client":             {"apikey", "add", "--name", "k"},
		"a scope that is none":  {"apikey", "add", "--client", "c", "--name", "k", "--scope", "everything"},
		"an expiry that is bad": {"apikey", "add", "--client", "c", "--name", "k", "--expires", "tomorrow"},
		"an expiry in the past": {"apikey", "add", "--client", "c", "--name", "k", "--expires", "2020-01-01", "--config", s.config},
		"a role that is none":   {"staff", "add", "--email", "a@example.org", "--name", "A", "--role", "boss", "--password-stdin"},
		"a password by flag":    {"staff", "add", "--email", "a@example.org", "--name", "A", "--role", "admin", "--password", "x"},
		"no password":           {"staff", "add", "--email", "a@example.org", "--name", "A", "--role", "admin"},
		"an address that is no": {"staff", "add", "--email", "A <a@example.org>", "--name", "A", "--role", "admin", "--password-stdin", "--config", s.config},
	} {
		code, out, text := s.run(t, "a long enough password\n", args...)
		if code != exitUsage || out != "" || strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "sentonce: ") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", name, code, out, text)
		}
	}
}

func TestHelpAndVersionGoToStdoutAndSucceed(t *testing.T) {
	t.Parallel()
	var s site
	for word, args := range map[string][]string{"doctor": {"--help"}, "--password-stdin": {"staff", "add", "--help"}, runtime.Version(): {"version"}} {
		code, out, text := s.run(t, "", args...)
		if code != exitOK || !strings.Contains(out, word) || text != "" {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", args, code, out, text)
		}
	}
}

func TestInitReplacesNothing(t *testing.T) {
	t.Parallel()
	var s site
	for _, there := range []string{"sentonce.toml", "master.key"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, there), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, text := s.run(t, "", "init", "--dir", dir); code != exitFailure || !strings.Contains(text, there) {
			t.Errorf("with %s: exit code %d, %q", there, code, text)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("with %s: the folder holds %v, %v", there, entries, err)
		}
	}
}

func TestWhatInitWritesWorksAsItIs(t *testing.T) {
	t.Parallel()
	s := site{dir: t.TempDir(), token: "x"}
	s.config = filepath.Join(s.dir, "sentonce.toml")
	if code, _, text := s.run(t, "", "init", "--dir", s.dir); code != 0 {
		t.Fatal(text)
	}
	if info, err := os.Stat(filepath.Join(s.dir, "master.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v, %v", info, err)
	}
	s.must(t, "", "migrate")
	if _, err := os.Stat(filepath.Join(s.dir, "data", "sentonce.db")); err != nil {
		t.Errorf("a relative data_dir starts at the file's folder: %v", err)
	}
	s.client(t, "shop")
}

func TestSecretStandsAloneOnStdout(t *testing.T) {
	t.Parallel()
	s := newSite(t, nowhere, "")
	s.must(t, "", "migrate")
	s.must(t, "", "client", "add", "--name", "shop")
	code, out, text := s.run(t, "", "apikey", "add", "--client", "shop", "--name", "k", "--scope", "read", "--expires", "2999-01-31", "--config", s.config)
	secret, rest, _ := strings.Cut(out, "\n")
	if code != 0 || !strings.HasPrefix(secret, "snt_") || rest != "" || strings.Contains(text, secret) {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out, text)
	}
	for name, args := range map[string][]string{
		"client again":   {"client", "add", "--name", "shop"},
		"key again":      {"apikey", "add", "--client", "shop", "--name", "k"},
		"another client": {"apikey", "add", "--client", "shopp", "--name", "k"},
	} {
		if code, out, text := s.run(t, "", append(args, "--config", s.config)...); code != exitFailure || out != "" || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", name, code, out, text)
		}
	}
}

func TestStaffPasswordIsStoredAsAHashOnly(t *testing.T) {
	t.Parallel()
	const password = "correct horse battery staple 7"
	s := newSite(t, nowhere, "")
	s.must(t, "", "migrate")
	args := []string{"staff", "add", "--email", "ada@example.org", "--name", "Ada", "--role", "auditor", "--password-stdin"}
	for name, stdin := range map[string]string{"empty": "", "too short": "short\n", "two lines": password + "\nagain\n"} {
		if code, _, text := s.run(t, stdin, append(args, "--config", s.config)...); code != exitFailure {
			t.Errorf("%s: exit code %d, %q", name, code, text)
		}
	}
	s.must(t, password+"\r\n", args...)
	if code, _, text := s.run(t, password, append(args, "--config", s.config)...); code != exitFailure || !strings.Contains(text, "exists") {
		t.Errorf("the same address again: exit code %d, %q", code, text)
	}
	for _, file := range []string{"sentonce.db", "sentonce.db-wal"} {
		raw, err := os.ReadFile(filepath.Join(s.dir, "data", file))
		if err == nil && strings.Contains(string(raw), password) {
			t.Errorf("%s holds the password", file)
		}
	}
}

func TestCommandsBesideTheServerSayToMigrateFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t, nowhere, "")
	if code, _, text := s.run(t, "", "client", "add", "--name", "shop", "--config", s.config); code != exitFailure || !strings.Contains(text, "run migrate") {
		t.Errorf("without a database: exit code %d, %q", code, text)
	}
	if err := os.MkdirAll(filepath.Join(s.dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "data", "sentonce.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, text := s.run(t, "", "client", "add", "--name", "shop", "--config", s.config); code != exitFailure || !strings.Contains(text, "run migrate") {
		t.Errorf("without a schema: exit code %d, %q", code, text)
	}
}

func TestDoctorTellsWhatToDo(t *testing.T) {
	t.Parallel()
	change := func(t *testing.T, s site, old, new string) {
		raw, err := os.ReadFile(s.config)
		if err != nil || !strings.Contains(string(raw), old) {
			t.Fatalf("the configuration has no %q: %v", old, err)
		}
		s.write(t, strings.Replace(string(raw), old, new, 1))
	}
	for name, c := range map[string]struct {
		spoil func(*testing.T, *site)
		code  int
		says  string
	}{
		"a good one":           {func(*testing.T, *site) {}, exitOK, "an event could be stored now"},
		"no configuration":     {func(_ *testing.T, s *site) { s.config += ".not" }, exitFailure, "sentonce init"},
		"a slip in it":         {func(t *testing.T, s *site) { change(t, *s, `listen`, `lisen`) }, exitFailure, "line 1: lisen"},
		"no token":             {func(_ *testing.T, s *site) { s.token = "" }, exitFailure, "environment of this shell, a running server has its own: set TOKEN"},
		"an open key file":     {func(t *testing.T, s *site) { chmod(t, s.dir, "master.key", 0o644) }, exitFailure, "→ chmod 600 "},
		"no key file":          {func(t *testing.T, s *site) { remove(t, s.dir, "master.key") }, exitFailure, "→ restore it from your copy; for a new"},
		"another key":          {func(t *testing.T, s *site) { otherKey(t, *s) }, exitFailure, "belongs to this database"},
		"an open data folder":  {func(t *testing.T, s *site) { chmod(t, s.dir, "data", 0o755) }, exitOK, "chmod 700"},
		"no database":          {func(t *testing.T, s *site) { change(t, *s, "[dispatch]", "data_dir = \"d2\"\n[dispatch]") }, exitOK, "sentonce migrate"},
		"an open port":         {func(t *testing.T, s *site) { change(t, *s, `"127.0.0.1:`, `"0.0.0.0:`) }, exitOK, "plain http"},
		"an address for all":   {func(t *testing.T, s *site) { change(t, *s, "http://127.0.0.1:", "http://sms.example.org:") }, exitOK, "is not https"},
		"a newer database":     {func(t *testing.T, s *site) { newer(t, *s) }, exitFailure, "version that made the database"},
		"a clock far behind":   {func(t *testing.T, s *site) { future(t, *s) }, exitFailure, "behind the newest record"},
		"a data folder a file": {func(t *testing.T, s *site) { change(t, *s, "[dispatch]", "data_dir = \"master.key\"\n[dispatch]") }, exitFailure, "master.key is a file, not a folder"},
		"a file above it":      {func(t *testing.T, s *site) { change(t, *s, "[dispatch]", "data_dir = \"master.key/d\"\n[dispatch]") }, exitFailure, "master.key is a file, not a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nowhere, "")
			s.must(t, "", "migrate")
			s.must(t, "", "client", "add", "--name", "shop")
			c.spoil(t, &s)
			code, out, text := s.run(t, "", "doctor", "--config", s.config)
			if code != c.code || !strings.Contains(out, c.says) {
				t.Errorf("exit code %d, want %d and %q in:\n%s%s", code, c.code, c.says, out, text)
			}
			if (code == exitOK) != (text == "") || strings.Contains(out, s.token) && s.token != "" {
				t.Errorf("stderr %q, stdout:\n%s", text, out)
			}
		})
	}
}

func chmod(t *testing.T, dir, name string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// otherKey puts the key of another installation in the place of the site's own.
func otherKey(t *testing.T, s site) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(newSite(t, nowhere, "").dir, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "master.key"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
}
