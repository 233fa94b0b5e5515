package main

import (
	"context"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/web"
)

// observer passes what the engine sees on to the metrics and to the providers page.
type observer struct {
	metrics *web.Metrics
	calls   *web.CallWindow
}

// AttemptFinished counts a call.
func (o observer) AttemptFinished(a dispatch.AttemptSeen) {
	o.metrics.AttemptFinished(a.Provider, a.Outcome, a.Rule, a.Took.Seconds())
	o.calls.Add(a.Provider, a.Took)
}

// GateChanged shows whether a provider can take calls.
func (o observer) GateChanged(p dispatch.ProviderStatus) {
	o.metrics.ProviderIs(p.Name, p.Unavailable || p.Held)
}

// figures asks the store for what a scrape shows.
func figures(db *store.DB) func(context.Context) (web.Figures, error) {
	return func(ctx context.Context) (web.Figures, error) {
		g, err := db.Gauges(ctx)
		if err != nil {
			return web.Figures{}, err
		}
		return web.Figures{UnknownOpen: int(g.UnknownOpen), UnknownOldest: g.UnknownOldestAge, AcceptedWaiting: int(g.Waiting),
			OldestDue: g.OldestDue, WALBytes: g.WALBytes, IncidentsOpen: int(g.IncidentsOpen), Expired: g.Expired,
			Resolved: g.Resolved}, nil
	}
}
