package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

type fixedClock time.Time

func (c fixedClock) Now() time.Time { return time.Time(c) }

// ledger is an Admissions whose answers are given.
type ledger struct {
	replay, admit       Record
	replayErr, admitErr error
	replayed            bool
	asked               []string
}

func (l *ledger) Replay(context.Context, Admission) (Record, error) {
	l.asked = append(l.asked, "replay")
	return l.replay, l.replayErr
}

func (l *ledger) Admit(context.Context, Admission) (Record, bool, error) {
	l.asked = append(l.asked, "admit")
	return l.admit, l.replayed, l.admitErr
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	known, fresh := freshRecord(), freshRecord()
	fresh.ID = NotificationID{9}
	conflict := &ConflictError{Existing: NotificationID{1}, Differs: []string{"message"}}
	expired, alive := storyTime().Add(-time.Hour), storyTime().Add(time.Hour)
	for _, row := range []struct {
		name     string
		store    *ledger
		expires  time.Time
		want     NotificationID
		replayed bool
		err      error
		asked    string
	}{
		{"a new event", &ledger{replayErr: ErrNotFound, admit: fresh}, alive, fresh.ID, false, nil, "replay admit"},
		{"a replay never fails for the expiry", &ledger{replay: known}, expired, known.ID, true, nil, "replay"},
		{"a conflict comes before the expiry, too", &ledger{replayErr: conflict}, expired, NotificationID{}, false, conflict, "replay"},
		{"an expired event is not stored", &ledger{replayErr: ErrNotFound}, expired, NotificationID{}, false, &RefusalError{Rule: RuleExpired}, "replay"},
		{"a twin that was faster", &ledger{replayErr: ErrNotFound, admit: known, replayed: true}, alive, known.ID, true, nil, "replay admit"},
		{"a twin that differs", &ledger{replayErr: ErrNotFound, admitErr: conflict}, alive, NotificationID{}, false, conflict, "replay admit"},
		{"a store that is away when asked", &ledger{replayErr: ErrUnavailable}, alive, NotificationID{}, false, ErrUnavailable, "replay"},
		{"a store that is away when storing", &ledger{replayErr: ErrNotFound, admitErr: ErrUnavailable}, alive, NotificationID{}, false,
			ErrUnavailable, "replay admit"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := Admitter{Store: row.store, Clock: fixedClock(storyTime()), Policy: func() Policy { return Policy{MinRemaining: 5 * time.Second, MaxTTL: 24 * time.Hour} }}
			r, replayed, err := a.Admit(t.Context(), Admission{ExpiresAt: row.expires})
			var refused, wanted *RefusalError
			if errors.As(row.err, &wanted) {
				if !errors.As(err, &refused) || refused.Rule != wanted.Rule || refused.Member != "expires_at" {
					t.Fatalf("error %v", err)
				}
			} else {
				wantErr(t, err, row.err)
			}
			if r.ID != row.want || replayed != row.replayed || strings.Join(row.store.asked, " ") != row.asked {
				t.Errorf("record %v, replayed %t, asked %v", r.ID, replayed, row.store.asked)
			}
		})
	}
}

func TestTheLifeOfAnEventHasLimits(t *testing.T) {
	t.Parallel()
	p := Policy{MinRemaining: 5 * time.Second, MaxTTL: 24 * time.Hour}
	for life, want := range map[time.Duration]RefusalRule{-time.Second: RuleExpired, 0: RuleExpired, 1: RuleLifeTooShort,
		5*time.Second - 1: RuleLifeTooShort, 5 * time.Second: "", 24 * time.Hour: "", 24*time.Hour + 1: RuleLifeTooLong} {
		var refused *RefusalError
		err := p.check(Admission{ExpiresAt: storyTime().Add(life)}, storyTime())
		if errors.As(err, &refused); (refused == nil) != (want == "") || refused != nil && refused.Rule != want {
			t.Errorf("a life of %v: %v, want %q", life, err, want)
		}
	}
}

func TestAConflictSaysWhichKindItIs(t *testing.T) {
	t.Parallel()
	content := &ConflictError{Existing: NotificationID{1}, Differs: []string{"message", "recipient"}}
	key := &ConflictError{Existing: NotificationID{1}}
	if !content.SameKey() || key.SameKey() || !strings.Contains(content.Error(), "message, recipient") || !strings.Contains(key.Error(), "another key") {
		t.Errorf("%v; %v", content, key)
	}
}

func TestWhichEventIsNewer(t *testing.T) {
	t.Parallel()
	early, late := storyTime(), storyTime().Add(time.Second)
	for _, row := range []struct {
		name string
		a, b Order
		want bool
	}{
		{"it happened later", Order{late, early}, Order{early, late}, true},
		{"it happened earlier", Order{early, late}, Order{late, early}, false},
		{"at the same time, expires later", Order{early, late}, Order{early, early}, true},
		{"at the same time, expires earlier", Order{early, early}, Order{early, late}, false},
		{"one does not say, expires later", Order{time.Time{}, late}, Order{late, early}, true},
		{"the other does not say, expires earlier", Order{late, early}, Order{time.Time{}, late}, false},
		{"all the same: by arrival", Order{early, late}, Order{early, late}, true},
		{"nothing said: by arrival", Order{}, Order{}, true},
	} {
		if got := Newer(row.a, row.b); got != row.want {
			t.Errorf("%s: %t", row.name, got)
		}
	}
}

func TestAnAPIKeyIsLimitedInScopeAndTime(t *testing.T) {
	t.Parallel()
	now := storyTime()
	k := APIKey{Scopes: []Scope{ScopeRead, ScopeAdmit}}
	if !k.Allows(ScopeAdmit) || !k.Allows(ScopeRead) || k.Allows(ScopeWithdraw) || (APIKey{}).Allows(ScopeRead) || k.Allows("") {
		t.Error("scopes")
	}
	for _, row := range []struct {
		key  APIKey
		want bool
	}{
		{APIKey{}, true},
		{APIKey{ExpiresAt: now.Add(1)}, true}, {APIKey{ExpiresAt: now}, false}, {APIKey{ExpiresAt: now.Add(-1)}, false},
		{APIKey{RevokedAt: now.Add(1)}, true}, {APIKey{RevokedAt: now}, false}, {APIKey{RevokedAt: now.Add(-1), ExpiresAt: now.Add(1)}, false},
	} {
		if got := row.key.Valid(now); got != row.want {
			t.Errorf("%+v valid: %t", row.key, got)
		}
	}
}
