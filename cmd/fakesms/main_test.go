package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"sentonce/cmd/fakesms/sim"
)

func parse(t *testing.T, args ...string) cli {
	t.Helper()
	var c cli
	p, err := kong.New(&c, kong.Vars{"sid": sim.DefaultAccountSID})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestItServesUntilItIsToldToStop(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, parse(t, "--listen=127.0.0.1:0", "--control=127.0.0.1:0", "--receipts=off", "--list-lag=3s"), write, io.Discard)
		write.CloseWithError(io.EOF)
		done <- err
	}()
	greeting := make([]byte, 1024)
	n, err := read.Read(greeting)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(greeting[:n]))
	if words[len(words)-1] != sim.DefaultAuthToken {
		t.Errorf("the fixed token is not shown: %q", greeting[:n])
	}
	for _, word := range words {
		if !strings.HasPrefix(word, "http://") {
			continue
		}
		res, err := http.Get(word)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d, %v", word, res.StatusCode, err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestATokenOfOnesOwnIsNeverPrinted(t *testing.T) {
	t.Setenv("FAKESMS_TEST_TOKEN", "a-token-of-my-own")
	t.Setenv("FAKESMS_TEST_EMPTY", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, log bytes.Buffer
	if err := run(ctx, parse(t, "--listen=127.0.0.1:0", "--control=127.0.0.1:0", "--auth-token-env=FAKESMS_TEST_TOKEN"), &out, &log); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String()+log.String(), "a-token-of-my-own") || !strings.Contains(out.String(), "$FAKESMS_TEST_TOKEN") {
		t.Errorf("printed %q %q", &out, &log)
	}
	if err := run(ctx, parse(t, "--auth-token-env=FAKESMS_TEST_EMPTY"), &out, &log); err == nil {
		t.Error("an empty token was taken")
	}
}
