package seeds

import (
	"fmt"
	"slices"
	"strings"
)

// statementSections are the sections of docs/seeds.md in order, with the letters of their numbers.
var statementSections = []struct{ title, letters string }{
	{"think", "TH"}, {"deep_think", "DT"}, {"Extended Thinking", "ET"}, {"Deep Think Mode", "DM"}, {"Thinking Agents", "TA"},
}

const (
	tableHead = "| No. | Statement | State | Test | Difference and reason |"
	tableRule = "|---|---|---|---|---|"
)

// A tableChecker collects the faults of a table of statements.
type tableChecker struct {
	findTest   func(reference string) error
	section    int // index of the current section; -1 before the first
	inTable    bool
	counts     map[string]int    // by letters
	statements map[string]string // by text: number
	faults     []string
}

// checkTable returns the faults of a table and the number of its statements. It resolves each
// reference to a test with findTest.
func checkTable(text string, findTest func(reference string) error) (faults []string, statements int) {
	c := tableChecker{findTest: findTest, section: -1, counts: make(map[string]int), statements: make(map[string]string)}
	for i, line := range strings.Split(text, "\n") {
		for _, fault := range c.checkLine(strings.TrimSpace(line)) {
			c.faults = append(c.faults, fmt.Sprintf("line %d: %s", i+1, fault))
		}
	}
	if n := c.section + 1; n < len(statementSections) {
		c.faults = append(c.faults, fmt.Sprintf("the section %q is missing", statementSections[n].title))
	}
	for _, n := range c.counts {
		statements += n
	}
	return c.faults, statements
}

// emptySections returns the titles of the sections without statements.
func emptySections(text string) (titles []string) {
	for _, s := range statementSections {
		if !strings.Contains(text, "\n| "+s.letters+"1 |") {
			titles = append(titles, s.title)
		}
	}
	return titles
}

func (c *tableChecker) checkLine(line string) []string {
	title, isTitle := strings.CutPrefix(line, "## ")
	switch {
	case isTitle:
		c.section++
		c.inTable = false
		if c.section >= len(statementSections) || statementSections[c.section].title != title {
			return []string{fmt.Sprintf("%q is not the next section", title)}
		}
	case line == tableHead:
	case line == tableRule:
		c.inTable = true
	case strings.HasPrefix(line, "|"):
		return c.checkRow(line)
	case line != "":
		c.inTable = false
	}
	return nil
}

func (c *tableChecker) checkRow(line string) (faults []string) {
	if !c.inTable || c.section < 0 || c.section >= len(statementSections) {
		return []string{"the row is in no table of a section"}
	}
	cells := splitCells(line)
	if len(cells) != 5 {
		return []string{fmt.Sprintf("the row has %d cells instead of 5", len(cells))}
	}
	letters := statementSections[c.section].letters
	c.counts[letters]++
	number, statement, state, tests, reason := cells[0], cells[1], cells[2], cells[3], cells[4]
	if want := fmt.Sprint(letters, c.counts[letters]); number != want {
		faults = append(faults, fmt.Sprintf("the number is %q instead of %s", number, want))
	}
	if other := c.statements[statement]; statement == "" || other != "" {
		faults = append(faults, fmt.Sprintf("%s has no statement of its own: %s", number, other))
	}
	c.statements[statement] = number
	switch {
	case state != "holds" && state != "differs":
		faults = append(faults, fmt.Sprintf("%s: the state is %q instead of holds or differs", number, state))
	case state == "differs" && reason == "":
		faults = append(faults, number+" differs without a reason")
	}
	return append(faults, c.checkTests(number, tests)...)
}

func (c *tableChecker) checkTests(number, tests string) (faults []string) {
	if tests == "" {
		return []string{number + " has no test"}
	}
	list := strings.Split(tests, ", ")
	for i, reference := range list {
		if err := c.findTest(reference); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", number, err))
		}
		if slices.Contains(list[:i], reference) {
			faults = append(faults, number+" names a test twice")
		}
	}
	return faults
}

// splitCells splits a row at its bars, except for those after a backslash.
func splitCells(line string) (cells []string) {
	cell := ""
	for i, r := range line {
		if r != '|' || i > 0 && line[i-1] == '\\' {
			cell += string(r)
			continue
		}
		cells = append(cells, strings.TrimSpace(cell))
		cell = ""
	}
	if strings.TrimSpace(cell) != "" || len(cells) == 0 {
		return nil
	}
	return cells[1:]
}
