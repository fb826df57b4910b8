package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"ponder"
	"ponder/internal/steering"
	"ponder/internal/textkit"
	"ponder/internal/tui"
)

func steerVerbs() []commandUsage {
	return []commandUsage{
		{"add", "QUESTION", "think about this too; add 9 QUESTION says how urgent it is, from 1 to 10"},
		{"drop", "q3", "leave out a question"},
		{"rank", "q3 9", "how urgent a question is, from 1 to 10"},
		{"correct", "FACT", "hold this for true, whatever was thought"},
		{"pin", "SOURCE", "prefer a file, a folder, a URL or a quotation such as e7"},
		{"ban", "SOURCE", "leave out a source from now on"},
		{"for", "30m", "time to think in all; +10m is so much more"},
		{"calls", "100", "most calls in all; +20 is so many more"},
		{"tokens", "50k", "most tokens in all; +10k is so many more"},
		{"cost", "0.50", "most US dollars in all; +0.25 is so many more"},
		{"answer", "", "stop thinking, and answer from what there is"},
		{"undo", "", "revert the newest change"},
	}
}

// lineCommands returns the commands that the view lists for the steering line.
func lineCommands() (list []tui.LineCommand) {
	for _, v := range steerVerbs() {
		list = append(list, tui.LineCommand{Usage: v.usageText(), About: v.description})
	}
	return append(list, tui.LineCommand{Usage: "QUESTION?", About: "a line that ends in ? adds a question"},
		tui.LineCommand{Usage: "SENTENCE", About: "any change in plain words, such as: focus on costs, and ten more minutes"})
}

func findVerb(name string) (commandUsage, bool) {
	for _, v := range steerVerbs() {
		if strings.EqualFold(v.name, name) {
			return v, true
		}
	}
	return commandUsage{}, false
}

