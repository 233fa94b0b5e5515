package dispatch

import "time"

const (
	retryFirst = 500 * time.Millisecond
	retryMost  = 10 * time.Second
)

// RetryDelay is how long to wait after the n-th proven unsent attempt (n from 1): exponential from 0.5 s to at most 10 s with full jitter.
// fraction is a random number in [0,1). A provider's Retry-After acts on the provider, not here.
func RetryDelay(n int, fraction float64) time.Duration {
	ceiling := retryMost
	if shift := max(n, 1) - 1; shift < 10 {
		ceiling = min(retryFirst<<shift, retryMost)
	}
	return time.Duration(fraction * float64(ceiling))
}

// LookupsEnd is how long after the expiry a provider is still asked about an attempt in doubt.
const LookupsEnd = 24 * time.Hour

// NextLookup is when the provider is asked next: the first age of the schedule that is still ahead, else one more last step; zero when the
// schedule is empty or the time for lookups is over. Ages that passed during a stop are not made up one by one: one lookup covers them.
func NextLookup(since, expires time.Time, t Terms) time.Time {
	if len(t.Schedule) == 0 || since.IsZero() {
		return time.Time{}
	}
	next := t.Now.Add(lastStep(t.Schedule))
	for _, age := range t.Schedule {
		if at := since.Add(age); at.After(t.Now) {
			next = at
			break
		}
	}
	if next.After(expires.Add(LookupsEnd)) {
		return time.Time{}
	}
	return next
}

func firstLookup(t Terms) time.Time {
	if len(t.Schedule) == 0 {
		return time.Time{}
	}
	return t.Now.Add(t.Schedule[0])
}

// lastStep is the distance between the schedule's last two ages: the pace at which it goes on.
func lastStep(ages []time.Duration) time.Duration {
	last := ages[len(ages)-1]
	if len(ages) > 1 && last > ages[len(ages)-2] {
		return last - ages[len(ages)-2]
	}
	return max(last, time.Second)
}

// CallDeadline is how long a call may take: the provider's timeout, but never more than half of the remaining life, so that the validity
// told to the provider never ends after the expiry.
func CallDeadline(timeout, life time.Duration) time.Duration { return min(timeout, life/2) }

// Validity is what the provider is told: the life that is left when the call ends at the latest, rounded down to the provider's unit and cut
// to its maximum. ok is false when the provider cannot express so short a life; then it is not used.
func Validity(timeout, life time.Duration, can Capabilities) (v time.Duration, ok bool) {
	v = life - CallDeadline(timeout, life)
	if can.ValidityUnit == 0 {
		return v, v > 0
	}
	if can.ValidityMax > 0 {
		v = min(v, can.ValidityMax)
	}
	v = v.Truncate(can.ValidityUnit)
	return v, v > 0 && v >= can.ValidityMin
}
