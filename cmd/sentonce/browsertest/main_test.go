package browsertest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// tools is the folder that `make browser-deps` fills.
const tools = "../../../.tools/browser"

// patience is how long a page may take, in milliseconds; only a failing run waits that long.
const patience = 60_000

// world is what all tests share: one browser, one server, one simulated provider.
type world struct {
	dir     string // temporary; gone afterwards
	axe     string // the source of the checker of accessibility
	driver  *playwright.Playwright
	browser playwright.Browser
	product *product
}

var shared = sync.OnceValues(prepare)

func TestMain(m *testing.M) {
	w, err := shared()
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, "The browser tests cannot run:", err)
		fmt.Fprintln(os.Stderr, "`make browser-deps` in the top folder brings what they need; as root it installs the browser, too.")
	} else {
		code = m.Run()
	}
	if err := w.close(); err != nil {
		fmt.Fprintln(os.Stderr, "ending:", err)
		code = 1
	}
	os.Exit(code)
}

// prepare builds and starts everything. What it has started when it fails is in the world that it returns.
func prepare() (w *world, err error) {
	w = &world{}
	chromium, err := findChromium()
	if err != nil {
		return w, err
	}
	axe, err := os.ReadFile(filepath.Join(tools, "node_modules/axe-core/axe.min.js"))
	if err != nil {
		return w, fmt.Errorf("the checker of accessibility is missing: %w", err)
	}
	w.axe = string(axe)
	if w.dir, err = os.MkdirTemp("", "browsertest"); err != nil {
		return w, err
	}
	if err := w.launch(chromium); err != nil {
		return w, err
	}
	w.product, err = newProduct(w.dir)
	return w, err
}

func findChromium() (string, error) {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium in PATH, and the variable CHROMIUM names none")
}

// launch starts the browser through a driver that is installed already; nothing is downloaded.
func (w *world) launch(chromium string) error {
	node, err := exec.LookPath(cmp.Or(os.Getenv("PLAYWRIGHT_NODEJS_PATH"), "node"))
	if err != nil {
		return fmt.Errorf("node, which runs the driver of the browser, is missing: %w", err)
	}
	if err := os.Setenv("PLAYWRIGHT_NODEJS_PATH", node); err != nil {
		return err
	}
	folder, err := filepath.Abs(tools)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, "package", "cli.js")); err != nil {
		return fmt.Errorf("the driver of the browser is missing: %w", err)
	}
	w.driver, err = playwright.Run(&playwright.RunOptions{DriverDirectory: folder, SkipInstallBrowsers: true})
	if err != nil {
		return fmt.Errorf("the driver of the browser: %w", err)
	}
	w.browser, err = w.driver.Chromium.Launch(playwright.BrowserTypeLaunchOptions{ExecutablePath: playwright.String(chromium),
		Args: []string{"--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
			"--disable-component-update", "--disable-sync"}})
	if err != nil {
		return fmt.Errorf("the browser %s: %w", chromium, err)
	}
	return nil
}

func (w *world) close() error {
	var all []error
	if w.browser != nil {
		all = append(all, w.browser.Close())
	}
	if w.driver != nil {
		all = append(all, w.driver.Stop())
	}
	if w.product != nil {
		all = append(all, w.product.close())
	}
	if w.dir != "" {
		all = append(all, os.RemoveAll(w.dir))
	}
	return errors.Join(all...)
}

// theWorld is what TestMain has prepared.
func theWorld(t *testing.T) *world {
	t.Helper()
	w, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return w
}
