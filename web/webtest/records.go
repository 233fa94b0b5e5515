package webtest

import (
	"context"
	"fmt"
	"slices"

	"sentonce/dispatch"
)

// Notification implements web.Records.
func (s *Store) Notification(_ context.Context, client dispatch.ClientID, id dispatch.NotificationID) (dispatch.Record, error) {
	if err := s.failing("Notification"); err != nil {
		return dispatch.Record{}, err
	}
	rec, err := s.first(func(r dispatch.Record) bool { return r.Client == client && r.ID == id })
	s.mu.Lock()
	after := s.afterRead
	s.mu.Unlock()
	if after != nil {
		after()
	}
	return rec, err
}

// NotificationsByEvent implements web.Records.
func (s *Store) NotificationsByEvent(_ context.Context, client dispatch.ClientID, eventID string) ([]dispatch.Record, error) {
	if err := s.failing("NotificationsByEvent"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []dispatch.Record
	for _, it := range s.items {
		if it.rec.Client == client && it.rec.EventID == eventID {
			found = append(found, it.rec)
		}
	}
	return found, nil
}

// NotificationByKey implements web.Records.
func (s *Store) NotificationByKey(_ context.Context, client dispatch.ClientID, key string) (dispatch.Record, error) {
	if err := s.failing("NotificationByKey"); err != nil {
		return dispatch.Record{}, err
	}
	return s.first(func(r dispatch.Record) bool { return r.Client == client && r.IdempotencyKey == key })
}

func (s *Store) first(ok func(dispatch.Record) bool) (dispatch.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range s.items {
		if ok(it.rec) {
			return it.rec, nil
		}
	}
	return dispatch.Record{}, fmt.Errorf("notification: %w", dispatch.ErrNotFound)
}

// Watch implements web.Records.
func (s *Store) Watch(id dispatch.NotificationID) (<-chan struct{}, func()) {
	ch := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches[id] = append(s.watches[id], ch)
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watches[id] = slices.DeleteFunc(s.watches[id], func(c chan struct{}) bool { return c == ch })
	}
}

// Watching is how many watches there are.
func (s *Store) Watching() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, all := range s.watches {
		n += len(all)
	}
	return n
}

// CountReplay implements web.Records.
func (s *Store) CountReplay(id dispatch.NotificationID, _ dispatch.Actor) {
	select {
	case s.replays <- id:
	default:
	}
}

// Withdraw implements web.Withdrawals.
func (s *Store) Withdraw(_ context.Context, w dispatch.Withdrawal) (dispatch.Record, error) {
	if err := s.failing("Withdraw"); err != nil {
		return dispatch.Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range s.items {
		if it.rec.Client == w.Client && it.rec.ID == w.ID {
			s.apply(it, it.rec.Withdraw(dispatch.ReasonWithdrawnByClient, string(w.Cause), w.By, s.clock.Now()))
			return it.rec, nil
		}
	}
	return dispatch.Record{}, fmt.Errorf("withdraw: %w", dispatch.ErrNotFound)
}

// WithdrawSubject implements web.Withdrawals.
func (s *Store) WithdrawSubject(_ context.Context, w dispatch.SubjectWithdrawal) (int, error) {
	if err := s.failing("WithdrawSubject"); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, it := range s.items {
		if it.rec.Client != w.Client || !same(it.content.Subject, w.Subject) {
			continue
		}
		change := it.rec.Withdraw(dispatch.ReasonWithdrawnByClient, string(w.Cause), w.By, s.clock.Now())
		if len(change.Effects) > 0 {
			n++
		}
		s.apply(it, change)
	}
	return n, nil
}

// RecordReceipt implements web.Receipts.
func (s *Store) RecordReceipt(_ context.Context, provider string, rep dispatch.Report, ref *dispatch.Reference) (dispatch.ReceiptFate, error) {
	if err := s.failing("RecordReceipt"); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	it, n := s.reported(provider, rep, ref)
	if it == nil {
		return dispatch.ReceiptUnmatched, nil
	}
	mark := fmt.Sprintf("%s %s %s", provider, rep.MessageID, rep.Status)
	repeat := s.reports[mark]
	s.reports[mark] = true
	change, err := it.rec.RecordReceipt(n, dispatch.Receipt{Provider: provider, Report: rep, Repeat: repeat}, dispatch.Terms{Now: s.clock.Now()})
	if err != nil {
		return "", err
	}
	s.apply(it, change)
	if repeat {
		return dispatch.ReceiptRepeated, nil
	}
	return dispatch.ReceiptMatched, nil
}

// reported finds the attempt that a report is about. The caller holds the lock.
func (s *Store) reported(provider string, rep dispatch.Report, ref *dispatch.Reference) (*item, int) {
	for _, it := range s.items {
		for _, a := range it.rec.Attempts {
			if ref != nil && a.ID == ref.Attempt || ref == nil && a.Provider == provider && a.MessageID == rep.MessageID {
				return it, a.Number
			}
		}
	}
	return nil, 0
}

// Ready implements web.Store.
func (s *Store) Ready(context.Context) error { return s.failing("Ready") }
