package web

import (
	"net/http"
	"strings"
)

const idempotencyHeader = "Idempotency-Key"

// idempotencyKey is the key of an admission: from the header, the member ("" when there is none), or both when they are equal.
func idempotencyKey(h http.Header, member string) (string, error) {
	values := h.Values(idempotencyHeader)
	if len(values) > 1 {
		return "", fail(problemKey, "the header Idempotency-Key is given more than once")
	}
	if len(values) == 0 {
		if member == "" {
			return "", fail(problemKey, "the request has no idempotency key")
		}
		return member, nil
	}
	key, ok := parseKeyHeader(values[0])
	switch {
	case !ok:
		return "", fail(problemKey, "the header Idempotency-Key is neither a string of RFC 9651 nor 1 to 128 visible ASCII characters")
	case member != "" && member != key:
		return "", fail(problemKey, "the header Idempotency-Key and the member idempotency_key differ")
	}
	return key, nil
}

// parseKeyHeader reads a key that is written bare, or as a String of RFC 9651 (§3.3.3): in quotes, with \" and \\ for a quote and a
// backslash. Parameters are not defined for this header and refused.
func parseKeyHeader(v string) (key string, ok bool) {
	v = strings.Trim(v, " \t")
	inner, quoted := strings.CutPrefix(v, `"`)
	if !quoted {
		return v, isID(v)
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; c {
		case '"':
			return b.String(), i == len(inner)-1 && isID(b.String())
		case '\\':
			i++
			if i == len(inner) || inner[i] != '"' && inner[i] != '\\' {
				return "", false
			}
			b.WriteByte(inner[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}
