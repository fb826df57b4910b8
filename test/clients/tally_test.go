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
	mu     sync.Mutex
	pinned map[string]count // by script
	newest count
	equal  []string // scripts whose pinned versions are the newest
	notes  []string
}

type count struct{ passed, failed int64 }

var (
	checksMade  = regexp.MustCompile(`(?m)^(?:# )?checks: (\d+)$`)
	checkFailed = regexp.MustCompile(`(?m)^not ok `)
)

// countOutput reads the output of a script. A script that fails has at least one failed check.
func countOutput(out string, err error) (c count) {
	for _, found := range checksMade.FindAllStringSubmatch(out, 1) {
		c.passed, _ = strconv.ParseInt(found[1], 10, 64) // digits
	}
	if err != nil {
		c.failed = max(1, int64(len(checkFailed.FindAllString(out, -1))))
		c.passed = max(0, c.passed-c.failed)
	}
	return c
}

// addPinned counts the output of a script with the pinned versions.
func (t *tally) addPinned(script, out string, err error) (checks int64) {
	c := countOutput(out, err)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pinned == nil {
		t.pinned = make(map[string]count)
	}
	t.pinned[script] = t.pinned[script].plus(c)
	return c.passed + c.failed
}

// addNewest counts the output of a script with the newest versions.
func (t *tally) addNewest(out string, err error) (checks int64) {
	c := countOutput(out, err)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newest = t.newest.plus(c)
	return c.passed + c.failed
}

// addEqual counts a script whose pinned versions are the newest: one run counts for both.
func (t *tally) addEqual(script string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.equal = append(t.equal, script)
}

func (c count) plus(d count) count { return count{c.passed + d.passed, c.failed + d.failed} }

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
	print := func(versions string, c count) {
		if c != (count{}) {
			fmt.Fprintf(&b, "%s clients: %d checks passed, %d failed\n", versions, c.passed, c.failed)
		}
	}
	var pinned count
	for _, c := range t.pinned {
		pinned = pinned.plus(c)
	}
	newest := t.newest
	for _, script := range t.equal {
		newest = newest.plus(t.pinned[script])
	}
	print("pinned", pinned)
	print("newest", newest)
	if len(t.equal) > 0 {
		b.WriteString("newest clients: equal to the pinned ones in " + strings.Join(t.equal, ", ") + "\n")
	}
	for _, line := range t.notes {
		b.WriteString("newest clients: " + line + "\n")
	}
	return b.String()
}
