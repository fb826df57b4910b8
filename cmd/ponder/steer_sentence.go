package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/interpret"
	"ponder/internal/steering"
	"ponder/internal/textkit"
	"ponder/internal/tui"
)

// steerEvents returns the events of flags or of a sentence, and prints the meaning of a sentence. With an
// error, the events only record the sentence.
func (w *sessionScreen) steerEvents(ctx context.Context, info ponder.Info, f steerFlags) ([]ponder.Event, error) {
	if f.sentence != "" {
		return w.sentenceEvents(ctx, info, f)
	}
	commands, err := f.commandEvents(ctx, &w.SessionView)
	if err != nil || !f.dryRun {
		return commands, err
	}
	return nil, w.printMeaning("Understood as: "+steering.ViewOf(w.View, w.Research != nil).Meaning(f.requests), "flags", f.requests)
}

func (w *sessionScreen) sentenceEvents(ctx context.Context, info ponder.Info, f steerFlags) ([]ponder.Event, error) {
	if typed, ok := readTyped(f.sentence); ok {
		commands, err := typed.commandEvents(ctx, &w.SessionView)
		if err == nil {
			if f.dryRun {
				typed.dryRun = true
				return w.steerEvents(ctx, info, typed)
			}
			return commands, nil
		}
	}
	res, err := w.SessionView.App.Interpret(ctx, info, w.View, f.sentence, w.resolveSource)
	if err != nil {
		return nil, err
	}
	events := res.Events(w.View.Session.Run, f.sentence, f.dryRun)
	switch {
	case res.Problem != "":
		err = usagef("%s", res.Explain(f.sentence))
	case f.dryRun:
		err = w.printMeaning(res.Explain(f.sentence), res.By, res.Requests)
	default:
		w.printNote("%s", res.Explain(f.sentence))
	}
	if f.dryRun && len(res.Calls) == 0 {
		return nil, err
	}
	return events, err
}

func (w *sessionScreen) resolveSource(name string) string {
	return resolveSource(w.View, textkit.OneLine(name))
}

// resolveSource returns the source that a user means: a local file or folder of that name, unless
// a quotation has the name.
func resolveSource(v app.View, name string) string {
	if name == "" || slices.ContainsFunc(v.Sources, func(s app.Source) bool { return s.ID == name || s.Source == name }) {
		return name
	}
	if _, err := os.Stat(name); err == nil {
		if abs, err := filepath.Abs(name); err == nil {
			return abs
		}
	}
	return name
}

// printMeaning prints the meaning of a sentence or of flags.
func (w *sessionScreen) printMeaning(text, by string, list []steering.Request) error {
	if w.flags.json {
		return w.printJSON(map[string]any{"understood_as": strings.TrimPrefix(text, "Understood as: "), "interpreted_by": by, "steps": len(list)})
	}
	w.printf("%s\n", text)
	return nil
}

// withoutSentences removes the events that only record sentences.
func withoutSentences(events []ponder.Event) []ponder.Event {
	return slices.DeleteFunc(slices.Clone(events), func(ev ponder.Event) bool {
		b, ok := ev.Body.(ponder.Steer)
		return ok && b.Do == ponder.Interpret
	})
}

// readTyped parses a line that is exactly a typed command, such as "drop q3". A question is left to the
// rules for sentences, which also know "could you ...?".
func readTyped(line string) (steerFlags, bool) {
	name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	if _, ok := findVerb(name); !ok {
		return steerFlags{}, false
	}
	f, err := readSteer(line)
	return f, err == nil
}

// An interpreted sentence of the live view arrives from its goroutine.
type interpretedLine struct {
	line string
	res  interpret.Result
	err  error
}

// interpretLine interprets a sentence in the background: a model may take a while.
func (l *liveScreen) interpretLine(ctx context.Context, line string) {
	info, err := l.Store.Thread(ctx, l.Id)
	if err != nil {
		l.printRemark(tui.Alarm, oneLine(err.Error()))
		return
	}
	view := l.View.Clone()
	go func() {
		res, err := l.SessionView.App.Interpret(ctx, info, view, line, func(name string) string { return resolveSource(view, textkit.OneLine(name)) })
		select {
		case l.interpreted <- interpretedLine{line, res, err}:
		case <-ctx.Done():
		}
	}()
}

// applyInterpreted sends the commands of a sentence, or explains why it failed.
func (l *liveScreen) applyInterpreted(ctx context.Context, in interpretedLine) {
	if in.err != nil {
		l.printRemark(tui.Alarm, oneLine(in.err.Error()))
		return
	}
	var bodies []ponder.Body
	for _, ev := range in.res.Events("", in.line, false) {
		bodies = append(bodies, ev.Body)
	}
	if l.postCommands(ctx, bodies...); in.res.Problem != "" {
		l.printRemark(tui.Alarm, in.res.Explain(in.line))
	}
}
