package config

import (
	"encoding"
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// table is a table of the file as it was written. What a setting has taken is removed, so that what is left is known to nobody.
type table map[string]any

// take puts what the table says into the settings of a struct and returns what does not fit them.
func (t table) take(settings any) (problems []Problem) {
	each(reflect.ValueOf(settings).Elem(), "", func(key string, v reflect.Value) {
		value, ok := t.remove(key)
		if !ok {
			return
		}
		if err := put(v, value); err != nil {
			problems = append(problems, Problem{Key: key, Say: err.Error()})
		}
	})
	return problems
}

// remove takes a value out by its name, which may lead through tables.
func (t table) remove(key string) (value any, ok bool) {
	if first, rest, nested := strings.Cut(key, "."); nested {
		inner, isTable := t[first].(map[string]any)
		if !isTable {
			return nil, false
		}
		return table(inner).remove(rest)
	}
	value, ok = t[key]
	delete(t, key)
	return value, ok
}

// rest makes a problem of each key that nothing took. Of an unknown table only the table itself is named.
func (t table) rest(known map[string]bool) (problems []Problem) {
	for key, value := range t {
		inner, isTable := value.(map[string]any)
		switch {
		case known[key] && isTable:
			for _, p := range table(inner).rest(nil) {
				p.Key = key + "." + p.Key
				problems = append(problems, p)
			}
		case known[key]:
			problems = append(problems, Problem{Key: key, Say: fmt.Sprintf("needs a table, [%s], and this is %s", key, kindOf(value))})
		default:
			problems = append(problems, Problem{Key: key, Say: "there is no such setting; docs/configuration.md lists them"})
		}
	}
	return problems
}

// providers takes the [[provider]] tables out.
func (t table) providers() (all []Provider, problems []Problem) {
	value, ok := t.remove("provider")
	tables, fits := value.([]map[string]any)
	if ok && !fits {
		return nil, []Problem{{Key: "provider", Say: "each provider is a table of its own, [[provider]], in two pairs of brackets"}}
	}
	for n, content := range tables {
		p := providerDefaults()
		for _, found := range append(table(content).take(&p), table(content).rest(nil)...) {
			problems = append(problems, Problem{Key: "provider." + found.Key, provider: n + 1, Say: found.Say})
		}
		all = append(all, p)
	}
	return all, problems
}

// put sets a value to what the file says. No error repeats a value that may be a secret in the wrong place.
func put(v reflect.Value, value any) error {
	if list, ok := value.([]any); ok && v.Kind() == reflect.Slice {
		made := reflect.MakeSlice(v.Type(), len(list), len(list))
		for i, element := range list {
			if err := put(made.Index(i), element); err != nil {
				return err
			}
		}
		v.Set(made)
		return nil
	}
	_, isDuration := v.Addr().Interface().(*time.Duration)
	_, isText := v.Addr().Interface().(encoding.TextUnmarshaler)
	switch value := value.(type) {
	case string:
		if isText || isDuration || v.Kind() == reflect.String {
			return set(v, value)
		}
	case int64:
		switch {
		case isText || isDuration:
		case v.Kind() == reflect.Int:
			v.SetInt(value)
			return nil
		case v.Kind() == reflect.Float64:
			v.SetFloat(float64(value))
			return nil
		}
	case float64:
		if v.Kind() == reflect.Float64 {
			v.SetFloat(value)
			return nil
		}
	case bool:
		if v.Kind() == reflect.Bool {
			v.SetBool(value)
			return nil
		}
	}
	return fmt.Errorf("needs %s, and this is %s", needs(v), kindOf(value))
}

// needs says what a setting is written as.
func needs(v reflect.Value) string {
	if _, ok := v.Addr().Interface().(*time.Duration); ok {
		return `a duration such as "10s"`
	}
	if _, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return "a text in quotes"
	}
	switch v.Kind() {
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list in brackets"
	}
	return "a text in quotes"
}

// kindOf says what a value of the file is.
func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "a text"
	case int64:
		return "a whole number"
	case float64:
		return "a number"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case time.Time:
		return "a date"
	}
	return "a table"
}

// set reads a value from a text, of the file or of the environment.
func set(v reflect.Value, text string) error {
	switch target := v.Addr().Interface().(type) {
	case *slog.Level:
		if target.UnmarshalText([]byte(text)) != nil {
			return fmt.Errorf("%q is not debug, info, warn or error", text)
		}
	case *netip.Prefix:
		if target.UnmarshalText([]byte(text)) != nil {
			return fmt.Errorf("%q is not a network such as \"10.0.0.0/8\"", text)
		}
	case encoding.TextUnmarshaler:
		return target.UnmarshalText([]byte(text))
	case *string:
		*target = text
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is not a duration such as \"10s\"", text)
		}
		*target = d
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		*target = n
	case *float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", text)
		}
		*target = f
	default:
		return fmt.Errorf("a %s cannot be set from a text", v.Type())
	}
	return nil
}
