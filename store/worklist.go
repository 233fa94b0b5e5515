package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"sentonce/dispatch"
)

// WorkTab is one of the lists of doubts.
type WorkTab string

// The lists. All but the last two hold what is in doubt and alive, the least life first; those two hold the newest first.
const (
	WorkMine     WorkTab = "mine"      // claimed by the person
	WorkFree     WorkTab = "unclaimed" // claimed by nobody
	WorkApproval WorkTab = "approval"  // a proposal waits for a second person
	WorkAuto     WorkTab = "auto"      // the provider will be asked again
	WorkAll      WorkTab = "all"
	WorkNever    WorkTab = "expired"  // the life ended, and it is not known yet
	WorkResolved WorkTab = "resolved" // what ended a doubt
)

// WorkTabs lists the lists in their order.
func WorkTabs() []WorkTab {
	return []WorkTab{WorkMine, WorkFree, WorkApproval, WorkAuto, WorkAll, WorkNever, WorkResolved}
}

// BurstWindow is how long a burst of doubts can take: doubts at one provider that began in the same window belong together.
const BurstWindow = 10 * time.Minute

// WorkQuery selects a page of a list.
type WorkQuery struct {
	Tab      WorkTab
	Me       dispatch.StaffID
	Provider string    // "": any
	Window   time.Time // zero: any; else the start of the window in which the doubt began
	After    WorkKey   // the last one of the page before
	Limit    int
}

// WorkKey is a place in a list: its order and the id that breaks ties. The zero value is the beginning.
type WorkKey struct {
	At time.Time
	ID [16]byte
}

// WorkItem is one row of a list: a notification and the attempt that is, or was, in doubt.
type WorkItem struct {
	Key          WorkKey
	ID           dispatch.NotificationID
	State        dispatch.State
	ExpiresAt    time.Time
	WithdrawnAt  time.Time
	Recipient    dispatch.RecipientRef
	Country      string
	Hint         string
	Attempt      int
	Provider     string
	Phase        dispatch.Phase
	Outcome      dispatch.Outcome
	Since        time.Time // the doubt began
	NextLookup   time.Time
	LastLookup   dispatch.LookupResult // "": not asked yet
	Claim        WorkClaim
	ProposalBy   string // who proposed to send it again; "" when nothing waits
	IncidentOpen bool
}

const workColumns = `n.id, n.state, n.expires_at, n.withdrawn_at, n.recipient, n.country, n.hint, a.number, a.provider, a.phase, a.outcome,
	coalesce(a.unknown_since, a.started_at), a.lookup_at,
	(SELECT l.result FROM lookups l WHERE l.notification = a.notification AND l.attempt = a.number ORDER BY l.asked_at DESC, l.id DESC LIMIT 1),
	c.staff, cs.name, c.since, c.until, ps.name,
	EXISTS (SELECT 1 FROM incidents i WHERE i.notification = n.id AND i.closed_at IS NULL)`

const workJoins = ` LEFT JOIN claims c ON c.notification = n.id AND c.until > :now LEFT JOIN staff cs ON cs.id = c.staff
	LEFT JOIN proposals p ON p.notification = n.id AND p.state = 'open' AND p.lapses_at > :now LEFT JOIN staff ps ON ps.id = p.by_staff`

// workFrom gives the body of a tab's query and the columns of its key. The parameters are :now, :me, :at, :id, :provider, :from and :to.
func workFrom(tab WorkTab) (from, order, key string) {
	open := ` FROM notifications n JOIN attempts a ON a.notification = n.id AND a.outcome = 'unknown' AND a.outcome IN ('pending', 'unknown')` +
		workJoins + ` WHERE n.state = 'dispatch_unknown' AND (n.expires_at, n.id) > (:at, :id)`
	switch tab {
	case WorkMine:
		open += ` AND c.staff = :me`
	case WorkFree:
		open += ` AND c.staff IS NULL`
	case WorkApproval:
		open += ` AND p.id IS NOT NULL`
	case WorkAuto:
		open += ` AND a.lookup_at IS NOT NULL`
	case WorkNever:
		return ` FROM notifications n JOIN attempts a ON a.notification = n.id AND a.outcome = 'undetermined'` + workJoins +
				` WHERE n.state = 'expired' AND n.reason = 'outcome_unknown' AND (n.expires_at, n.id) < (:at, :id)`,
			` ORDER BY n.expires_at DESC, n.id DESC`, `n.expires_at, n.id`
	case WorkResolved:
		return ` FROM verdicts v JOIN notifications n ON n.id = v.notification
			JOIN attempts a ON a.notification = v.notification AND a.number = v.attempt AND a.unknown_since IS NOT NULL` + workJoins +
			` WHERE v.grade <> 'wire' AND (v.at, v.id) < (:at, :id)`, ` ORDER BY v.at DESC, v.id DESC`, `v.at, v.id`
	}
	return open, ` ORDER BY n.expires_at, n.id`, `n.expires_at, n.id`
}

