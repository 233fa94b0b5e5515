//go:build race

package store_test

// The race detector makes the translated SQLite some ten times slower. What has but one goroutine gains nothing from it and does less there.
const raced = true
