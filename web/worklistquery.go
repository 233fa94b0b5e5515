package web

import (
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"slices"
	"strconv"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
)

const workPage = 50 // rows of a page of the worklist

// The parameters of the worklist's address, in their canonical order. None of them holds a number of a person.
const (
	paramTab      = "tab"
	paramProvider = "provider"
	paramWindow   = "window" // the start of a burst, in ms
	paramAfter    = "after"  // the last row of the page before
	paramRev      = "rev"    // what a page that follows the list has seen
)

// listOf reads a query of the worklist; what it does not understand is left out.
func listOf(query string, me dispatch.StaffID) store.WorkQuery {
	values, err := url.ParseQuery(query)
	if err != nil {
		values = nil
	}
	w, _ := readWorkList(values, me)
	return w
}

// readList reads the parameters, and names those that it does not understand.
func readWorkList(values url.Values, me dispatch.StaffID) (w store.WorkQuery, strange []string) {
	w = store.WorkQuery{Tab: store.WorkAll, Me: me, Limit: workPage}
	for name := range values {
		text := values.Get(name)
		ok := true
		switch name {
		case paramTab:
			if ok = slices.Contains(store.WorkTabs(), store.WorkTab(text)); ok {
				w.Tab = store.WorkTab(text)
			}
		case paramProvider:
			w.Provider = text
		case paramWindow:
			n, err := strconv.ParseInt(text, 10, 64)
			if ok = err == nil && n > 0; ok {
				w.Window = time.UnixMilli(n).UTC()
			}
		case paramAfter:
			w.After, ok = readKey(text)
		case paramRev:
		default:
			ok = false
		}
		if !ok {
			strange = append(strange, name)
		}
	}
	slices.Sort(strange)
	return w, strange
}

// queryOf writes a list's canonical query, without its place.
func queryOf(w store.WorkQuery) string {
	q := paramTab + "=" + url.QueryEscape(string(w.Tab))
	if w.Provider != "" {
		q += "&" + paramProvider + "=" + url.QueryEscape(w.Provider)
	}
	if !w.Window.IsZero() {
		q += "&" + paramWindow + "=" + strconv.FormatInt(w.Window.UnixMilli(), 10)
	}
	return q
}

// writeKey writes a place in a list.
func writeKey(k store.WorkKey) string {
	raw := binary.BigEndian.AppendUint64(nil, uint64(k.At.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(append(raw, k.ID[:]...))
}

func readKey(text string) (k store.WorkKey, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != 8+len(k.ID) {
		return k, false
	}
	k.At = time.UnixMilli(int64(binary.BigEndian.Uint64(raw))).UTC()
	copy(k.ID[:], raw[8:])
	return k, true
}
