package web

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sentonce/dispatch"
)

// Figures is what the store knows at the moment of a scrape.
type Figures struct {
	UnknownOpen     int                       // attempts in doubt
	UnknownOldest   time.Duration             // the age of the oldest doubt
	AcceptedWaiting int                       // accepted and not yet dispatched
	OldestDue       time.Duration             // how long the oldest due notification has waited
	WALBytes        int64                     // of the write-ahead log
	IncidentsOpen   int                       //
	Expired         map[dispatch.Reason]int64 // ever, by reason
	Resolved        map[dispatch.Grade]int64  // doubts settled ever, by grade
}

// Metrics counts what the process does, in a registry of its own. All labels have few values: no ids, no numbers, nothing of a request.
// It is safe for concurrent use.
type Metrics struct {
	handler    http.Handler
	requests   *prometheus.CounterVec
	durations  *prometheus.HistogramVec
	admissions *prometheus.CounterVec
	receipts   *prometheus.CounterVec
	attempts   *prometheus.CounterVec
	dispatches *prometheus.HistogramVec
	lookups    *prometheus.CounterVec
	providers  *prometheus.GaugeVec
}

// NewMetrics makes the metrics. figures is asked at each scrape and may be nil.
func NewMetrics(version string, figures func(context.Context) (Figures, error)) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sentonce", Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "sentonce", Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &Metrics{
		requests:   counter("http_requests_total", "HTTP requests answered.", "route", "method", "status"),
		durations:  histogram("http_request_duration_seconds", "Time to answer an HTTP request.", prometheus.DefBuckets, "route"),
		admissions: counter("notifications_admitted_total", "Admissions answered 202; replayed ones created nothing.", "replayed"),
		receipts:   counter("receipts_total", "Delivery reports by what became of them.", "provider", "fate"),
		attempts:   counter("dispatch_attempts_total", "Calls to providers that have ended.", "provider", "outcome", "rule"),
		dispatches: histogram("dispatch_duration_seconds", "Duration of a call to a provider.", []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30}, "provider"),
		lookups:    counter("reconcile_queries_total", "Questions to providers about attempts in doubt.", "provider", "result"),
		providers: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "sentonce", Name: "provider_unavailable",
			Help: "1 while a provider is paused or its breaker is open, so that nothing is sent there."}, []string{"provider"}),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "sentonce", Name: "build_info", Help: "The build; always 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()}})
	info.Set(1)
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.requests, m.durations, m.admissions, m.receipts, m.attempts, m.dispatches, m.lookups, m.providers, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if figures != nil {
		registry.MustRegister(newFigureCollector(figures))
	}
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	return m
}

// AttemptFinished counts a call to a provider that has ended.
func (m *Metrics) AttemptFinished(provider string, outcome dispatch.Outcome, rule dispatch.Rule, seconds float64) {
	m.attempts.WithLabelValues(provider, string(outcome), string(rule)).Inc()
	m.dispatches.WithLabelValues(provider).Observe(seconds)
}

// LookupAnswered counts a question to a provider.
func (m *Metrics) LookupAnswered(provider string, result dispatch.LookupResult) {
	m.lookups.WithLabelValues(provider, string(result)).Inc()
}

// ProviderIs notes whether a provider can take calls.
func (m *Metrics) ProviderIs(provider string, unavailable bool) {
	value := 0.0
	if unavailable {
		value = 1
	}
	m.providers.WithLabelValues(provider).Set(value)
}

func (m *Metrics) served(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.durations.WithLabelValues(route).Observe(took.Seconds())
}

func (m *Metrics) admitted(replayed bool) {
	m.admissions.WithLabelValues(strconv.FormatBool(replayed)).Inc()
}

func (m *Metrics) receipt(provider, fate string) { m.receipts.WithLabelValues(provider, fate).Inc() }

// scrapeTime bounds the question to the store.
const scrapeTime = 2 * time.Second

// figureCollector asks the store at each scrape. When it does not answer, sentonce_store_up is 0 and its figures are left out.
type figureCollector struct {
	ask   func(context.Context) (Figures, error)
	up    *prometheus.Desc
	plain []figure
	sums  []sum
}

type figure struct {
	desc  *prometheus.Desc
	value func(Figures) float64
}

type sum struct {
	desc   *prometheus.Desc
	values func(Figures) map[string]int64
}

func newFigureCollector(ask func(context.Context) (Figures, error)) *figureCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("sentonce_"+name, help, labels, nil)
	}
	return &figureCollector{
		ask: ask,
		up:  desc("store_up", "1 when the store answered this scrape."),
		plain: []figure{
			{desc("unknown_open", "Attempts in doubt."), func(f Figures) float64 { return float64(f.UnknownOpen) }},
			{desc("unknown_oldest_age_seconds", "Age of the oldest doubt."), func(f Figures) float64 { return f.UnknownOldest.Seconds() }},
			{desc("accepted_waiting", "Accepted, not yet dispatched."), func(f Figures) float64 { return float64(f.AcceptedWaiting) }},
			{desc("oldest_due_age_seconds", "How long the oldest due notification has waited."),
				func(f Figures) float64 { return f.OldestDue.Seconds() }},
			{desc("wal_bytes", "Size of the write-ahead log."), func(f Figures) float64 { return float64(f.WALBytes) }},
			{desc("incidents_open", "Incidents that nobody has closed."), func(f Figures) float64 { return float64(f.IncidentsOpen) }},
		},
		sums: []sum{
			{desc("expired_total", "Notifications whose life ended, by reason.", "reason"),
				func(f Figures) map[string]int64 { return words(f.Expired) }},
			{desc("unknown_resolved_total", "Doubts that were settled, by what the verdict rests on.", "grade"),
				func(f Figures) map[string]int64 { return words(f.Resolved) }},
		},
	}
}

func words[K ~string](m map[K]int64) map[string]int64 {
	out := make(map[string]int64, len(m))
	for k, v := range m {
		out[string(k)] = v
	}
	return out
}

// Describe implements prometheus.Collector.
func (f *figureCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- f.up
	for _, p := range f.plain {
		ch <- p.desc
	}
	for _, s := range f.sums {
		ch <- s.desc
	}
}

// Collect implements prometheus.Collector.
func (f *figureCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	now, err := f.ask(ctx)
	if err != nil {
		ch <- prometheus.MustNewConstMetric(f.up, prometheus.GaugeValue, 0)
		return
	}
	ch <- prometheus.MustNewConstMetric(f.up, prometheus.GaugeValue, 1)
	for _, p := range f.plain {
		ch <- prometheus.MustNewConstMetric(p.desc, prometheus.GaugeValue, p.value(now))
	}
	for _, s := range f.sums {
		for label, v := range s.values(now) {
			ch <- prometheus.MustNewConstMetric(s.desc, prometheus.CounterValue, float64(v), label)
		}
	}
}
