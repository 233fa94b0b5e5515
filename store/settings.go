package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"sentonce/dispatch"
)

// Policy is every policy value of the moment. The configuration file seeds it once; afterwards the settings page changes it.
type Policy struct {
	MinRemaining time.Duration // less life than this is too little for a call
	MaxTTL       time.Duration // the longest life that is accepted
	MaxAttempts  int           // permits granted after a doubt, the first included
	MaxSegments  int           // the most messages that one text may take; 0: no limit
	FourEyes     bool          // sending again needs a second person
	// SupportApproves: support may be that second person, not compliance alone.
	SupportApproves bool
	Countries       []string // ISO 3166-1 alpha-2; empty: all
	KeyRate         int      // requests a second of one API key
	KeyBurst        int
	ClientRate      int // of one client
	ClientBurst     int
}

// DefaultPolicy is what an installation has that says nothing.
func DefaultPolicy() Policy {
	return Policy{MinRemaining: 5 * time.Second, MaxTTL: 24 * time.Hour, MaxAttempts: 3, MaxSegments: 10, FourEyes: true, KeyRate: 500,
		KeyBurst: 1000, ClientRate: 1000, ClientBurst: 2000}
}

// PolicyCell is where the policy of the moment is read. The store keeps it up to date; its zero value holds the defaults.
type PolicyCell struct{ now atomic.Pointer[Policy] }

// Get is the policy of the moment. Its list of countries must not be changed.
func (c *PolicyCell) Get() Policy {
	if p := c.now.Load(); p != nil {
		return *p
	}
	return DefaultPolicy()
}

// Set replaces the policy.
func (c *PolicyCell) Set(p Policy) { c.now.Store(&p) }

// SettingSpec is one policy value: how it is named, read and written, and what it may be.
type SettingSpec struct {
	Name    string // in addresses and in the log
	Range   string // in words
	Default string // as stored
	// Parse reads a stored or typed value into a policy. The error says in words what is wrong with its form.
	Parse func(text string, p *Policy) error
	// Check says in words why a value is out of the range that the page allows; nil: it is in it. What the configuration file says may be.
	Check func(p Policy) error
	// Show writes the policy's value as it is stored.
	Show func(p Policy) string
}

// SettingSpecs lists the policy values in the order of the page.
func SettingSpecs() []SettingSpec {
	d := DefaultPolicy()
	specs := []SettingSpec{
		durationSetting("min_remaining", time.Second, 5*time.Minute, func(p *Policy) *time.Duration { return &p.MinRemaining }),
		durationSetting("max_ttl", time.Minute, 7*24*time.Hour, func(p *Policy) *time.Duration { return &p.MaxTTL }),
		numberSetting("max_attempts", 1, 10, func(p *Policy) *int { return &p.MaxAttempts }),
		numberSetting("max_segments", 0, 50, func(p *Policy) *int { return &p.MaxSegments }),
		switchSetting(SettingFourEyes, func(p *Policy) *bool { return &p.FourEyes }),
		switchSetting(SettingSupportApproves, func(p *Policy) *bool { return &p.SupportApproves }),
		countriesSetting(),
		numberSetting("key_rate", 1, 100_000, func(p *Policy) *int { return &p.KeyRate }),
		numberSetting("key_burst", 1, 1_000_000, func(p *Policy) *int { return &p.KeyBurst }),
		numberSetting("client_rate", 1, 100_000, func(p *Policy) *int { return &p.ClientRate }),
		numberSetting("client_burst", 1, 1_000_000, func(p *Policy) *int { return &p.ClientBurst }),
	}
	for i := range specs {
		specs[i].Default = specs[i].Show(d)
	}
	return specs
}

func durationSetting(name string, low, high time.Duration, of func(*Policy) *time.Duration) SettingSpec {
	return SettingSpec{Name: name, Range: Short(low) + " to " + Short(high),
		Parse: func(text string, p *Policy) error {
			d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
			if err != nil {
				return errors.New("write a duration such as 10s, 5m or 24h")
			}
			*of(p) = d
			return nil
		},
		Check: func(p Policy) error {
			if d := *of(&p); d < low || d > high {
				return fmt.Errorf("it must be from %s to %s", Short(low), Short(high))
			}
			return nil
		},
		Show: func(p Policy) string { return Short(*of(&p)) }}
}

// Short writes a duration without the zero parts: 24h0m0s is 24h.
func Short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func numberSetting(name string, low, high int, of func(*Policy) *int) SettingSpec {
	return SettingSpec{Name: name, Range: fmt.Sprintf("%d to %d", low, high),
		Parse: func(text string, p *Policy) error {
			n, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				return fmt.Errorf("write a whole number from %d to %d", low, high)
			}
			*of(p) = n
			return nil
		},
		Check: func(p Policy) error {
			if n := *of(&p); n < low || n > high {
				return fmt.Errorf("write a whole number from %d to %d", low, high)
			}
			return nil
		},
		Show: func(p Policy) string { return strconv.Itoa(*of(&p)) }}
}

func switchSetting(name string, of func(*Policy) *bool) SettingSpec {
	return SettingSpec{Name: name, Range: "on or off", Check: anything,
		Parse: func(text string, p *Policy) error {
			if text != "on" && text != "off" {
				return errors.New("choose on or off")
			}
			*of(p) = text == "on"
			return nil
		},
		Show: func(p Policy) string {
			if *of(&p) {
				return "on"
			}
			return "off"
		}}
}

func anything(Policy) error { return nil }

