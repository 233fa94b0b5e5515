package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"sentonce/dispatch"
)

// shop is a storefront that uses the API as any other would.
type shop struct {
	base string
	key  dispatch.Secret
}

// event is the body of POST /v1/notifications.
type event struct {
	EventID   string    `json:"event_id"`
	Key       string    `json:"idempotency_key"`
	Subject   string    `json:"subject,omitempty"`
	Recipient string    `json:"recipient"`
	Message   string    `json:"message"`
	ExpiresAt time.Time `json:"expires_at"`
}

// news is what the demo reads of a status document.
type news struct {
	ID        string               `json:"id"`
	State     dispatch.State       `json:"state"`
	Reason    dispatch.Reason      `json:"reason"`
	Final     bool                 `json:"final"`
	Withdrawn *time.Time           `json:"withdrawn_at"`
	Incident  *struct{ ID string } `json:"incident"`
	Attempts  []struct {
		Outcome dispatch.Outcome `json:"outcome"`
		Rule    dispatch.Rule    `json:"rule"`
	} `json:"attempts"`
}

const (
	shopTimeout = 40 * time.Second // longer than a held status request
	shopAnswer  = 1 << 20
)

// post hands an event over.
func (s shop) post(ctx context.Context, e event) (news, error) {
	n, _, err := s.call(ctx, http.MethodPost, "/v1/notifications", e, nil)
	return n, err
}

// cancel withdraws a notification.
func (s shop) cancel(ctx context.Context, id string) error {
	_, _, err := s.call(ctx, http.MethodPost, "/v1/notifications/"+id+"/cancel", map[string]string{"reason": "user_request"}, nil)
	return err
}

// next waits for a document that differs from the one with the tag; without a tag it takes the one of the moment.
func (s shop) next(ctx context.Context, id, tag string) (news, string, error) {
	header := http.Header{}
	if tag != "" {
		header.Set("If-None-Match", tag)
		header.Set("Prefer", "wait=10")
	}
	return s.call(ctx, http.MethodGet, "/v1/notifications/"+id, nil, header)
}

// call makes one request. When the document has not changed, its id is empty.
func (s shop) call(ctx context.Context, method, path string, body any, header http.Header) (n news, tag string, err error) {
	ctx, cancel := context.WithTimeout(ctx, shopTimeout)
	defer cancel()
	var content []byte
	if body != nil {
		if content, err = json.Marshal(body); err != nil {
			return n, "", err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(content))
	if err != nil {
		return n, "", err
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("Authorization", "Bearer "+s.key.Reveal())
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return n, "", err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, shopAnswer))
	switch {
	case err != nil:
		return n, "", err
	case res.StatusCode == http.StatusNotModified:
		return n, res.Header.Get("ETag"), nil
	case res.StatusCode >= http.StatusBadRequest:
		return n, "", fmt.Errorf("%s %s: %s: %s", method, path, res.Status, strings.TrimSpace(string(raw)))
	}
	return n, res.Header.Get("ETag"), json.Unmarshal(raw, &n)
}
