package twilio

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"unicode/utf8"
)

// object is a JSON object read strictly: the text is UTF-8 and holds one value and nothing after it, names count as written (encoding/json
// alone would take "SID" for "sid"), and no name comes twice (it would take the last).
type object map[string]json.RawMessage

func parseObject(body []byte) (object, bool) {
	dec := json.NewDecoder(bytes.NewReader(body))
	if !utf8.Valid(body) || !delim(dec, '{') {
		return nil, false
	}
	o := object{}
	for dec.More() {
		token, err := dec.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err != nil || !isName || dec.Decode(&value) != nil {
			return nil, false
		}
		if _, twice := o[name]; twice {
			return nil, false
		}
		o[name] = value
	}
	if !delim(dec, '}') {
		return nil, false
	}
	_, err := dec.Token()
	return o, err == io.EOF
}

func delim(dec *json.Decoder, want json.Delim) bool {
	token, err := dec.Token()
	return err == nil && token == want
}

// text reads a member that is a string.
func (o object) text(name string) (string, bool) {
	raw := o[name]
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

// textOrNull reads a member that is a string or null; it must be there.
func (o object) textOrNull(name string) (string, bool) {
	if o.null(name) {
		return "", true
	}
	return o.text(name)
}

// number reads a member that is a whole number, written as one.
func (o object) number(name string) (int, bool) {
	n, err := strconv.Atoi(string(o[name]))
	return n, err == nil
}

func (o object) null(name string) bool { return string(o[name]) == "null" }

func (o object) has(name string) bool { return len(o[name]) > 0 }

// objects reads a member that is an array of objects.
func (o object) objects(name string) ([]object, bool) {
	var items []json.RawMessage
	if raw := o[name]; len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		return nil, false
	}
	list := make([]object, 0, len(items))
	for _, raw := range items {
		item, ok := parseObject(raw)
		if !ok {
			return nil, false
		}
		list = append(list, item)
	}
	return list, true
}
