package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ponder/internal/app"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestManPages checks that each command has a page with each of its flags, and no line that
// man would take for an unknown macro.
func TestManPages(t *testing.T) {
	a := &cli{App: &app.App{}, out: io.Discard, log: &logSink{out: io.Discard}, interrupts: &interruptHandler{}}
	root, dir := newRoot(a), t.TempDir()
	if err := writeManPages(root, dir, buildVersion{Version: "v1.2.3", Time: "2026-11-26T08:00:00Z"}); err != nil {
		t.Fatal(err)
	}
	macros := strings.Fields(".TH .SH .TP .B .BR .PP .nf .fi")
	pages := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !cmd.IsAvailableCommand() && cmd.HasParent() {
			return
		}
		name := manName(cmd) + ".1"
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		pages++
		page := string(text)
		head := ".TH " + roff(strings.ToUpper(manName(cmd))) + ` 1 "2026-11-26" "ponder v1.2.3" "Ponder"` + "\n.SH NAME\n"
		if !strings.HasPrefix(page, head) {
			t.Errorf("%s begins with %q", name, page[:min(len(page), len(head))])
		}
		for line := range strings.Lines(page) {
			if macro, _, _ := strings.Cut(strings.TrimSpace(line), " "); line[0] == '.' && !strings.Contains(" "+strings.Join(macros, " ")+" ", " "+macro+" ") {
				t.Errorf("%s has the macro %q", name, macro)
			}
		}
		for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
			flags.VisitAll(func(f *pflag.Flag) {
				if shown := strings.Contains(page, `\fB\-\-`+strings.ReplaceAll(f.Name, "-", `\-`)+`\fR`); shown == f.Hidden {
					t.Errorf("%s: --%s shown: %v", name, f.Name, shown)
				}
			})
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != pages || pages < 50 {
		t.Errorf("%d pages of %d commands: %v", len(files), pages, err)
	}
}

func TestManPage(t *testing.T) {
	cmd := &cobra.Command{Use: "try FILE", Short: "Try a file", Long: "Tries it.\n\n.dots and 'quotes' and \\ stay.\n\n  a\n    table", Example: "try -", Run: func(*cobra.Command, []string) {}}
	cmd.Flags().IntP("number", "n", 5, "how many `times`")
	const want = `.TH TRY 1 "" "ponder v1" "Ponder"
.SH NAME
try \- Try a file
.SH SYNOPSIS
.B try FILE [flags]
.SH DESCRIPTION
Tries it.
.PP
\&.dots and 'quotes' and \e stay.
.PP
.nf
  a
    table
.fi
.SH OPTIONS
.TP
\fB\-h\fR, \fB\-\-help\fR
help for try
.TP
\fB\-n\fR, \fB\-\-number\fR \fItimes\fR
how many times (default 5)
.SH EXAMPLES
.nf
try \-
.fi
` + exitStatus
	if got := manPage(cmd, buildVersion{Version: "v1"}); got != want {
		t.Errorf("the page is\n%s\nwant\n%s", got, want)
	}
}
