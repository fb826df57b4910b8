// Package storetest is the conformance suite of [ponder.Store]. Each store's test calls
// [Run].
//
// A store's test may return a store with further methods from open, which enable further
// checks: see [HeartbeatShifter], [SharedStore] and [Delayer].
package storetest

import (
	"testing"
	"testing/synctest"
	"time"

	"ponder"
)

// A HeartbeatShifter is a store that can make all heartbeats older by d. Without it, checks that need
// time to pass run in a bubble of testing/synctest.
type HeartbeatShifter interface {
	Age(t *testing.T, d time.Duration)
}

// A SharedStore is a store that can open another store with the same data, as another process
// would.
type SharedStore interface {
	Twin(t *testing.T) ponder.Store
}

// A Delayer is a store that can delay a commit. A store should implement it if a
// transaction can begin after another and commit before it.
type Delayer interface {
	// DelayCommit makes the transaction of the next append wait before its commit, until
	// release is called. It closes begun when the transaction waits.
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

// Run runs the checks. Open returns an empty store, which the test closes.
func Run(t *testing.T, open func(t *testing.T) ponder.Store) {
	for _, group := range [][]check{logChecks, eraseChecks, followChecks, threadChecks, ledgerChecks} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) { c.do(t, open(t)) })
		}
	}
	inTime := runInBubble
	if _, ok := open(t).(HeartbeatShifter); ok {
		inTime = runAging
	}
	for _, group := range [][]timedCheck{nodeChecks, leaseChecks} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) { inTime(t, open, c) })
		}
	}
	t.Run("OutOfOrder", func(t *testing.T) { checkOutOfOrder(t, open) })
	t.Run("Twin", func(t *testing.T) { checkTwins(t, open) })
}

func runInBubble(t *testing.T, open opener, c timedCheck) {
	synctest.Test(t, func(t *testing.T) { c.do(t, open(t), time.Sleep) })
}

func runAging(t *testing.T, open opener, c timedCheck) {
	s := open(t)
	c.do(t, s, func(d time.Duration) { s.(HeartbeatShifter).Age(t, d) })
}
