package engine

import (
	"strconv"
	"strings"
)

// attemptCause returns the cause of the nth attempt at an action.
func attemptCause(key string, n int) string { return key + "#" + strconv.Itoa(n) }

// partCause returns the cause of the ith of n events of a Write. Both count from 1.
func partCause(key string, i, n int) string {
	return key + "/" + strconv.Itoa(i) + "." + strconv.Itoa(n)
}

// A cause is the parsed [ponder.Event.Cause] of an event of a run.
type cause struct {
	key     string
	attempt int // of a call or a tool
	i, n    int // of a Write
}

// parseCause parses the results of attemptCause and partCause. It reports false for other
// texts.
func parseCause(s string) (cause, bool) {
	if key, num, ok := strings.Cut(s, "#"); ok {
		n, err := strconv.Atoi(num)
		return cause{key: key, attempt: n}, err == nil && n > 0
	}
	key, nums, _ := strings.Cut(s, "/")
	a, b, _ := strings.Cut(nums, ".")
	i, err1 := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)
	return cause{key: key, i: i, n: n}, err1 == nil && err2 == nil && 0 < i && i <= n
}
