// Command gallery renders every page of the staff web app in every state from made-up data, so that the whole of it can be looked at in
// minutes, without a database. -out writes the pages into a folder; -listen serves them under the content policy of the product.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"sentonce/static"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("gallery", flag.ContinueOnError)
	out := flags.String("out", "", "write the pages into this folder")
	listen := flags.String("listen", "", "serve the pages at this address, e.g. 127.0.0.1:8090")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" && *listen == "" {
		flags.Usage()
		return errors.New("say where to: -out or -listen")
	}
	assets, err := static.New()
	if err != nil {
		return err
	}
	g := gallery{assets}
	if *out != "" {
		if err := g.write(ctx, *out); err != nil {
			return err
		}
	}
	if *listen == "" {
		return nil
	}
	return serve(ctx, *listen, g)
}

func serve(ctx context.Context, address string, g gallery) error {
	server := &http.Server{Addr: address, Handler: g.handler(), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	log.Printf("the gallery is at http://%s/", address)
	select {
	case err := <-ended:
		return fmt.Errorf("serve the gallery: %w", err)
	case <-ctx.Done():
		return server.Close()
	}
}
