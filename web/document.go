package web

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
)

// statusDocument is a notification as its client sees it. What is not known is null.
type statusDocument struct {
	ID             string          `json:"id"`
	EventID        string          `json:"event_id"`
	IdempotencyKey string          `json:"idempotency_key"`
	Purpose        string          `json:"purpose"`
	State          string          `json:"state"`
	Reason         *string         `json:"reason"`
	Final          bool            `json:"final"`
	Recipient      recipientPart   `json:"recipient"`
	AcceptedAt     string          `json:"accepted_at"`
	ExpiresAt      string          `json:"expires_at"`
	WithdrawnAt    *string         `json:"withdrawn_at"`
	StoppedAt      *string         `json:"stopped_at"`
	Version        int             `json:"version"`
	Advice         string          `json:"advice"`
	Incident       *incidentPart   `json:"incident"`
	Attempts       []attemptMember `json:"attempts"`
}

type recipientPart struct {
	Ref     string  `json:"ref"`
	Country *string `json:"country"`
	Hint    *string `json:"hint"`
}

type incidentPart struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	OpenedAt string `json:"opened_at"`
	Open     bool   `json:"open"`
}

type attemptMember struct {
	ID                string  `json:"id"`
	Number            int     `json:"number"`
	Provider          string  `json:"provider"`
	Outcome           string  `json:"outcome"`
	Rule              *string `json:"rule"`
	Phase             *string `json:"phase"`
	HTTPStatus        *int    `json:"http_status"`
	ProviderCode      *string `json:"provider_code"`
	ProviderMessageID *string `json:"provider_message_id"`
	StartedAt         string  `json:"started_at"`
	FinishedAt        *string `json:"finished_at"`

	Delivery *deliveryPart `json:"delivery"`
}

// deliveryPart is what the delivery reports of an attempt say, the one that ranks highest; null while none has come.
type deliveryPart struct {
	Status string  `json:"status"`
	Code   *string `json:"code"`
}

func deliveryOf(a dispatch.Attempt) *deliveryPart {
	if a.Receipt == "" {
		return nil
	}
	return &deliveryPart{Status: string(a.Receipt), Code: known(a.ReceiptCode)}
}

// describe writes a record as a status document.
func describe(r dispatch.Record) statusDocument {
	d := statusDocument{ID: r.ID.String(), EventID: r.EventID, IdempotencyKey: r.IdempotencyKey, Purpose: r.Purpose, State: string(r.State),
		Reason: known(string(r.Reason)), Final: r.Final, AcceptedAt: instant(r.AcceptedAt), ExpiresAt: instant(r.ExpiresAt),
		WithdrawnAt: known(instant(r.WithdrawnAt)), StoppedAt: known(instant(r.StoppedAt)), Version: r.Version, Advice: string(r.Advice()),
		Recipient: recipientPart{Ref: r.Recipient.String(), Country: known(r.Country), Hint: known(r.Hint)},
		Incident:  incidentOf(r.Incidents), Attempts: []attemptMember{}}
	for _, a := range r.Attempts {
		d.Attempts = append(d.Attempts, attemptMember{ID: a.ID.String(), Number: a.Number, Provider: a.Provider, Outcome: string(a.Outcome),
			Rule: known(string(a.Rule)), Phase: known(string(a.Phase)), HTTPStatus: known(a.HTTPStatus), ProviderCode: known(a.Code),
			ProviderMessageID: known(a.MessageID), StartedAt: instant(a.StartedAt), FinishedAt: known(instant(a.FinishedAt)),
			Delivery: deliveryOf(a)})
	}
	return d
}

// known is nil for the zero value: null in JSON.
func known[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}

// instant writes a time as RFC 3339 in UTC with three fractional digits, "" for none.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// incidentOf is the oldest open incident, else the latest one.
func incidentOf(all []dispatch.Incident) *incidentPart {
	if len(all) == 0 {
		return nil
	}
	shown := all[len(all)-1]
	for _, i := range all {
		if i.ClosedAt.IsZero() {
			shown = i
			break
		}
	}
	return &incidentPart{shown.ID.String(), string(shown.Kind), instant(shown.OpenedAt), shown.ClosedAt.IsZero()}
}

// encode is the record's document and its entity tag. The tag names the version for people and a digest of the document for machines: not
// all that the document shows moves the version (the closing of an incident, an erased hint), and a strong tag must change with each byte.
func encode(r dispatch.Record) (body []byte, tag string, err error) {
	body, err = encodeJSON(describe(r))
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(body)
	return body, `"` + itoa(r.Version) + "." + base64.RawURLEncoding.EncodeToString(sum[:9]) + `"`, nil
}

// answerRecord writes a record as the answer.
func answerRecord(c echo.Context, status int, r dispatch.Record) error {
	body, tag, err := encode(r)
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", tag)
	return c.Blob(status, echo.MIMEApplicationJSON, body)
}

// encodeJSON writes a body of an answer. It ends with a newline, so that a shell's prompt does not stick to it.
func encodeJSON(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	return append(body, '\n'), err
}

// answerJSON encodes first and writes then, so that a status line is sent only for a body that is whole.
func answerJSON(c echo.Context, v any) error {
	body, err := encodeJSON(v)
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, body)
}

// matches reports whether If-None-Match names a tag. The comparison is the weak one (RFC 9110, §13.1.2): a proxy that compresses makes tags
// weak.
func matches(ifNoneMatch, tag string) bool {
	for _, candidate := range strings.Split(ifNoneMatch, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
			return true
		}
	}
	return false
}
