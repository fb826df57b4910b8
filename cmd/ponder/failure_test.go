package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"ponder/internal/textkit"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/llm"
)

func TestExplain(t *testing.T) {
	refused := func(c llm.Class) error {
		return fmt.Errorf("check: %w", &llm.Error{Class: c, Model: "a/b", Message: "no", Status: 401, Advice: "set A_KEY"})
	}
	tests := []struct {
		name string
		err  error
		code int
		line string
	}{
		{"plain", errors.New("it broke\nbadly\x1b[2J"), exitFailed, "it broke badly"},
		{"usage", usagef("--for: %w", errors.New("no")), exitUsage, "--for: no"},
		{"unknown id", fmt.Errorf("find x: %w", ponder.ErrNoThread), exitUsage, "find x: no such thread"},
		{"no key", fmt.Errorf("slow model: %w", config.ErrNoKey), exitNotReady, "slow model: no key"},
		{"wrong base URL", fmt.Errorf("slow model: %w", config.ErrInvalidSetting), exitUsage, "slow model: invalid setting"},
		{"wrong key", refused(llm.Auth), exitNotReady, "check: a/b: no (401): set A_KEY"},
		{"no such model", refused(llm.NotFound), exitNotReady, "check: a/b: no (401): set A_KEY"},
		{"server trouble", refused(llm.Transient), exitFailed, "check: a/b: no (401): set A_KEY"},
		{"full disk", fmt.Errorf("append: %w", ponder.ErrFull), exitFailed, "append: disk is full: free some space and try again"},
		{"read-only", ponder.ErrReadOnly, exitFailed, "database is read-only: make it writable, or name another with --db"},
		{"newer", ponder.ErrNewer, exitFailed, "database was created by a newer version: update ponder"},
		{"unwritable settings", fmt.Errorf("%w: %w", config.ErrWrite, fs.ErrPermission), exitFailed, "write configuration: permission denied: make it writable, or name another with --config"},
		{"read-only database", fmt.Errorf("open a.db: %w", ponder.ErrReadOnly), exitFailed, "open a.db: database is read-only: make it writable, or name another with --db"},
		{"interrupted", fmt.Errorf("read: %w", context.Canceled), exitInterrupted, ""},
		{"paused", failure{code: exitIncomplete}, exitIncomplete, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, line := explainError(tt.err, &cli{App: &app.App{}})
			if code != tt.code || line != tt.line {
				t.Errorf("%d %q, want %d %q", code, line, tt.code, tt.line)
			}
		})
	}
}

func TestBroken(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		code int
		says string
	}{
		{"full disk", t.Context(), fmt.Errorf("append thought: %w", ponder.ErrFull), exitIncomplete, "paused: the disk is full; free some space, then: ponder session resume thr_1"},
		{"read-only", t.Context(), ponder.ErrReadOnly, exitIncomplete, "paused: cannot write the database; make it writable, then: ponder session resume thr_1"},
		{"disk error", t.Context(), fmt.Errorf("join the store: %w", ponder.ErrDisk), exitIncomplete, "paused: cannot write the database: disk error; repair the disk, then: ponder session resume thr_1"},
		{"removed", t.Context(), fmt.Errorf("take thr_1: %w", ponder.ErrRemoved), exitFailed, "session thr_1 was removed while it was running"},
		{"lost", t.Context(), errors.Join(ponder.ErrLost, ponder.ErrLost), exitFailed, "p.db: " + ponder.ErrLost.Error()},
		{"damaged", t.Context(), errors.Join(ponder.ErrDamaged, ponder.ErrDamaged), exitFailed, "p.db: " + ponder.ErrDamaged.Error()},
		{"taken over", t.Context(), ponder.ErrFenced, exitIncomplete, "another process runs this session; to watch it: ponder session watch thr_1"},
		{"trouble", t.Context(), errors.New("odd"), exitIncomplete, "paused: odd; to continue: ponder session resume thr_1"},
		{"stopped", done, context.Canceled, exitInterrupted, "context canceled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			w := &sessionScreen{cli: &cli{App: &app.App{Settings: &config.Config{DB: "p.db"}}, log: &logSink{out: &log}}, SessionView: app.SessionView{Id: "thr_1"}}
			err := w.explainInterruption(tt.ctx, tt.err)
			if exitCodeOf(err) != tt.code || err.Error() != tt.says {
				t.Errorf("%d %q, want %d %q", exitCodeOf(err), err, tt.code, tt.says)
			}
		})
	}
}

