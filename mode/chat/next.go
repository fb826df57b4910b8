package chat

import (
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
)

func (s *state) Next(ponder.Moment) []ponder.Action {
	do := s.condenseActions()
	if len(s.Waiting) == 0 {
		if len(do) > 0 {
			return do
		}
		return []ponder.Action{s.finishRun()}
	}
	w := s.currentWork()
	if w == nil && s.opts.WithoutModel {
		return append(do, s.extractiveActions()...)
	}
	if w == nil {
		return append(do, s.callModel())
	}
	for _, o := range w.Out {
		do = append(do, o.toAction())
	}
	if w.Over {
		return append(do, s.endActions(w)...)
	}
	for _, u := range w.Calls {
		if u.Result == nil {
			do = append(do, ponder.Do{Key: u.Key, Tool: u.Call.Name, Args: u.Call.Input, Internal: true})
		}
	}
	if len(w.Calls) > 0 {
		return do
	}
	return append(do, s.callModel())
}

func (s *state) callModel() ponder.Action {
	round := 1
	if w := s.currentWork(); w != nil {
		round += w.Round
	}
	return ponder.Call{Key: s.actionKey(callKey, round), Role: s.opts.Role, Request: s.buildRequest(), Shown: true}
}

// endActions returns the writes that end a turn; the last one marks the end.
func (s *state) endActions(w *work) (do []ponder.Action) {
	spoke := len(s.Waiting[0].Answer) > 0 || w.hasText()
	if n := s.turnsWithoutReflection(); spoke && s.isReflectionDue(n) {
		why := fmt.Sprintf("periodic reflection after %s", textkit.Count(n, "user turn", "user turns"))
		do = append(do, ponder.Write{Key: s.actionKey("auto"), Internal: true, Bodies: []ponder.Body{ponder.Progress{Stage: DeepAsked, Label: why}}})
	}
	if _, dropped := s.reflectionText(s.Waiting[0]); spoke && dropped > 0 {
		do = append(do, ponder.Write{Key: s.actionKey("stale"), Internal: true, Bodies: []ponder.Body{ponder.SystemNote{
			Content: fmt.Sprintf("%d reflections were discarded because more than %d newer messages exist", dropped, staleAge), Reason: deepTool,
		}}})
	}
	if spoke {
		do = append(do, s.noteOmission(w)...)
	}
	end := ponder.Progress{Stage: TurnEnded, Ref: s.Waiting[0].Message.ID, Refused: !spoke, Content: w.Err}
	return append(do, ponder.Write{Key: s.actionKey("end"), Internal: true, Bodies: []ponder.Body{end}})
}

func (w *work) hasText() bool {
	return slices.ContainsFunc(w.Out, func(o pendingWrite) bool { return o.Say != "" })
}

// isReflectionDue reports whether a periodic reflection is due after so many turns without one.
func (s *state) isReflectionDue(turns int) bool {
	return s.opts.Deep && s.opts.DeepAfter > 0 && turns >= s.opts.DeepAfter && !s.Deep.isInFlight() &&
		s.Deep.Times.Count(s.Clock) < s.opts.DeepPerHour
}

func (s *state) finishRun() ponder.Action {
	switch {
	case s.Failed != "":
		return ponder.Finish{Status: ponder.Failed, Reason: s.Failed}
	case len(s.Answer) == 0:
		return ponder.Finish{Answer: "No unanswered message was left."}
	}
	return ponder.Finish{Answer: strings.Join(s.Answer, "\n\n")}
}