// readSteer parses a line: a verb and its value, or a question to add.
func readSteer(line string) (f steerFlags, err error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	v, ok := findVerb(name)
	rest = strings.TrimSpace(rest)
	switch {
	case !ok && strings.HasSuffix(strings.TrimSpace(line), "?"):
		v, rest = commandUsage{name: "add"}, line
	case !ok:
		return f, fmt.Errorf("unknown command %q; use one of: %s", truncate(oneLine(name), 20), strings.Join(verbNames(steerVerbs()), ", "))
	case v.argument == "" && rest != "":
		return f, fmt.Errorf("%s takes nothing", v.name)
	case v.argument != "" && rest == "":
		return f, fmt.Errorf("say %s: %s", v.usageText(), v.description)
	}
	flag := v.name
	switch v.name {
	case "rank":
		i := strings.LastIndexAny(rest, " =")
		if i < 0 {
			return f, errors.New("say which question and how urgent it is: rank q3 9")
		}
		rest = strings.TrimSpace(rest[:i]) + "=" + rest[i+1:]
	case "answer":
		flag, rest = "answer-now", "true"
	case "undo":
		return f, f.addUndo("true")
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.addFlags(flags)
	priority := ""
	if ok && v.name == "add" {
		priority, rest = leadingPriority(rest)
	}
	if err := flags.Lookup(flag).Value.Set(rest); err != nil {
		return f, fmt.Errorf("%s: %w", v.name, err)
	}
	if priority != "" {
		return f, f.setPriority(priority)
	}
	return f, nil
}

// leadingPriority splits a leading priority from a question. A number alone is a question.
func leadingPriority(text string) (priority, question string) {
	first, rest, _ := strings.Cut(text, " ")
	if _, err := parsePriority(first); err != nil || strings.TrimSpace(rest) == "" {
		return "", text
	}
	return first, strings.TrimSpace(rest)
}

func parsePriority(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < steering.MinPriority || n > steering.MaxPriority {
		return 0, fmt.Errorf("%q is no priority from %d to %d", textkit.Truncate(text, 20), steering.MinPriority, steering.MaxPriority)
	}
	return n, nil
}

func verbNames(list []commandUsage) (out []string) {
	for _, v := range list {
		out = append(out, v.name)
	}
	return out
}

func hintSteer(line string, questions []tui.Branch) tui.Hint {
	name, rest, spaced := strings.Cut(strings.TrimLeft(line, " "), " ")
	if v, ok := findVerb(name); ok && spaced {
		if v.name == "drop" || v.name == "rank" {
			return hintQuestion(v, strings.TrimLeft(rest, " "), questions)
		}
		return tui.Hint{Text: v.inputHint().Text}
	}
	var fit []commandUsage
	for _, v := range steerVerbs() {
		if strings.HasPrefix(v.name, strings.ToLower(name)) {
			fit = append(fit, v)
		}
	}
	switch {
	case name == "":
		return tui.Hint{Text: verbUsages(fit) + " · ? explains · esc leaves"}
	case spaced || len(fit) == 0:
		return tui.Hint{Text: "a question that ends in ? is added; any sentence works; or begin with: " + strings.Join(verbNames(steerVerbs()), " ")}
	case len(fit) == 1:
		return fit[0].inputHint()
	}
	return tui.Hint{Text: verbUsages(fit)}
}

func verbUsages(list []commandUsage) string {
	var out []string
	for _, v := range list {
		out = append(out, v.usageText())
	}
	return strings.Join(out, " · ")
}

func hintQuestion(v commandUsage, typed string, questions []tui.Branch) tui.Hint {
	id, _, spaced := strings.Cut(typed, " ")
	var fit []tui.Branch
	for _, q := range questions {
		open := q.State == tui.Waiting || q.State == tui.Active
		if open && (strings.EqualFold(q.ID, id) || !spaced && strings.HasPrefix(strings.ToLower(q.ID), strings.ToLower(id))) {
			fit = append(fit, q)
		}
	}
	switch {
	case len(fit) == 0:
		return tui.Hint{Text: v.inputHint().Text}
	case spaced:
		return tui.Hint{Text: fit[0].ID + " " + fit[0].Mark + "  " + oneLine(fit[0].Text)}
	}
	var out []string
	for _, q := range fit[:min(len(fit), 8)] {
		out = append(out, q.ID+" "+truncate(oneLine(q.Text), 40))
	}
	h := tui.Hint{Text: strings.Join(out, " · ")}
	if len(fit) == 1 {
		if h.Complete = v.name + " " + fit[0].ID; v.name == "rank" {
			h.Complete += " "
		}
	}
	return h
}

// Keys of the live view beyond those of every view.
const (
	pauseKey  = "p"
	steerKey  = "s"
	answerKey = "a"
	detachKey = "d"
)

// keyControls returns the meaning of the keys, for a session of this or of another process.
func keyControls(here bool) []tui.Control {
	detach := "go on in the background, and print the command that looks on"
	if !here {
		detach = "leave; it goes on without you"
	}
	return []tui.Control{
		{Key: pauseKey, Name: "pause", About: "pause; again: go on", Rank: 0},
		{Key: steerKey, Name: "steer", About: "add, drop or rank questions, correct a fact, change limits", Prompt: "steer> ", Rank: 3},
		{Key: answerKey, Name: "answer now", About: "stop thinking, and answer from what there is", Ask: "Stop thinking, and answer from what there is?", Rank: 1},
		{Key: detachKey, Name: "detach", About: detach, Rank: 4},
	}
}

type keyContext struct {
	status     ponder.Status
	here       bool // this process thinks, or does so on resume
	launching  bool
	concluding bool
}

type keyAction int

const (
	actionNone keyAction = iota
	actionPause
	actionPauseAndLeave
	actionResume
	actionAnswer
	actionAnswerAndResume
	actionSteer
	actionDetach
	actionLeave
)

func decideKeyAction(p tui.Press, st keyContext) (do keyAction, why string) {
	switch {
	case st.status.Ended():
		return actionNone, "the session has ended"
	case p.Key == tui.Interrupt && st.here && st.status == ponder.Thinking:
		return actionPauseAndLeave, ""
	case p.Key == tui.Interrupt:
		return actionLeave, ""
	case st.launching:
		return actionNone, "a process is being started that goes on"
	}
	paused := st.status == ponder.Paused
	switch p.Key {
	case pauseKey:
		if paused {
			return actionResume, ""
		}
		return actionPause, ""
	case steerKey:
		return actionSteer, ""
	case answerKey:
		switch {
		case paused:
			return actionAnswerAndResume, ""
		case st.concluding:
			return actionNone, "the answer is being written already"
		}
		return actionAnswer, ""
	case detachKey:
		if st.here && !paused {
			return actionDetach, ""
		}
		return actionLeave, ""
	}
	return actionNone, ""
}
