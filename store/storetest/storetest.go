// Package storetest checks that a store keeps the promises of [ponder.Store].
// Every store runs it, so that there is one place that says what a store does.
//
// A store's test may return from open a store that can do more, so that more
// can be checked: see [Ager], [Twin] and [Delayer].
package storetest

import (
	"testing"
	"testing/synctest"
	"time"

	"ponder"
)

// An Ager is a store that can make all its nodes' beats older by d. What needs
// time to pass is checked with it; without it, in a bubble of testing/synctest.
type Ager interface {
	Age(t *testing.T, d time.Duration)
}

// A Twin is a store of which there can be another one that has the same data,
// as in another process. What several processes do is checked with it.
type Twin interface {
	Twin(t *testing.T) ponder.Store
}

// A Delayer is a store that can hold back a commit. Stores where a transaction
// can begin after another and commit before it are to be one.
type Delayer interface {
	// DelayCommit makes the transaction of the next append wait before it
	// commits, until release is called. Begun is closed when it waits.
	DelayCommit(t *testing.T) (begun <-chan struct{}, release func())
}

type (
	opener = func(t *testing.T) ponder.Store
	check  struct {
		name string
		do   func(t *testing.T, s ponder.Store)
	}
	timedCheck struct {
		name string
		do   func(t *testing.T, s ponder.Store, pass func(time.Duration))
	}
)

// Run runs the checks. Open returns an empty store, which the test closes when
// it ends.
func Run(t *testing.T, open func(t *testing.T) ponder.Store) {
	for _, group := range [][]check{logChecks, eraseChecks, followChecks, threadChecks, ledgerChecks} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) { c.do(t, open(t)) })
		}
	}
	inTime := bubble
	if _, ok := open(t).(Ager); ok {
		inTime = aging
	}
	for _, group := range [][]timedCheck{nodeChecks, leaseChecks} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) { inTime(t, open, c) })
		}
	}
	t.Run("OutOfOrder", func(t *testing.T) { checkOutOfOrder(t, open) })
	t.Run("Twin", func(t *testing.T) { checkTwins(t, open) })
}

func bubble(t *testing.T, open opener, c timedCheck) {
	synctest.Test(t, func(t *testing.T) { c.do(t, open(t), time.Sleep) })
}

func aging(t *testing.T, open opener, c timedCheck) {
	s := open(t)
	c.do(t, s, func(d time.Duration) { s.(Ager).Age(t, d) })
}
