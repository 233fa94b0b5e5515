package main

import (
	"fmt"

	"sentonce/cmd/sentonce/config"
	"sentonce/dispatch"
	"sentonce/dispatch/providers/twilio"
)

// newRoutes makes the adapters of a configuration, with their credentials, in the order of preference. It opens no connection.
func newRoutes(cfg config.Config, env config.Env, clock dispatch.Clock) ([]dispatch.Route, error) {
	routes := make([]dispatch.Route, 0, len(cfg.Providers))
	for _, p := range cfg.Providers {
		adapter, err := newProvider(p, env, clock)
		if err != nil {
			return nil, err
		}
		routes = append(routes, dispatch.Route{Name: p.Name, Provider: adapter, Timeout: p.Timeout, Concurrency: p.Concurrency,
			RatePerSecond: p.Rate, Schedule: p.Reconcile, AutoResolve: p.AutoResolve})
	}
	return routes, nil
}

func newProvider(p config.Provider, env config.Env, clock dispatch.Clock) (dispatch.Provider, error) {
	token, err := p.Token(env)
	if err != nil {
		return nil, err
	}
	switch p.Kind {
	case config.KindTwilio:
		return twilio.New(twilio.Config{Name: p.Name, BaseURL: p.BaseURL.String(), AccountSID: p.AccountSID, AuthToken: token, From: p.From,
			MessagingServiceSID: p.MessagingServiceSID, Now: clock.Now})
	}
	return nil, fmt.Errorf("provider %q: kind %q is not known", p.Name, p.Kind)
}

// receiptReaders are the providers that send delivery reports, by name.
func receiptReaders(routes []dispatch.Route) map[string]dispatch.ReceiptReader {
	readers := map[string]dispatch.ReceiptReader{}
	for _, r := range routes {
		if reader, ok := r.Provider.(dispatch.ReceiptReader); ok {
			readers[r.Name] = reader
		}
	}
	return readers
}
