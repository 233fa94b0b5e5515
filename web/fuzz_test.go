package web_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"sentonce/web"
)

// FuzzStrictDecoder: what is accepted is one object of known string members that the standard decoder reads alike, and what is refused is
// explained without a word of the body.
func FuzzStrictDecoder(f *testing.F) {
	for _, s := range []string{`{"event_id":"e","idempotency_key":"k","recipient":"+4915112345678","message":"m","expires_at":"2030-01-01T00:00:00Z"}`,
		`{"event_id":"a","event_id":"b"}`, `{"Event_ID":"a"}`, `{} {}`, `[]`, `null`, ``, `{"message":"\ud83d\ude00 \\ud83d"}`, `{"message":"\ud83d"}`, `{"message":{"a":[[]]}}`,
		"{\"message\":\"\xff\"}", `{"purpose":null}`, `{"event_id":1e999}`, `{"\u0065vent_id":"x"}`, `{"ſubject":"x"}`, `{"":""}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		values, faults, details := web.DecodeStrict(body)
		for _, word := range strings.Fields(string(body)) {
			if len(word) > 20 && strings.Contains(details, word) {
				t.Errorf("the faults repeat %q", word)
			}
		}
		if len(faults) > 0 {
			return
		}
		var all map[string]any
		if err := json.Unmarshal(body, &all); err != nil || !utf8.Valid(body) {
			t.Fatalf("%q is no JSON object and was accepted: %v", body, err)
		}
		for name, v := range all {
			if s, is := v.(string); v != nil && (!is || values[name] != s) {
				t.Errorf("member %q of %q is %v here and %q there", name, body, v, values[name])
			}
		}
		for _, required := range []string{"event_id", "recipient", "message", "expires_at"} {
			if _, has := values[required]; !has {
				t.Errorf("%q has no %s and was accepted", body, required)
			}
		}
	})
}

// FuzzIdempotencyKey: a key is 1 to 128 visible ASCII characters, and quoting it by the RFC's rules gives the same key.
func FuzzIdempotencyKey(f *testing.F) {
	for _, s := range []string{"k-1", `"k-1"`, `"a\"b\\c"`, `"`, `""`, `"a`, `"a"b`, `"a";p=1`, `a"b`, " k ", "\t\"k\"", `"\x"`, "", "k\x00", strings.Repeat("k", 129)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, ok := web.ParseKeyHeader(s)
		if !ok {
			return
		}
		if key == "" || len(key) > 128 || strings.ContainsFunc(key, func(c rune) bool { return c < '!' || c > '~' }) {
			t.Fatalf("%q gave the key %q", s, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, ok := web.ParseKeyHeader(quoted); !ok || again != key {
			t.Errorf("%q gave %q, and quoted as %s %q", s, key, quoted, again)
		}
		if !strings.HasPrefix(key, `"`) {
			if bare, ok := web.ParseKeyHeader(key); !ok || bare != key {
				t.Errorf("%q gave %q, and bare %q", s, key, bare)
			}
		}
	})
}
