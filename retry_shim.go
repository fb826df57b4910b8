package ponder

import (
	"time"

	"ponder/llm"
)

type policy struct{}

func (policy) Next(err error, fails, at, chain int, rnd float64) (int, time.Duration, bool) {
	if !llm.ClassOf(err).Again() || fails >= 3 {
		return at + 1, 0, at+1 < chain
	}
	return at, time.Second << fails, true
}
