// Package racetest keeps slow tests of one goroutine from the race detector, which has
// nothing to find in them and makes them last several times as long.
//
// scripts/test runs the tests that call this package a second time, without the detector.
// It finds them by their text, so the calls are in the bodies of the tests themselves.
// internal/layers checks that, and caps the number of calls.
package racetest

import "testing"

// Skip skips t under the race detector. reason says why the detector has nothing to find.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if enabled {
		t.Skip("under the race detector: " + reason)
	}
}

// Stride returns n under the race detector, else 1. A test that tries many similar cases
// takes each n-th of them.
func Stride(n int) int {
	if enabled {
		return n
	}
	return 1
}
