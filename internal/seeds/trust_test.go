package seeds

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// parties are the parties of the table in SECURITY.md, in order. Each has a row.
var parties = []string{
	"user at the terminal", "other local user", "token with scope read", "token with scope think", "token with scope admin",
	"browser that is signed in", "reader of a shared link", "caller that chooses folders",
	"token with remote content", "owner of a server with several owners", "client of another protocol", "model server", "text of a model", "web page", "search engine",
	"document", "mail", "calendar", "feed", "MCP server that reads", "MCP server that writes", "sensor command", "receiver of webhooks",
	"database file", "configuration file in a folder", "environment", "backup file or imported thread", "proxy",
}

const trustHead = "| Party | May cause | May never cause | Mechanism | Test |"

// checkTrust returns the faults of the table of parties.
func checkTrust(text string, findTest, findFile func(string) error) (faults []string) {
	_, table, _ := strings.Cut(text, "\n"+trustHead+"\n"+tableRule+"\n")
	table, _, _ = strings.Cut(table, "\n\n")
	c := tableChecker{findTest: findTest}
	var found []string
	for line := range strings.Lines(table) {
		cells := splitCells(strings.TrimSpace(line))
		if len(cells) != 5 || slices.Contains(cells, "") {
			faults = append(faults, fmt.Sprintf("the row has an empty cell, or not 5 cells: %.40q", line))
			continue
		}
		found = append(found, cells[0])
		for file := range strings.SplitSeq(cells[3], ", ") {
			if err := findFile(file); err != nil {
				faults = append(faults, fmt.Sprintf("%s: %v", cells[0], err))
			}
		}
		faults = append(faults, c.checkTests(cells[0], cells[4])...)
	}
	if !slices.Equal(found, parties) {
		faults = append(faults, fmt.Sprintf("the parties are %q", found))
	}
	return faults
}

func TestTrust(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	findFile := func(name string) error {
		info, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		if err == nil && (!info.Mode().IsRegular() || filepath.Ext(name) != ".go") {
			err = fmt.Errorf("%s is no Go file", name)
		}
		return err
	}
	for _, fault := range checkTrust(string(text), newTestFinder(root).findTest, findFile) {
		t.Errorf("SECURITY.md: %s", fault)
	}
}

func TestCheckTrust(t *testing.T) {
	find := func(name string) error {
		if strings.HasPrefix(name, "gone") {
			return fs.ErrNotExist
		}
		return nil
	}
	table := func(edit func(rows []string) []string) string {
		var rows []string
		for _, party := range parties {
			rows = append(rows, "| "+party+" | a | b | a.go, b.go | a_test.go:TestA |")
		}
		return "# Security\n\n" + trustHead + "\n" + tableRule + "\n" + strings.Join(edit(rows), "\n") + "\n\nText.\n"
	}
	if faults := checkTrust(table(func(rows []string) []string { return rows }), find, find); len(faults) > 0 {
		t.Errorf("%q", faults)
	}
	for name, edit := range map[string]func([]string) []string{
		"no row":    func(rows []string) []string { return rows[1:] },
		"row twice": func(rows []string) []string { return append(rows, rows[0]) },
		"no table":  func([]string) []string { return nil },
		"no test":   func(rows []string) []string { rows[3] = "| token with scope think | a | b | a.go | |"; return rows },
		"gone test": func(rows []string) []string {
			rows[0] = strings.Replace(rows[0], "a_test", "gone_test", 1)
			return rows
		},
		"gone file": func(rows []string) []string { rows[0] = strings.Replace(rows[0], "b.go", "gone.go", 1); return rows },
		"test twice": func(rows []string) []string {
			rows[0] = strings.Replace(rows[0], ":TestA", ":TestA, a_test.go:TestA", 1)
			return rows
		},
		"empty cell":  func(rows []string) []string { rows[5] = strings.Replace(rows[5], "| b |", "| |", 1); return rows },
		"other party": func(rows []string) []string { rows[0] = strings.Replace(rows[0], "user", "guest", 1); return rows },
	} {
		if faults := checkTrust(table(edit), find, find); len(faults) == 0 {
			t.Errorf("%s: no fault", name)
		}
	}
}
