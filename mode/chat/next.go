package chat

import (
	"fmt"
	"slices"
	"strings"

	"ponder"
)

func (s *state) Next(ponder.Moment) []ponder.Action {
	do := s.condense()
	if len(s.Waiting) == 0 {
		if len(do) > 0 {
			return do
		}
		return []ponder.Action{s.finish()}
	}
	w := s.Work
	if w == nil && s.opts.WithoutModel {
		return append(do, s.quoting()...)
	}
	if w == nil {
		return append(do, s.ask())
	}
	for _, o := range w.Out {
		do = append(do, o.action())
	}
	if w.Over {
		return append(do, s.endings(w)...)
	}
	for _, u := range w.Calls {
		if u.Result == nil {
			do = append(do, ponder.Do{Key: u.Key, Tool: u.Call.Name, Args: u.Call.Input, Internal: true})
		}
	}
	if len(w.Calls) > 0 {
		return do
	}
	return append(do, s.ask())
}

func (s *state) ask() ponder.Action {
	round := 1
	if s.Work != nil {
		round += s.Work.Round
	}
	return ponder.Call{Key: s.key(callKey, round), Role: s.opts.Role, Request: s.request(), Shown: true}
}

// endings returns the writes that end a turn; the last one marks the end.
func (s *state) endings(w *work) (do []ponder.Action) {
	spoke := len(s.Waiting[0].Answer) > 0 || w.spoke()
	if spoke && s.due() {
		why := fmt.Sprintf("periodic reflection after %d user turns", s.Deep.Turns+1)
		do = append(do, ponder.Write{Key: s.key("auto"), Internal: true, Bodies: []ponder.Body{ponder.Progress{Stage: DeepAsked, Label: why}}})
	}
	if _, dropped := s.inner(s.Waiting[0]); spoke && dropped > 0 {
		do = append(do, ponder.Write{Key: s.key("stale"), Internal: true, Bodies: []ponder.Body{ponder.SystemNote{
			Content: fmt.Sprintf("%d reflections were not used: the conversation had moved on by more than %d messages", dropped, stale), Reason: deepTool,
		}}})
	}
	end := ponder.Progress{Stage: TurnEnded, Ref: s.Waiting[0].Said.ID, Refused: !spoke, Content: w.Err}
	return append(do, ponder.Write{Key: s.key("end"), Internal: true, Bodies: []ponder.Body{end}})
}

func (w *work) spoke() bool {
	return slices.ContainsFunc(w.Out, func(o out) bool { return o.Say != "" })
}

// due reports whether a periodic reflection is due.
func (s *state) due() bool {
	return s.opts.Deep && s.opts.DeepAfter > 0 && s.Deep.Turns+1 >= s.opts.DeepAfter && !s.Deep.inFlight() &&
		len(s.Deep.within(s.Clock)) < s.opts.DeepPerHour
}

func (s *state) finish() ponder.Action {
	switch {
	case s.Failed != "":
		return ponder.Finish{Status: ponder.Failed, Reason: s.Failed}
	case len(s.Answer) == 0:
		return ponder.Finish{Answer: "There was nothing left to answer."}
	}
	return ponder.Finish{Answer: strings.Join(s.Answer, "\n\n")}
}
