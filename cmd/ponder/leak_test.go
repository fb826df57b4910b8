package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/racetest"
	"ponder/mode/subconscious"
	"ponder/store/sqlite"
)

// secret is in all internal text.
const secret = "SECRET-MARK"

// TestLeaks runs testdata/leak/*.txt. It adds to the commands of TestScripts:
//
//	scan FILE [FLAG]...   runs the commands in the file, one a line, with the flags, and
//	                      fails if one prints internal text
//	told FILE             is scan, but fails if a command does not
//	covers FILE...        fails if a command is in none of the files
//	minds                 gives the owner a subconscious with a secret entry
//	escalates             has it escalate a secret
func TestLeaks(t *testing.T) {
	racetest.Skip(t, "hundreds of commands, one after another")
	p := scriptParams("testdata/leak")
	p.Cmds["scan"] = func(ts *testscript.TestScript, _ bool, args []string) { cmdScan(ts, args[0], args[1:], false) }
	p.Cmds["told"] = func(ts *testscript.TestScript, _ bool, args []string) { cmdScan(ts, args[0], args[1:], true) }
	p.Cmds["covers"] = cmdCovers
	p.Cmds["minds"] = func(ts *testscript.TestScript, _ bool, _ []string) {
		addMindEvents(ts, "Anna waits for the report "+secret)
	}
	p.Cmds["escalates"] = func(ts *testscript.TestScript, _ bool, _ []string) {
		addMindEvents(ts, "", ponder.Escalation{ID: "esc_1", Content: secret}, ponder.Escalation{ID: "esc_1", Content: secret, Outcome: "message"})
	}
	testscript.Run(t, p)
}

// cmdScan runs commands, each with standard input after a <, where \n ends a line.
func cmdScan(ts *testscript.TestScript, file string, flags []string, want bool) {
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
		_ = ts.Exec(args[0], args[1:]...) // successful or not, it must print nothing secret
		shown := ts.ReadFile("stdout") + ts.ReadFile("stderr")
		if strings.Contains(shown, secret) != want {
			ts.Fatalf("ponder %s %s shows thoughts: %v, want %v:\n%s", line, strings.Join(flags, " "), !want, want, shown)
		}
	}
}

// cmdCovers fails if a command is in none of the files.
func cmdCovers(ts *testscript.TestScript, _ bool, files []string) {
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
			ts.Fatalf("ponder %sis not covered", name)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&cli{App: &app.App{}, out: io.Discard, log: &logSink{out: io.Discard}, interrupts: &interruptHandler{}}))
}

func addMindEvents(ts *testscript.TestScript, entry string, more ...ponder.Body) {
	file := ""
	ts.Check(filepath.WalkDir(ts.MkAbs("."), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "ponder.db" {
			file = path
		}
		return err
	}))
	ctx := context.Background()
	store, err := sqlite.Open(ctx, file)
	ts.Check(err)
	defer store.Close()
	thread := ponder.Thread{ID: subconscious.ThreadOf(app.LocalOwner), Kind: ponder.KindSubconscious, Owner: app.LocalOwner}
	var evs []ponder.Event
	for ev, err := range store.Events(ctx, thread.ID, 0) {
		if errors.Is(err, ponder.ErrNoThread) {
			break
		}
		ts.Check(err)
		evs = append(evs, ev)
	}
	if len(evs) > 0 { // only the holder may append; there is none
		ts.Check(store.Remove(ctx, thread.ID))
	}
	if entry != "" {
		evs = append(evs, ponder.Event{Body: stateWithEntry(entry)})
	}
	for _, b := range more {
		evs = append(evs, ponder.Event{Body: b})
	}
	for i := range evs {
		evs[i].Thread, evs[i].Seq = "", 0
	}
	ts.Check(store.Create(ctx, thread, evs...))
}

func stateWithEntry(entry string) ponder.Subconscious {
	s := subconscious.NewState()
	now := time.Now().Add(20 * time.Minute)
	s.Internal.Decayed = now
	s.ActiveThreads = []subconscious.Entry{{ID: "e1", Summary: entry, Strength: 10, Created: now, LastSeen: now}}
	js, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return ponder.Subconscious{State: js, Tick: 1}
}
