package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// killOnPTY kills the program on the terminal as kill -9 does.
func killOnPTY(p *pty, _ string) error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = p.cmd.Wait()
	return nil
}

// checkAnswered checks a log: "answered FILE MESSAGE..." fails unless each message of the log has
// one answer, no message is there twice, and the named messages are there.
func checkAnswered(ts *testscript.TestScript, _ bool, args []string) {
	var messages, open []string
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var ev struct {
			Type    string
			Content string
		}
		ts.Check(json.Unmarshal([]byte(line), &ev))
		switch ev.Type {
		case "user_message":
			if slices.Contains(messages, ev.Content) {
				ts.Fatalf("%q is there twice", ev.Content)
			}
			messages, open = append(messages, ev.Content), append(open, ev.Content)
		case "assistant_message":
			if len(open) == 0 {
				ts.Fatalf("%q answers nothing", ev.Content)
			}
			if number := strings.Fields(open[0])[1]; !strings.HasPrefix(ev.Content, number) {
				ts.Fatalf("%q answers %q", ev.Content, open[0])
			}
			open = open[1:]
		}
	}
	if len(open) > 0 {
		ts.Fatalf("no answer: %q", open)
	}
	for _, want := range args[1:] {
		if !slices.Contains(messages, want) {
			ts.Check(fmt.Errorf("%q is lost", want))
		}
	}
}
