//go:build !linux && !darwin

package main

import "errors"

// diskFree is not known on this system.
func diskFree(string) (uint64, error) { return 0, errors.ErrUnsupported }
