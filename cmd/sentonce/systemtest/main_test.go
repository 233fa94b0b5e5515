package systemtest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sentonce/cmd/fakesms/sim"
)

// workVariable names the folder with the built command and the template installation, for the tests of this process.
const workVariable = "SENTONCE_SYSTEMTEST_WORK"

// atOnce is how many tests run at the same time: nearly all of their time is waiting.
const atOnce = "10"

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runAll(m))
}

func runAll(m *testing.M) (code int) {
	if flag.Lookup("test.list").Value.String() != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "sentonce-system-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = errors.Join(os.Setenv(workVariable, dir), flag.Set("test.parallel", atOnce), prepare(dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "systemtest:", err)
		return 1
	}
	return m.Run()
}

// work is a path below the work folder.
func work(name ...string) string {
	return filepath.Join(append([]string{os.Getenv(workVariable)}, name...)...)
}

// prepare builds the command and makes an installation with two clients, which each test copies.
func prepare(dir string) error {
	build := exec.Command("go", append(append([]string{"build", "-o", filepath.Join(dir, "sentonce")}, buildFlags()...), "sentonce/cmd/sentonce")...)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	template := filepath.Join(dir, "template")
	if err := os.Mkdir(template, 0o700); err != nil {
		return err
	}
	if _, err := command("init", "--dir", template); err != nil {
		return err
	}
	config := filepath.Join(template, "sentonce.toml")
	text := layout{listen: "127.0.0.1:1", provider: "http://127.0.0.1:1"}.toml()
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	if _, err := command("migrate", "--config", config); err != nil {
		return err
	}
	for _, name := range clients() {
		if _, err := command("client", "add", "--name", name, "--config", config); err != nil {
			return err
		}
		key, err := command("apikey", "add", "--client", name, "--name", "system", "--config", config)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(template, name+".key"), []byte(strings.TrimSpace(key)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// buildFlags make the command as it is shipped. Under the race detector, which SENTONCE_TEST_RACE=1 puts in, it is ten times as slow; the
// tests of the packages run under it anyway.
func buildFlags() []string {
	if os.Getenv("SENTONCE_TEST_RACE") != "" {
		return []string{"-race"}
	}
	return nil
}

// clients are the storefronts of every installation.
func clients() []string { return []string{"shop", "travel"} }

// command runs the command to its end and returns its stdout.
func command(args ...string) (string, error) {
	cmd := exec.Command(work("sentonce"), args...)
	cmd.Env = append(os.Environ(), "TOKEN="+sim.DefaultAuthToken)
	var out, text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &text
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("sentonce %s: %w: %s", strings.Join(args, " "), err, text.String())
	}
	return out.String(), nil
}
