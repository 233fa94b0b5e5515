package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCmd struct{}

// Run prints one line: version, revision, Go and platform.
func (versionCmd) Run(on console) error {
	v, revision := version()
	if revision != "" {
		v += " (" + revision + ")"
	}
	_, err := fmt.Fprintf(on.out, "sentonce %s %s %s/%s\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// version is what the build says of itself.
func version() (number, revision string) {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)", ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = s.Value
		}
	}
	return info.Main.Version, revision
}

// moduleVersion is the version of a module that this binary was built with; "unknown" when the build does not say.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return "unknown"
}
