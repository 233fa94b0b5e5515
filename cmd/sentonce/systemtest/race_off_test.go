//go:build !race

package systemtest

func buildFlags() []string { return nil }
