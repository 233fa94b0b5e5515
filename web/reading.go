package web

import (
	"context"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
)

// Reading is what the pages that show need of the store.
type Reading interface {
	Listing
	Telling
	Counting
	Administering
}

// Listing reads lists of notifications and of events.
type Listing interface {
	List(ctx context.Context, f store.Filter, c store.Cut) (store.Page, error)
	CountList(ctx context.Context, f store.Filter, limit int) (int, error)
	CountNewer(ctx context.Context, f store.Filter, than dispatch.NotificationID, limit int) (int, error)
	Neighbours(ctx context.Context, f store.Filter, id dispatch.NotificationID) (newer, older dispatch.NotificationID, err error)
	Search(ctx context.Context, text string) (ids []dispatch.NotificationID, kind string, err error)
	RecipientRef(number dispatch.Secret) dispatch.RecipientRef
	Audit(ctx context.Context, f store.AuditFilter, c store.AuditCut) (store.AuditPage, error)
	Views(ctx context.Context, owner dispatch.StaffID) ([]store.View, error)
	SaveView(ctx context.Context, v store.View) (dispatch.ViewID, error)
	DeleteView(ctx context.Context, owner dispatch.StaffID, id dispatch.ViewID) error
}

// Telling reads one notification with its history.
type Telling interface {
	Story(ctx context.Context, id dispatch.NotificationID) (store.Story, error)
	// NewestEvent is the number of the newest event of a notification.
	NewestEvent(ctx context.Context, id dispatch.NotificationID) (int64, error)
	// Note writes an event that belongs to no notification.
	Note(ctx context.Context, ev dispatch.Event) error
}

// Counting reads figures that the store keeps.
type Counting interface {
	Gauges(ctx context.Context) (store.Gauges, error)
	Hourly(ctx context.Context, from, to time.Time) ([]store.HourCount, error)
	Calls(ctx context.Context, from, to time.Time) ([]store.CallCount, error)
	ClientNames(ctx context.Context) (map[dispatch.ClientID]string, error)
	Purposes(ctx context.Context) ([]string, error)
}

// Administering reads and changes what the service runs under.
type Administering interface {
	ProviderHolds(ctx context.Context) ([]store.ProviderHold, error)
	HoldProvider(ctx context.Context, h store.ProviderHold) error
	ReleaseProvider(ctx context.Context, provider string, by dispatch.Actor) error
	Clients(ctx context.Context, since time.Time) ([]store.ClientSummary, error)
	APIKeys(ctx context.Context, c dispatch.ClientID) (name string, created time.Time, keys []dispatch.APIKey, err error)
	AddClient(ctx context.Context, name string, by dispatch.Actor) (dispatch.ClientID, error)
	AddAPIKey(ctx context.Context, k store.NewAPIKey) (dispatch.Secret, error)
	RotateAPIKey(ctx context.Context, c store.KeyChange, overlap time.Duration, expires time.Time) (dispatch.Secret, string, error)
	RevokeAPIKey(ctx context.Context, c store.KeyChange) error
	Settings(ctx context.Context) (map[string]store.SettingVersion, error)
	SettingHistory(ctx context.Context, name string) ([]store.SettingVersion, error)
	ChangeSetting(ctx context.Context, v store.SettingVersion) error
	LoadPolicy(ctx context.Context, cell *store.PolicyCell) error
}
