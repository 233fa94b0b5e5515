// Package migrations holds the schema as goose steps, embedded in the binary. Steps are only ever added; a step that has landed is fixed.
package migrations

import "embed"

// FS holds the steps, NNNNN_name.sql, at its root.
//
//go:embed *.sql
var FS embed.FS
