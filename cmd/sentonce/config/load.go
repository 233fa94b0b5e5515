package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	Line int    // in the file; 0: not known, or not there
	Env  string // the variable that set it; "": the file or the default did
	Say  string // what is wrong and what to do

	provider int // which [[provider]] table, from 1; 0: none, or any
}

func (p Problem) String() string {
	s := p.Say
	if p.Env != "" {
		return p.Env + " in the environment: " + s
	}
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

// Load reads a file, lets the environment override single values, and checks everything. Relative paths are taken from the file's own folder.
// The error is an *Error, or says why the file cannot be read. Secrets are not looked at: see Provider.Token.
func Load(path string, env Env) (Config, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return Config{}, missing(path)
		}
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	c, problems := read(string(raw))
	decided, wrong := override(&c, env)
	c.Path = path
	if problems = append(problems, wrong...); len(problems) == 0 {
		problems = blame(c.check(), decided)
	}
	if len(problems) > 0 {
		return Config{}, &Error{Path: path, Problems: locate(string(raw), problems)}
	}
	c.settlePaths(filepath.Dir(path))
	return c, nil
}

// missing is the path of a configuration that is not there. It is os.ErrNotExist, in words that say it once.
type missing string

func (m missing) Error() string {
	return fmt.Sprintf("there is no configuration %s: make one with `sentonce init`, or name one with --config", string(m))
}

func (missing) Is(target error) bool { return target == os.ErrNotExist }

// read takes the text over the defaults.
func read(text string) (c Config, problems []Problem) {
	c = defaults()
	var written table
	if _, err := toml.Decode(text, (*map[string]any)(&written)); err != nil {
		return c, []Problem{decodeProblem(err)}
	}
	problems = written.take(&c)
	var wrong []Problem
	c.Providers, wrong = written.providers()
	return c, append(append(problems, wrong...), written.rest(map[string]bool{"dispatch": true, "limits": true})...)
}

// decodeProblem takes a decoder's error apart, so that its place is told once and in our way.
func decodeProblem(err error) Problem {
	var parse toml.ParseError
	if errors.As(err, &parse) {
		return Problem{Key: parse.LastKey, Line: parse.Position.Line, Say: parse.Message}
	}
	return Problem{Say: strings.TrimPrefix(err.Error(), "toml: ")}
}

// blame names the variable of each problem of a setting that the environment decided.
func blame(problems []Problem, decided map[string]bool) []Problem {
	for i, p := range problems {
		if decided[p.Key] {
			problems[i].Env = envName(p.Key)
		}
	}
	return problems
}

// locate says where each problem was written, and sorts them by it. A line is a guess for people: where a table is written in an unusual way,
// it stays unknown.
func locate(text string, problems []Problem) []Problem {
	for i := range problems {
		if p := &problems[i]; p.Line == 0 && p.Env == "" {
			p.Line = lineOf(text, p.Key, p.provider)
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(uint(a.Line-1), uint(b.Line-1)) }) // no line goes last
	return problems
}

// lineOf finds a setting in the text, or 0; provider is which [[provider]] table it has to be in, 0 the first that has it.
func lineOf(text, key string, provider int) int {
	want, table, seen := strings.ToLower(strings.TrimSuffix(key, "[]")), "", 0
	for n, line := range strings.Split(text, "\n") {
		line = strings.ToLower(strings.TrimSpace(line))
		if header, ok := strings.CutPrefix(line, "["); ok {
			header, _, _ = strings.Cut(strings.TrimLeft(header, "["), "]")
			table = strings.TrimSpace(header)
			if table == "provider" {
				seen++
			}
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
		if found && name == want && (provider == 0 || provider == seen) {
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
