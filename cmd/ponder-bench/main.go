// Command bench measures Ponder's engine against the ideal over the wire: a simulated model server
// in its own process, a database file, real sessions. It prints a table and writes JSON. No figure
// makes it fail.
//
//	go run ./cmd/ponder-bench                 everything
//	go run ./cmd/ponder-bench -only 1000      the scenarios whose names contain 1000
//	go run ./cmd/ponder-bench -json out.json
//	go run ./cmd/ponder-bench -only "serving: an hour" -for 10m
//
// Files: scenario.go lists the scenarios, load.go runs sessions, meter.go measures, sim.go starts
// the server. For memory: data.go reads optional test collections, ranking.go ranks them,
// conversing.go searches conversations, extraction.go reads pages, remembering.go measures speed.
// For research: conflicts.go has contradicting sources, copies.go duplicated texts. For `ponder
// serve`: serving.go starts a server, serving_*.go query it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"text/tabwriter"
	"time"

	"ponder/internal/fileio"
	"ponder/internal/process"
)

func main() {
	defer process.RelaxGC()() // as ponder serve does
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run measures and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	var lasts time.Duration
	fs.DurationVar(&lasts, "for", time.Hour, "`duration` of scenarios that run only on request: give the whole name with -only")
	only := fs.String("only", "", "measure only scenarios with `text` in the name")
	out := fs.String("json", "", "write the figures also to `file`")
	one := fs.String("one", "", "measure one scenario in this process and print JSON (for bench itself)")
	sim := fs.Bool("sim", false, "run the simulated server (for bench itself)")
	relay := fs.Bool("relay", false, "run the server that only forwards (for bench itself)")
	profile := fs.String("cpuprofile", "", "write a CPU profile of each scenario to `file`")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	var err error
	switch {
	case *sim:
		err = serveSim(ctx, os.Stdin, stdout)
	case *relay:
		err = serveRelay(ctx, os.Stdin, stdout)
	case *one != "":
		err = measureOne(ctx, *one, *profile, lasts, stdout)
	default:
		err = runScenarios(ctx, *only, *out, *profile, lasts, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return 1
	}
	return 0
}

// runScenarios runs each scenario in a new process.
func runScenarios(ctx context.Context, only, out, profile string, lasts time.Duration, stdout, stderr io.Writer) error {
	var results []result
	for _, s := range scenarios {
		if !strings.Contains(s.name, only) || s.long != nil && s.name != only {
			continue
		}
		fmt.Fprintf(stderr, "%s...\n", s.name)
		cmd := exec.CommandContext(ctx, os.Args[0], "-one", s.name, "-cpuprofile", profile, "-for", lasts.String())
		cmd.Stderr = stderr
		js, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		var r result
		if err := json.Unmarshal(js, &r); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		results = append(results, r)
	}
	printResults(stdout, results)
	if out == "" {
		return nil
	}
	js, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return fileio.WriteShared(out, append(js, '\n'))
}

func printResults(w io.Writer, results []result) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "scenario\tfigure\tmeasured\tgoal\t")
	for _, r := range results {
		for _, f := range r.Figures {
			goal, mark := "-", ""
			if f.Goal > 0 {
				goal = fmt.Sprintf("<= %.4g", f.Goal)
				if f.Value > f.Goal {
					mark = "over"
				}
				if f.Minimum {
					goal, mark = fmt.Sprintf(">= %.4g", f.Goal), ""
					if f.Value < f.Goal {
						mark = "under"
					}
				}
			}
			fmt.Fprintf(t, "%s\t%s\t%.4g %s\t%s\t%s\n", r.Scenario, f.Name, f.Value, f.Unit, goal, mark)
		}
	}
	t.Flush()
}

type result struct {
	Scenario string   `json:"scenario"`
	Figures  []figure `json:"figures"`
}

// A figure is a measured value. The Goal is a maximum, or a minimum if Least; zero means no goal.
type figure struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit,omitempty"`
	Goal    float64 `json:"goal,omitempty"`
	Minimum bool    `json:"at_least,omitempty"` // the goal is a minimum
}
