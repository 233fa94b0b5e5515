package store_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

// sizes are how many notifications the benchmarks of the pages read among: 10,000, and what SENTONCE_BENCH_ROWS says, e.g. 1000000.
func sizes(b *testing.B) []int {
	all := []int{10_000}
	if n, err := strconv.Atoi(os.Getenv("SENTONCE_BENCH_ROWS")); err == nil {
		all = append(all, n)
	}
	return all
}

// BenchmarkPages reads what a page reads, among few and among many notifications: the times stay of one order.
func BenchmarkPages(b *testing.B) {
	for _, n := range sizes(b) {
		s := storetest.Open(b)
		rare, last := fillStore(b, s, n)
		for name, read := range map[string]func(context.Context) error{
			"list":      listOnce(s, store.Filter{}),
			"state":     listOnce(s, store.Filter{States: []dispatch.State{dispatch.StateCancelled}}),
			"states":    listOnce(s, store.Filter{States: dispatch.States()}),
			"client":    listOnce(s, store.Filter{Client: s.Client}),
			"recipient": listOnce(s, store.Filter{Recipient: rare.Recipient}),
			"count": func(ctx context.Context) error {
				_, err := s.CountList(ctx, store.Filter{}, store.CountedTo)
				return err
			},
			"search": func(ctx context.Context) error {
				_, _, err := s.Search(ctx, rare.EventID)
				return err
			},
			"timeline": func(ctx context.Context) error {
				_, err := s.Story(ctx, last)
				return err
			},
		} {
			b.Run(fmt.Sprintf("%s/rows=%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if err := read(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func listOnce(s *storetest.Store, f store.Filter) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := s.List(ctx, f, store.Cut{Limit: 50})
		return err
	}
}

// fillStore admits n notifications, the first of which is the only one that is withdrawn.
func fillStore(b *testing.B, s *storetest.Store, n int) (rare dispatch.Record, last dispatch.NotificationID) {
	b.Helper()
	rare = s.MustAdmit(b, s.Admission())
	s.MustWithdraw(b, rare.ID)
	var wg sync.WaitGroup
	ids := make([]dispatch.NotificationID, 128)
	for worker := range ids {
		wg.Go(func() {
			for range n / len(ids) {
				r, _, err := s.Admit(b.Context(), s.Admission())
				if err != nil {
					b.Error(err)
					return
				}
				ids[worker] = r.ID
			}
		})
	}
	wg.Wait()
	return rare, ids[0]
}
