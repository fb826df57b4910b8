package clients

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// tallies counts the checks of all clients, for the end of the output.
var tallies tally

// A tally counts checks by the versions of the clients.
type tally struct {
	mu    sync.Mutex
	count map[string]*count
	notes []string
}

type count struct{ passed, failed int64 }

var (
	checksMade  = regexp.MustCompile(`(?m)^(?:# )?checks: (\d+)$`)
	checkFailed = regexp.MustCompile(`(?m)^not ok `)
)

// add counts the output of a script, and returns its checks.
func (t *tally) add(versions, out string, err error) (checks int64) {
	for _, found := range checksMade.FindAllStringSubmatch(out, 1) {
		checks, _ = strconv.ParseInt(found[1], 10, 64) // digits
	}
	failed := int64(0)
	if err != nil {
		failed = max(1, int64(len(checkFailed.FindAllString(out, -1))))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == nil {
		t.count = make(map[string]*count)
	}
	one := t.count[versions]
	if one == nil {
		one = &count{}
		t.count[versions] = one
	}
	one.passed, one.failed = one.passed+max(0, checks-failed), one.failed+failed
	return checks
}

// note adds a line about the newest versions.
func (t *tally) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// String returns a line for the pinned and the newest clients.
func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, versions := range []string{"pinned", "newest"} {
		if c := t.count[versions]; c != nil {
			fmt.Fprintf(&b, "%s clients: %d checks passed, %d failed\n", versions, c.passed, c.failed)
		}
	}
	for _, line := range t.notes {
		b.WriteString("newest clients: " + line + "\n")
	}
	return b.String()
}