func TestSuggest(t *testing.T) {
	words := []string{"think", "session", "--for", "--docs", "--cost", "models.fast"}
	for in, want := range map[string]string{
		"tihnk": "did you mean think? ", "sess": "did you mean session? ", "--fro": "did you mean --for? ", "models.fats": "did you mean models.fast? ",
		"xyzzy": "", "--nope": "", "--csot": "did you mean --cost? ", "": "", "THINK": "did you mean think? ",
	} {
		if got := textkit.Suggest(in, words); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestCountOf(t *testing.T) {
	for in, want := range map[string]int{"200k": 200_000, "1_000": 1000, "3M": 3_000_000, "1,500": 1500, "7": 7, "0": 0, "-1": 0, "1.5k": 0, "": 0, "k": 0, "2000M": 0} {
		got, err := parseCount(in, config.MaxTokens)
		if (err == nil) != (want > 0) || want > 0 && got != want {
			t.Errorf("%q: %d, %v; want %d", in, got, err, want)
		}
	}
}

func FuzzPrefix(f *testing.F) {
	f.Add("thr_01m7")
	f.Add("last")
	f.Fuzz(func(t *testing.T, name string) {
		if got := app.IDPrefix(name); got != "" && (!strings.HasPrefix(got, "thr_") || len(got) > 40) {
			t.Errorf("%q: %q", name, got)
		}
		if _, err := parseCount(name, 100); err == nil && strings.TrimSpace(name) == "" {
			t.Errorf("%q is a number", name)
		}
	})
}

func TestCommand(t *testing.T) {
	for _, tt := range []struct{ db, config, want string }{
		{"", "", "ponder session resume thr_1"},
		{"/x/p.db", "", "ponder session resume thr_1 --db /x/p.db"},
		{"my notes/it's.db", "c.toml", `ponder session resume thr_1 --db 'my notes/it'\''s.db' --config c.toml`},
	} {
		a := &cli{App: app.New(app.Options{DB: tt.db, Config: tt.config})}
		if got := a.formatCommand("session resume", "thr_1"); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestPlainly(t *testing.T) {
	read := fmt.Errorf("read thr_1: %w", fmt.Errorf("read thr_1: %w", ponder.ErrDamaged))
	for _, tt := range []struct {
		err  error
		want string
	}{
		{read, "read thr_1: database is damaged"},
		{errors.Join(read, read), "read thr_1: database is damaged"},
		{errors.Join(read, errors.New("a: b: a")), "read thr_1: database is damaged a: b: a"},
		{errors.New("line 1\n\n  line 2\n"), "line 1 line 2"},
	} {
		if got := flattenError(tt.err); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.err, got, tt.want)
		}
	}
}

// An answer without the requested model is incomplete, unless no model was configured.
func TestWithoutModel(t *testing.T) {
	for _, tt := range []struct {
		name    string
		class   llm.Class
		refused bool
		code    int
	}{
		{"no answer that can be read", "", false, exitIncomplete},
		{"the account is empty", llm.Payment, false, exitNotReady},
		{"the budget is spent", llm.Payment, true, exitIncomplete},
		{"no model for the role", llm.NotFound, true, exitNotReady},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &sessionScreen{failureClass: tt.class, budgetRefused: tt.refused}
			if err := w.noModelError(); exitCodeOf(err) != tt.code {
				t.Errorf("code %d, want %d: %v", exitCodeOf(err), tt.code, err)
			}
		})
	}
}
