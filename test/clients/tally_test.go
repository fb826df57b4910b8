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
	counts map[string]map[string]count // by "pinned" or "newest", and by script
	equal  []string                    // scripts whose pinned versions are the newest
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

// add counts the output of a script with the pinned or the newest versions.
func (t *tally) add(versions, script, out string, err error) (checks int64) {
	c := countOutput(out, err)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]map[string]count{"pinned": {}, "newest": {}}
	}
	t.counts[versions][script] = t.counts[versions][script].plus(c)
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
	t.line("newest clients: "+format, args...)
}

// line adds a line.
func (t *tally) line(format string, args ...any) {
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
		var sum count
		for _, c := range t.counts[versions] {
			sum = sum.plus(c)
		}
		for _, script := range t.equal {
			if versions == "newest" {
				sum = sum.plus(t.counts["pinned"][script])
			}
		}
		if sum != (count{}) {
			fmt.Fprintf(&b, "%s clients: %d checks passed, %d failed\n", versions, sum.passed, sum.failed)
		}
	}
	if len(t.equal) > 0 {
		b.WriteString("newest clients: equal to the pinned ones in " + strings.Join(t.equal, ", ") + "\n")
	}
	for _, line := range t.notes {
		b.WriteString(line + "\n")
	}
	return b.String()
}
