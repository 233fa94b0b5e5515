package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// member is one member of a command. All members are strings.
type member struct {
	name     string
	required bool
}

// maxFaults bounds the list of what is wrong with one body.
const maxFaults = 16

// decodeStrict reads a body that must be exactly one JSON object (RFC 8259) whose members are known, spelt as documented, given once, and
// strings. null counts as not given. It returns the members that are there, or what is wrong; the names of unknown members are not repeated.
func decodeStrict(body []byte, known []member) (map[string]string, []fault) {
	if !utf8.Valid(body) {
		return nil, []fault{{"", "encoding", "the body is not valid UTF-8"}}
	}
	d := &strictDecoder{json: json.NewDecoder(bytes.NewReader(body)), body: body, known: known, values: map[string]string{}, seen: map[string]bool{}}
	if err := d.object(); err != nil {
		return nil, []fault{{"", "syntax", syntaxDetail(err)}}
	}
	for _, m := range known {
		if _, has := d.values[m.name]; m.required && !has && !d.faulty(m.name) {
			d.fault("/"+m.name, "required", "the member is missing or null")
		}
	}
	return d.values, d.faults
}

type strictDecoder struct {
	json   *json.Decoder
	body   []byte
	known  []member
	values map[string]string
	seen   map[string]bool
	faults []fault
}

var (
	errNoObject = errors.New("the body is not a JSON object")
	errTrailing = errors.New("something follows the JSON object")
)

// object reads the whole body. Its error is about the syntax; what is wrong with members is in faults.
func (d *strictDecoder) object() error {
	if !json.Valid(d.body) {
		var v json.RawMessage
		if err := d.json.Decode(&v); err != nil {
			return err
		}
		return errTrailing
	}
	open, err := d.json.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		return errNoObject
	}
	for n := 1; d.json.More(); n++ {
		if err := d.member(n); err != nil {
			return err
		}
	}
	return nil
}

// member reads the n-th name and its value.
func (d *strictDecoder) member(n int) error {
	token, err := d.json.Token()
	if err != nil {
		return err
	}
	name, _ := token.(string)
	var raw json.RawMessage
	if err := d.json.Decode(&raw); err != nil {
		return err
	}
	canonical := d.find(name)
	switch {
	case canonical == "":
		d.fault("", "unknown_member", "member number "+itoa(n)+" is not one of this request")
	case canonical != name:
		d.fault("/"+canonical, "wrong_case", "the member's name is not spelt as documented")
	case d.seen[name]:
		d.fault("/"+name, "duplicate_member", "the member is given twice")
	default:
		d.seen[name] = true
		d.value(name, raw)
	}
	return nil
}

// find returns the documented spelling of a name, "" when it is none in any case.
func (d *strictDecoder) find(name string) string {
	for _, m := range d.known {
		if strings.EqualFold(m.name, name) {
			return m.name
		}
	}
	return ""
}

func (d *strictDecoder) value(name string, raw json.RawMessage) {
	var s string
	switch {
	case string(raw) == "null":
		return
	case raw[0] != '"':
		d.fault("/"+name, "type", "the member must be a string")
	case loneSurrogate(raw):
		d.fault("/"+name, "encoding", "the member has half of a surrogate pair")
	case json.Unmarshal(raw, &s) != nil:
		d.fault("/"+name, "type", "the member must be a string")
	default:
		d.values[name] = s
	}
}

func (d *strictDecoder) fault(pointer, rule, detail string) {
	if len(d.faults) < maxFaults {
		d.faults = append(d.faults, fault{pointer, rule, detail})
	}
}

func (d *strictDecoder) faulty(name string) bool {
	for _, f := range d.faults {
		if f.Pointer == "/"+name {
			return true
		}
	}
	return false
}

// loneSurrogate reports whether a JSON string has a \u escape of half a character. The decoder would replace it silently, so that another
// text than the client's would be stored.
func loneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		unit, ok := escapedUnit(raw[i:])
		if !ok {
			i++ // the escaped character
			continue
		}
		i += 5
		if unit < 0xd800 || unit > 0xdfff {
			continue
		}
		low, ok := escapedUnit(raw[i+1:])
		if unit > 0xdbff || !ok || low < 0xdc00 || low > 0xdfff {
			return true
		}
		i += 6
	}
	return false
}

// escapedUnit reads "\uXXXX" at the start of b.
func escapedUnit(b []byte) (unit int, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if digit < 0 {
			return 0, false
		}
		unit = unit<<4 | digit
	}
	return unit, true
}

// syntaxDetail explains a syntax error by its place. The decoder's own words would repeat a character of the body.
func syntaxDetail(err error) string {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, errNoObject), errors.Is(err, errTrailing):
		return err.Error()
	case errors.Is(err, io.EOF):
		return "the body is empty"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the JSON object does not end"
	case errors.As(err, &syntax):
		return "the body is not JSON from byte " + itoa(int(syntax.Offset)) + " on"
	}
	return "the body is not JSON"
}
