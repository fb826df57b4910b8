package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

// secret is in all that models think and do not say.
const secret = "SECRET-MARK"

// TestLeaks runs testdata/leak/*.txt. Beside the commands of TestScripts, there are
//
//	scan FILE [FLAG]...   runs the commands in the file, a line each, with the flags, and
//	                      fails if one shows what was thought and not said
//	told FILE             the same, and fails if one does not
//	covers FILE...        fails if there is a command that is in none of the files
func TestLeaks(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of commands, which the race detector makes slow: the long run has them")
	}
	p := scripts("testdata/leak")
	p.Cmds["scan"] = func(ts *testscript.TestScript, _ bool, args []string) { scan(ts, args[0], args[1:], false) }
	p.Cmds["told"] = func(ts *testscript.TestScript, _ bool, args []string) { scan(ts, args[0], args[1:], true) }
	p.Cmds["covers"] = covers
	testscript.Run(t, p)
}

// scan runs commands, each with its standard input after a <, where \n ends a line.
func scan(ts *testscript.TestScript, file string, flags []string, want bool) {
	for line := range strings.Lines(ts.ReadFile(file)) {
		line, input, typed := strings.Cut(strings.TrimSpace(line), " < ")
		if line == "" {
			continue
		}
		args := append(strings.Fields(line), flags...)
		if typed {
			if err := os.WriteFile(ts.MkAbs("typed"), []byte(strings.ReplaceAll(input, `\n`, "\n")), 0o600); err != nil {
				ts.Fatalf("%v", err)
			}
			args = append([]string{"sh", "-c", `exec "$@" < typed`, "sh"}, append([]string{"ponder"}, args...)...)
		} else {
			args = append([]string{"ponder"}, args...)
		}
		_ = ts.Exec(args[0], args[1:]...) // refused or not, nothing must be shown
		shown := ts.ReadFile("stdout") + ts.ReadFile("stderr")
		if strings.Contains(shown, secret) != want {
			ts.Fatalf("ponder %s %s shows what was thought: %v, want %v:\n%s", line, strings.Join(flags, " "), !want, want, shown)
		}
	}
}

// covers fails if there is a command that is in none of the files.
func covers(ts *testscript.TestScript, _ bool, files []string) {
	var lines []string
	for _, file := range files {
		for line := range strings.Lines(ts.ReadFile(file)) {
			lines = append(lines, strings.TrimSpace(line)+" ")
		}
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := strings.TrimPrefix(cmd.CommandPath(), "ponder ") + " "
		if !cmd.HasSubCommands() && !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, name) }) {
			ts.Fatalf("ponder %sis not looked at", name)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&app{out: io.Discard, log: &logSink{out: io.Discard}, brake: &brake{}}))
}
