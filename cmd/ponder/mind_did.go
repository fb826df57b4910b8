package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"ponder/internal/app"

	"ponder"
	"ponder/internal/config"
)

// A mindDeed is what a decision has done.
type mindDeed struct {
	Tool    string          `json:"tool"`
	At      time.Time       `json:"at"`
	Reason  string          `json:"reason,omitempty"`
	Outcome string          `json:"outcome,omitempty"` // empty before it has come to an end
	Failed  bool            `json:"failed,omitempty"`
	Session ponder.ThreadID `json:"session_id,omitempty"` // that was begun

	key string
}

// keyOf returns the key of the action that an event belongs to.
func keyOf(ev ponder.Event) string {
	key, _, _ := strings.Cut(ev.Cause, "#")
	return key
}

// done takes in what the use of a tool came to.
func (m *mindLog) done(ev ponder.Event, b ponder.ToolResult) {
	list := m.deeds[ev.Run]
	for i := range list {
		d := &list[i]
		if d.key != keyOf(ev) || d.Outcome != "" {
			continue
		}
		d.Outcome, d.Failed = clip(oneLine(cmp.Or(b.Error, b.Result)), 300), b.Error != ""
		if rest, ok := strings.CutPrefix(b.Result, "session "); ok && d.Tool == config.ThinkAbout && !d.Failed {
			id, _, _ := strings.Cut(rest, " ")
			d.Session = ponder.ThreadID(id)
		}
		return
	}
}

// text writes it for people.
func (d mindDeed) text() string {
	text := d.At.Local().Format(time.TimeOnly) + ", did " + oneLine(d.Tool)
	switch {
	case d.Failed:
		text = d.At.Local().Format(time.TimeOnly) + ", failed to do " + oneLine(d.Tool) + ": " + d.Outcome
	case d.Outcome == "":
		text += ", and it is not known what came of it"
	default:
		text += ": " + d.Outcome
	}
	if d.Reason != "" {
		text += " (because: " + d.Reason + ")"
	}
	return fmt.Sprintf("    %s\n", text)
}

// actionsNote says that actions of the user's are held back now, and why.
func (a *cli) actionsNote(m *mindLog, now time.Time) {
	cfg, err := a.Config()
	if err != nil || len(cfg.Mind.Actions) == 0 {
		return
	}
	if text := app.HeldBackText(m.View, now); text != "" {
		a.note("actions: %s", text)
	}
}

// actionsFinding says what the subconscious may do, and whether that is held back.
func (a *cli) actionsFinding(m *mindLog, now time.Time) finding {
	acts, err := a.MindActions(nil)
	switch {
	case err != nil:
		return finding{"actions", broken, err.Error()}
	case len(acts.Tools) == 0:
		return finding{"actions", fine, "the subconscious may only remember and tell"}
	}
	text := "the subconscious may " + acts.Says()
	if m != nil {
		if held := app.HeldBackText(m.View, now); held != "" {
			text += "; " + held
		}
	}
	return finding{"actions", fine, text}
}
