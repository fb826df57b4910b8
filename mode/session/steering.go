package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/steerstate"
)

func (v *View) addCommand(ev ponder.Event, b ponder.Steer) {
	if c, ok := ponder.CallOf(ev); ok {
		model := v.Session.Model
		v.addUsage(c)
		v.Session.Model = model // of the thoughts
	}
	if v.fold.origins.Add(b, maxFocus) {
		return
	}
	if ev.ID != "" {
		v.fold.places[ev.ID] = len(v.Steering)
	}
	d := steerstate.Describe(b, maxFocus)
	v.Steering = append(v.Steering, SteerCommand{
		ID: ev.ID, Order: b.Do, Content: textkit.TruncateBytes(textkit.OneLine(b.Content), maxFocus), Target: d.Target, Offset: v.Session.Progress.Elapsed, Created: ev.Time,
		Origin: v.fold.origins.Find(b), source: v.sourcePath(d.Source), limits: d.Limits,
	})
}

func (v *View) sourcePath(name string) string {
	if i, ok := v.fold.places[strings.ToLower(name)]; ok && i < len(v.Sources) && strings.EqualFold(v.Sources[i].ID, name) {
		return v.Sources[i].Source
	}
	return name
}

func (v *View) applyAck(ev ponder.Event, b ponder.Progress) {
	i, ok := v.fold.places[b.Ref]
	if !ok || i >= len(v.Steering) || v.Steering[i].ID != b.Ref || v.Steering[i].Seq > 0 {
		return
	}
	w := &v.Steering[i]
	w.Seq, w.Effect, w.Refused, w.Cancelled = ev.Seq, textkit.OneLine(b.Content), b.Refused, b.Cancelled
	w.At, w.Undo = v.Session.Progress.Elapsed, b.Undo
	if w.Refused {
		return
	}
	v.markUndone(w.Undoes)
	switch w.Order {
	case ponder.SetBudget:
		v.setLimits(w.limits)
	case ponder.Correct:
		v.Corrections = append(v.Corrections, Correction{ID: fmt.Sprintf("c%d", len(v.Corrections)+1), Text: w.Content, Offset: w.At})
	case ponder.Withdraw:
		v.withdrawCorrection(w.Target)
	case ponder.ReleaseSource:
		v.Pinned, v.Banned = removeText(v.Pinned, w.source), removeText(v.Banned, w.source)
	case ponder.PinSource:
		v.Pinned, v.Banned = addDistinct(v.Pinned, w.source), removeText(v.Banned, w.source)
	case ponder.BanSource:
		v.Banned, v.Pinned = addDistinct(v.Banned, w.source), removeText(v.Pinned, w.source)
	}
}

func (v *View) markUndone(group string) {
	for i := range v.Steering {
		if w := &v.Steering[i]; group != "" && cmp.Or(w.Group, w.ID) == group {
			w.Undone = true
		}
	}
}

func (v *View) withdrawCorrection(id string) {
	for i := range v.Corrections {
		if c := &v.Corrections[i]; strings.EqualFold(c.ID, id) {
			c.Withdrawn = true
		}
	}
}

func addDistinct(list []string, text string) []string {
	if text == "" || slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

func removeText(list []string, text string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == text })
}

func (v *View) addContradictions(thought int, ids []string) {
	for _, id := range ids {
		var n int
		if _, err := fmt.Sscanf(id, "c%d", &n); err == nil && 0 < n && n <= len(v.Corrections) {
			c := &v.Corrections[n-1]
			c.Against = append(c.Against, thought)
		}
	}
}
