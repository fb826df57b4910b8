package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"ponder/internal/textkit/layout"

	"golang.org/x/term"
)

// cells returns how many cells a line of the terminal has that results are printed to, or
// 0 if they go elsewhere.
func (a *cli) cells() int {
	f, ok := a.paper()
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// table prints rows in columns.
func (a *cli) table(rows [][]string) {
	for _, row := range rows {
		for i := range row {
			row[i] = oneLine(row[i])
		}
	}
	fmt.Fprint(a.out, layout.Columns(rows, a.cells()))
}

// width returns how wide a result may be.
func (a *cli) width() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return min(n, readable)
	}
	if n := a.cells(); n > 0 {
		return min(n, readable)
	}
	return 100
}

// wrap breaks lines that have more than width cells, save commands, which are copied.
func wrap(text string, width int) string {
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		if !strings.HasPrefix(strings.TrimLeft(row, " "), "ponder ") {
			rows[i] = layout.Wrap(row, width)
		}
	}
	return strings.Join(rows, "\n")
}

// printList prints a list, one a line as JSON or as a table; without one, it notes none.
func printList[T any](a *cli, list []T, none string, head []string, row func(T) []string) error {
	if len(list) == 0 {
		a.note("%s", none)
		return nil
	}
	rows := [][]string{head}
	for _, it := range list {
		if !a.flags.json {
			rows = append(rows, row(it))
		} else if err := a.object(it); err != nil {
			return err
		}
	}
	if !a.flags.json {
		a.table(rows)
	}
	return nil
}
