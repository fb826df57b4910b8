// Package seeds checks the tables that name tests: the statements of Ponder's seeds in docs/seeds.md, and
// the parties in SECURITY.md.
package seeds

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// minStatements is the minimum number of statements. At zero, sections may still be empty.
const minStatements = 200

func TestSeeds(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "seeds.md"))
	if err != nil {
		t.Fatal(err)
	}
	faults, n := checkTable(string(text), newTestFinder(root).findTest)
	for _, fault := range faults {
		t.Errorf("docs/seeds.md: %s", fault)
	}
	if n < minStatements {
		t.Errorf("docs/seeds.md has %d statements, fewer than %d", n, minStatements)
	}
	if empty := emptySections(string(text)); minStatements > 0 && len(empty) > 0 {
		t.Errorf("docs/seeds.md has no statements of %q", empty)
	}
}

func newTable(rows map[string]string) string {
	var b strings.Builder
	b.WriteString("# Seeds\n\nA - list, and | a bar.\n")
	for _, s := range statementSections {
		b.WriteString("\n## " + s.title + "\n\n" + tableHead + "\n" + tableRule + "\n" + rows[s.letters])
	}
	return b.String()
}

func TestCheckTable(t *testing.T) {
	find := func(reference string) error {
		if strings.HasPrefix(reference, "known_test.go:Test") {
			return nil
		}
		return errors.New(reference + " does not exist")
	}
	const one = "| TH1 | It thinks. | holds | known_test.go:TestA | |\n"
	good := map[string]string{
		"TH": one + "| TH2 | It has `a\\|b`. | differs | known_test.go:TestA, known_test.go:TestB | Ponder is faster. |\n",
		"TA": "| TA1 | It notices. | holds | known_test.go:TestA | A note. |\n",
	}
	if faults, n := checkTable(newTable(good), find); len(faults) > 0 || n != 3 {
		t.Errorf("%d statements, %q", n, faults)
	}
	if got := emptySections(newTable(good)); len(got) != 3 || got[0] != "deep_think" {
		t.Errorf("empty sections: %q", got)
	}
	for name, tt := range map[string]struct{ rows, want string }{
		"no test":             {"| TH1 | It thinks. | holds | | |\n", "TH1 has no test"},
		"unknown test":        {"| TH1 | It thinks. | holds | gone_test.go:TestA | |\n", "gone_test.go:TestA does not exist"},
		"second test unknown": {"| TH1 | It thinks. | holds | known_test.go:TestA, gone_test.go:TestA | |\n", "gone_test.go:TestA does not exist"},
		"wrong separator":     {"| TH1 | It thinks. | holds | known_test.go:TestA,gone_test.go:TestA | |\n| TH1 | |\n", "instead of 5"},
		"test twice":          {"| TH1 | It thinks. | holds | known_test.go:TestA, known_test.go:TestA | |\n", "names a test twice"},
		"no reason":           {"| TH1 | It thinks. | differs | known_test.go:TestA | |\n", "TH1 differs without a reason"},
		"no state":            {"| TH1 | It thinks. | | known_test.go:TestA | |\n", `the state is ""`},
		"another state":       {"| TH1 | It thinks. | Holds | known_test.go:TestA | |\n", `the state is "Holds"`},
		"no statement":        {"| TH1 | | holds | known_test.go:TestA | |\n", "no statement of its own"},
		"statement twice":     {one + "| TH2 | It thinks. | holds | known_test.go:TestB | |\n", "no statement of its own: TH1"},
		"number twice":        {one + "| TH1 | It rests. | holds | known_test.go:TestA | |\n", `"TH1" instead of TH2`},
		"gap":                 {one + "| TH3 | It rests. | holds | known_test.go:TestA | |\n", `"TH3" instead of TH2`},
		"another section":     {"| DT1 | It thinks. | holds | known_test.go:TestA | |\n", `"DT1" instead of TH1`},
		"few cells":           {"| TH1 | It thinks. | holds | known_test.go:TestA |\n", "4 cells"},
		"many cells":          {"| TH1 | It | thinks. | holds | known_test.go:TestA | |\n", "6 cells"},
		"cut row":             {"| TH1 | It thinks. | holds | known_test.go:TestA | it\n", "0 cells"},
		"outside":             {one + "\nText.\n\n| TH2 | It rests. | holds | known_test.go:TestA | |\n", "in no table"},
		"section twice":       {one + "\n## think\n", "is not the next section"},
	} {
		t.Run(name, func(t *testing.T) {
			faults, _ := checkTable(newTable(map[string]string{"TH": tt.rows}), find)
			if !strings.Contains(strings.Join(faults, "\n"), tt.want) {
				t.Errorf("%q, not %q", faults, tt.want)
			}
		})
	}
	cut, _, _ := strings.Cut(newTable(good), "\n## Thinking Agents")
	if faults, _ := checkTable(cut, find); len(faults) != 1 || !strings.Contains(faults[0], `"Thinking Agents" is missing`) {
		t.Errorf("without a section: %q", faults)
	}
	if faults, _ := checkTable(one+newTable(nil), find); len(faults) != 1 {
		t.Errorf("row before the first section: %q", faults)
	}
}