func countriesSetting() SettingSpec {
	return SettingSpec{Name: "countries", Range: "two-letter codes, or all", Check: anything,
		Parse: func(text string, p *Policy) error {
			p.Countries = nil
			if strings.EqualFold(strings.TrimSpace(text), "all") {
				return nil
			}
			codes := strings.FieldsFunc(strings.ToUpper(text), func(r rune) bool { return r == ',' || r == ' ' })
			for _, c := range codes {
				if len(c) != 2 || strings.ContainsFunc(c, func(r rune) bool { return r < 'A' || r > 'Z' }) {
					return errors.New("write two-letter country codes such as DE AT CH, or all")
				}
			}
			if len(codes) == 0 {
				return errors.New("write two-letter country codes such as DE AT CH, or all")
			}
			slices.Sort(codes)
			p.Countries = slices.Compact(codes)
			return nil
		},
		Show: func(p Policy) string {
			if len(p.Countries) == 0 {
				return "all"
			}
			return strings.Join(p.Countries, " ")
		}}
}

// SettingVersion is one stored value.
type SettingVersion struct {
	Name    string
	Version int
	Value   string
	At      time.Time
	By      dispatch.Actor
	ByName  string // of the person, when it is one
	Note    string
}

// SeedSettings stores the first version of every setting that has none, from the policy that the configuration file says, and reads the policy
// of the moment into the cell.
func (db *DB) SeedSettings(ctx context.Context, seed Policy, cell *PolicyCell) error {
	by := dispatch.Actor{Kind: dispatch.ActorOperator}
	for _, s := range SettingSpecs() {
		err := db.write(ctx, "seed a setting", func(tx *Tx) error {
			have, err := tx.settingVersion(s.Name)
			if err != nil || have > 0 {
				return err
			}
			return tx.putSetting(SettingVersion{Name: s.Name, Version: 1, Value: s.Show(seed), By: by, Note: "from the configuration file"})
		})
		if err != nil {
			return fmt.Errorf("setting %s: %w", s.Name, err)
		}
	}
	return db.LoadPolicy(ctx, cell)
}

// LoadPolicy reads the policy of the moment into a cell.
func (db *DB) LoadPolicy(ctx context.Context, cell *PolicyCell) error {
	p := DefaultPolicy()
	values, err := db.Settings(ctx)
	if err != nil {
		return err
	}
	for _, s := range SettingSpecs() {
		if v, ok := values[s.Name]; ok {
			if err := s.Parse(v.Value, &p); err != nil {
				return fmt.Errorf("stored setting %s: %w", s.Name, err)
			}
		}
	}
	cell.Set(p)
	return nil
}

func (tx *Tx) settingVersion(name string) (v int, err error) {
	err = tx.row(`SELECT coalesce(max(version), 0) FROM settings WHERE name = ?`, []any{name}, &v)
	return v, err
}

func (tx *Tx) putSetting(v SettingVersion) error {
	if _, err := tx.exec(`INSERT INTO settings (name, version, value, set_at, by_kind, by_id, note) VALUES (?, ?, ?, ?, ?, ?, ?)`, v.Name,
		v.Version, v.Value, ms(tx.Now), string(v.By.Kind), v.By.ID, v.Note); err != nil {
		return err
	}
	_, err := tx.event(dispatch.Event{By: v.By, Action: dispatch.ActionSettingChanged, Cause: v.Name, Count: int64(v.Version)})
	return err
}

// ChangeSetting stores the next version of a value, which the caller has checked with its spec. Version is the one that the person saw: the
// error is dispatch.ErrStale when it is not the newest any more.
func (db *DB) ChangeSetting(ctx context.Context, v SettingVersion) error {
	return db.write(ctx, "change a setting", func(tx *Tx) error {
		have, err := tx.settingVersion(v.Name)
		if err != nil {
			return err
		}
		if have != v.Version {
			return fmt.Errorf("setting %s: %w", v.Name, dispatch.ErrStale)
		}
		v.Version++
		return tx.putSetting(v)
	})
}

const settingColumns = `name, version, value, set_at, by_kind, by_id, note`

func (db *DB) settings(ctx context.Context, query string, args ...any) (all []SettingVersion, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		all, err = readAll(q, func(scan func(...any) error) (v SettingVersion, err error) {
			err = scan(&v.Name, &v.Version, &v.Value, at(&v.At), &v.By.Kind, &v.By.ID, &v.Note)
			return v, err
		}, query, args...)
		if err != nil {
			return err
		}
		for i, v := range all {
			names, err := namesOf(q, nil, v.By)
			if err != nil {
				return err
			}
			all[i].ByName = names.Staff[v.By.ID]
		}
		return nil
	})
	return all, err
}

// Settings reads the newest version of every setting, by name.
func (db *DB) Settings(ctx context.Context) (map[string]SettingVersion, error) {
	all, err := db.settings(ctx, `SELECT `+settingColumns+` FROM settings s
		WHERE version = (SELECT max(version) FROM settings WHERE name = s.name)`)
	newest := map[string]SettingVersion{}
	for _, v := range all {
		newest[v.Name] = v
	}
	return newest, err
}

// SettingHistory lists the versions of one setting, the newest first, at most 100.
func (db *DB) SettingHistory(ctx context.Context, name string) ([]SettingVersion, error) {
	return db.settings(ctx, `SELECT `+settingColumns+` FROM settings WHERE name = ? ORDER BY version DESC LIMIT 100`, name)
}