// Worklist reads one page of a list.
func (db *DB) Worklist(ctx context.Context, w WorkQuery) (items []WorkItem, err error) {
	from, order, key := workFrom(w.Tab)
	where, args := w.filter(db.cfg.Clock.Now())
	err = db.snapshot(ctx, func(q querier) error {
		return q.rows(`SELECT `+key+`, `+workColumns+from+where+order+` LIMIT :limit`, append(args, named("limit", w.Limit)),
			func(scan func(...any) error) error {
				item, err := scanWork(scan)
				items = append(items, item)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("worklist: %w", err)
	}
	return items, nil
}

func scanWork(scan func(...any) error) (w WorkItem, err error) {
	err = scan(at(&w.Key.At), into(w.Key.ID[:]), into(w.ID[:]), &w.State, at(&w.ExpiresAt), at(&w.WithdrawnAt), into(w.Recipient[:]), &w.Country,
		&w.Hint, &w.Attempt, &w.Provider, opt(&w.Phase), &w.Outcome, at(&w.Since), at(&w.NextLookup), opt(&w.LastLookup),
		into(w.Claim.Staff[:]), opt(&w.Claim.Name), at(&w.Claim.Since), at(&w.Claim.Until), opt(&w.ProposalBy), &w.IncidentOpen)
	return w, err
}

// filter gives the conditions on the attempt, and the values of all parameters.
func (w WorkQuery) filter(now time.Time) (where string, args []any) {
	key := w.After
	if key == (WorkKey{}) && (w.Tab == WorkNever || w.Tab == WorkResolved) {
		key.At = time.UnixMilli(endOfTime)
	}
	at := int64(0)
	if !key.At.IsZero() {
		at = key.At.UnixMilli()
	}
	args = []any{named("now", now.UnixMilli()), named("me", w.Me[:]), named("at", at), named("id", key.ID[:])}
	if w.Provider != "" {
		where += ` AND a.provider = :provider`
		args = append(args, named("provider", w.Provider))
	}
	if !w.Window.IsZero() {
		where += ` AND a.unknown_since >= :from AND a.unknown_since < :to`
		args = append(args, named("from", w.Window.UnixMilli()), named("to", w.Window.Add(BurstWindow).UnixMilli()))
	}
	return where, args
}

// endOfTime is after everything that is stored, in milliseconds.
const endOfTime = 1 << 60

// WorkCountLimit is where the counts of the lists end: "1,000+".
const WorkCountLimit = 1000

// WorkCounts are how many each list holds, at most WorkCountLimit+1; the lists of what is over are not counted. Oldest is how long the oldest
// doubt has been open.
type WorkCounts struct {
	ByTab  map[WorkTab]int
	Oldest time.Duration
}

// WorkCounts counts the lists.
func (db *DB) WorkCounts(ctx context.Context, w WorkQuery) (c WorkCounts, err error) {
	now := db.cfg.Clock.Now()
	c.ByTab = map[WorkTab]int{}
	err = db.snapshot(ctx, func(q querier) error {
		for _, tab := range []WorkTab{WorkMine, WorkFree, WorkApproval, WorkAuto, WorkAll} {
			w.Tab, w.After = tab, WorkKey{}
			from, _, _ := workFrom(tab)
			where, args := w.filter(now)
			var n int
			if err := q.row(`SELECT count(*) FROM (SELECT 1`+from+where+` LIMIT :limit)`, append(args, named("limit", WorkCountLimit+1)), &n); err != nil {
				return err
			}
			c.ByTab[tab] = n
		}
		var since time.Time
		if err := q.row(`SELECT min(unknown_since) FROM attempts WHERE outcome IN ('pending', 'unknown')`, nil, at(&since)); err != nil {
			return err
		}
		if !since.IsZero() {
			c.Oldest = max(0, now.Sub(since))
		}
		return nil
	})
	if err != nil {
		return c, fmt.Errorf("worklist: %w", err)
	}
	return c, nil
}

// Burst is a number of open doubts that began together at one provider.
type Burst struct {
	Provider string
	Window   time.Time // its start; it is BurstWindow long
	First    time.Time
	Last     time.Time
	Count    int
}

// burstSize is how many doubts make a burst.
const burstSize = 3

// Bursts lists the bursts among the open doubts.
func (db *DB) Bursts(ctx context.Context) (all []Burst, err error) {
	width := BurstWindow.Milliseconds()
	err = db.snapshot(ctx, func(q querier) error {
		return q.rows(`SELECT provider, unknown_since / ? * ?, min(unknown_since), max(unknown_since), count(*) FROM attempts
			WHERE outcome IN ('pending', 'unknown') AND outcome = 'unknown' GROUP BY 1, 2 HAVING count(*) >= ? ORDER BY 2, 1`,
			[]any{width, width, burstSize},
			func(scan func(...any) error) error {
				var b Burst
				err := scan(&b.Provider, at(&b.Window), at(&b.First), at(&b.Last), &b.Count)
				all = append(all, b)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("bursts: %w", err)
	}
	return all, nil
}

func named(name string, value any) sql.NamedArg { return sql.Named(name, value) }
