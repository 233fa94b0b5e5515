package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Setting is one setting as the documentation lists it.
type Setting struct {
	Key     string // e.g. "dispatch.workers", "provider.name"
	Env     string // the variable that overrides it; "" where none can
	Default string // "" when there is none
}

const envPrefix = "SENTONCE_"

// Settings lists every setting in the order of the file.
func Settings() []Setting {
	var all []Setting
	c, p := defaults(), providerDefaults()
	each(reflect.ValueOf(&c).Elem(), "", func(key string, v reflect.Value) {
		s := Setting{Key: key, Default: show(v)}
		if v.Kind() != reflect.Slice {
			s.Env = envName(key)
		}
		all = append(all, s)
	})
	each(reflect.ValueOf(&p).Elem(), "provider.", func(key string, v reflect.Value) {
		all = append(all, Setting{Key: key, Default: show(v)})
	})
	return all
}

// override lets the environment replace single values of the file, and names the settings that it decided. Lists and tables of providers it
// cannot.
func override(c *Config, env Env) (decided map[string]bool, problems []Problem) {
	decided = map[string]bool{}
	each(reflect.ValueOf(c).Elem(), "", func(key string, v reflect.Value) {
		text, ok := env(envName(key))
		if !ok || v.Kind() == reflect.Slice {
			return
		}
		decided[key] = true
		if err := set(v, text); err != nil {
			problems = append(problems, Problem{Key: key, Env: envName(key), Say: err.Error()})
		}
	})
	return decided, problems
}

func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// each visits the settings of a struct by their names in the file, tables within it included.
func each(v reflect.Value, prefix string, visit func(key string, v reflect.Value)) {
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("toml")
		_, text := v.Field(i).Addr().Interface().(encoding.TextUnmarshaler)
		switch {
		case name == "-":
		case v.Field(i).Kind() == reflect.Struct && !text:
			each(v.Field(i), prefix+name+".", visit)
		default:
			visit(prefix+name, v.Field(i))
		}
	}
}

// show writes a default as a person would write it into the file.
func show(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case []time.Duration:
		all := make([]string, len(value))
		for i, d := range value {
			all[i] = short(d)
		}
		return strings.Join(all, ", ")
	case time.Duration:
		return short(value)
	case fmt.Stringer:
		return strings.ToLower(value.String())
	case URL:
		return value.URL.String()
	}
	if v.Kind() == reflect.Slice {
		return ""
	}
	return fmt.Sprint(v.Interface())
}

// short drops the zero parts that Duration.String writes: 24h0m0s is 24h.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
