package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ponder/internal/app"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write the golden files")

func TestHelp(t *testing.T) {
	a := &cli{App: &app.App{}, out: io.Discard, log: &logSink{out: io.Discard}, interrupts: &interruptHandler{}}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		t.Run(name, func(t *testing.T) {
			cmd.InitDefaultHelpFlag()
			got, file := helpText(cmd), filepath.Join("testdata", "help", name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Error(d)
			}
			if cmd.Example == "" {
				t.Error("no example")
			}
			if n := len(cmd.Short); n == 0 || n > 60 || strings.HasSuffix(cmd.Short, ".") || strings.HasPrefix(cmd.Short, "The ") {
				t.Errorf("short help %q: want an imperative of at most 60 characters without a period", cmd.Short)
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(a))
}
