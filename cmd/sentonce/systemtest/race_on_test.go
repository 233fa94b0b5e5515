//go:build race

package systemtest

// buildFlags make the command what the tests are, so that its own races show, too.
func buildFlags() []string { return []string{"-race"} }
