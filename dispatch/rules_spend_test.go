package dispatch

import (
	"testing"
	"time"
)

// A permit that is open is not spent once an earlier attempt was sent or may have been (I2, I12), however the record came to be so.
func TestAPermitIsNotSpentAfterAnAttemptThatWasSentOrMayHaveBeen(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for outcome, free := range map[Outcome]bool{OutcomeNotSent: true, OutcomeAccepted: false, OutcomeUnknown: false, OutcomePending: false} {
		r := Record{Notification: Notification{State: StateAccepted, Version: 5, ExpiresAt: now.Add(time.Minute)},
			Permits:  []Permit{{Number: 1, GrantedAt: now, SpentAt: now}, {Number: 2, GrantedAt: now}},
			Attempts: []Attempt{{Number: 1, Outcome: outcome}}}
		if _, err := r.Start(Attempt{Provider: "main"}, Terms{Now: now}); (err == nil) != free {
			t.Errorf("after an attempt that is %s: %v", outcome, err)
		}
	}
}
