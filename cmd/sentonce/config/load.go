package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

// Env looks an environment variable up.
type Env func(name string) (value string, ok bool)

// Error lists everything that is wrong with a configuration, so that nobody has to mend one thing to hear of the next.
type Error struct {
	Path     string
	Problems []Problem
}

// Problem is one thing that is wrong.
type Problem struct {
	Key  string // the setting, e.g. "dispatch.workers"; "" when it is the file itself
	Line int    // in the file; 0: not known
	Say  string // what is wrong and what to do
}

func (p Problem) String() string {
	s := p.Say
	if p.Key != "" {
		s = p.Key + ": " + s
	}
	if p.Line > 0 {
		s = fmt.Sprintf("line %d: %s", p.Line, s)
	}
	return s
}

func (e *Error) Error() string {
	all := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		all[i] = p.String()
	}
	return e.Path + ": " + strings.Join(all, "; ")
}

// document is the file as it is written; the tables of the providers wait until each has its defaults.
type document struct {
	Config
	Provider []toml.Primitive `toml:"provider"`
}

// Load reads a file, lets the environment override single values, and checks everything. Relative paths are taken from the file's own folder.
// The error is an *Error, or says why the file cannot be read. Secrets are not looked at: see Provider.Token.
func Load(path string, env Env) (Config, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return Config{}, fmt.Errorf("there is no configuration %s: make one with `sentonce init`, or name one with --config: %w", path, err)
		}
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	c, problems := read(string(raw), env)
	c.Path = path
	if len(problems) == 0 {
		problems = c.check()
	}
	if len(problems) > 0 {
		locate(string(raw), problems)
		return Config{}, &Error{Path: path, Problems: problems}
	}
	c.settlePaths(filepath.Dir(path))
	return c, nil
}

// read decodes the text over the defaults and applies the environment.
func read(text string, env Env) (Config, []Problem) {
	doc := document{Config: defaults()}
	md, err := toml.Decode(text, &doc)
	if err != nil {
		return doc.Config, []Problem{decodeProblem(err)}
	}
	for _, table := range doc.Provider {
		p := providerDefaults()
		if err := md.PrimitiveDecode(table, &p); err != nil {
			return doc.Config, []Problem{decodeProblem(err)}
		}
		doc.Providers = append(doc.Providers, p)
	}
	return doc.Config, append(unknown(md.Undecoded()), override(&doc.Config, env)...)
}

// unknown makes a problem of each key that nothing took. Of an unknown table only the table itself is named.
func unknown(keys []toml.Key) (problems []Problem) {
	table := "\x00"
	for _, k := range keys {
		key := k.String()
		if strings.HasPrefix(key, table+".") {
			continue
		}
		table = key
		problems = append(problems, Problem{Key: key, Say: "there is no such setting; docs/configuration.md lists them"})
	}
	return problems
}

// decodeProblem takes a decoder's error apart, so that its place is told once and in our way.
func decodeProblem(err error) Problem {
	var parse toml.ParseError
	if errors.As(err, &parse) {
		return Problem{Key: parse.LastKey, Line: parse.Position.Line, Say: parse.Message}
	}
	return Problem{Say: strings.TrimPrefix(err.Error(), "toml: ")}
}

// locate finds the lines of keys. It is a guess for people: where a table is written in an unusual way, the line stays unknown.
func locate(text string, problems []Problem) {
	for i := range problems {
		if problems[i].Line == 0 {
			problems[i].Line = lineOf(text, problems[i].Key)
		}
	}
}

func lineOf(text, key string) int {
	want, table := strings.ToLower(strings.TrimSuffix(key, "[]")), ""
	for n, line := range strings.Split(text, "\n") {
		line = strings.ToLower(strings.TrimSpace(line))
		if header, ok := strings.CutPrefix(line, "["); ok {
			header, _, _ = strings.Cut(strings.TrimLeft(header, "["), "]")
			table = strings.TrimSpace(header)
			if table == want {
				return n + 1
			}
			continue
		}
		name, _, found := strings.Cut(line, "=")
		name = strings.Trim(strings.TrimSpace(name), `"'`)
		if table != "" {
			name = table + "." + name
		}
		if found && name == want {
			return n + 1
		}
	}
	return 0
}

// settlePaths makes paths that are relative to the file's folder usable.
func (c *Config) settlePaths(folder string) {
	settle := func(path *string) {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(folder, *path)
		}
	}
	settle(&c.DataDir)
	settle(&c.KeyFile)
	for i := range c.Providers {
		settle(&c.Providers[i].AuthTokenFile)
	}
}

// Problems takes the problems out of an error of Load; ok is false when the file could not be read at all.
func Problems(err error) (all []Problem, ok bool) {
	var e *Error
	if !errors.As(err, &e) {
		return nil, false
	}
	return e.Problems, true
}
