package deep

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/internal/taint"
	"ponder/llm"
	"ponder/llm/structured"
	"ponder/mode/internal/lookup"
)

// answerCheck rejects reflections without content of their own.
var answerCheck = structured.NewValidator(innerVoice, rebasePrompt)

func (s *state) Next(now ponder.Moment) (do []ponder.Action) {
	for _, r := range s.Refused {
		do = append(do, ponder.Write{Key: fmt.Sprintf("refused-%d", r.N), Internal: true, Bodies: []ponder.Body{ponder.Progress{Stage: stageRefused, Content: s.explainRefusal(r)}}})
	}
	switch {
	case s.Work != nil:
		return append(do, s.nextWork(now)...)
	case len(do) > 0:
		return do
	}
	return []ponder.Action{ponder.Finish{Answer: s.describeResult()}}
}

func (s *state) explainRefusal(r refusal) string {
	limit := "1 reflection"
	if s.opts.PerHour > 1 {
		limit = fmt.Sprintf("%d reflections", s.opts.PerHour)
	}
	return fmt.Sprintf("at most %s per hour: the next one is possible at %s; `ponder settings deep_think.per_hour` changes the limit", limit, s.opts.Locale.Clock(r.Next))
}

func (s *state) nextWork(now ponder.Moment) []ponder.Action {
	w := s.Work
	limit := s.opts.Limit + max(0, w.Began-s.Zero)
	left := limit + cutWait - now.Spent
	switch {
	case w.Err != "":
		return s.failReflection(w.Err)
	case w.Answer != "":
		return s.writeReflection(w)
	case s.Stop != "":
		return s.failReflection(s.Stop)
	case left <= 0:
		return s.failReflection(fmt.Sprintf("it took more than %v", s.opts.Limit))
	}
	do := []ponder.Action{ponder.Wait{Until: now.Wall.Add(left.Round(time.Millisecond) + time.Millisecond)}}
	for _, u := range w.Calls {
		if u.Result == nil {
			do = append(do, ponder.Do{Key: u.Key, Tool: u.Call.Name, Args: u.Call.Input, Internal: true})
		}
	}
	if len(w.Calls) > 0 {
		return do
	}
	return append(do, ponder.Call{Key: w.actionKey("think", w.Round+1), Role: s.opts.Role, Request: s.buildRequest(w), Answer: true, Until: limit})
}

// cutWait is the time for the result of a call that the engine cuts at the limit.
const cutWait = 3 * time.Second

// describeResult describes the result of the run. A failed reflection also completes, because the
// conversation did not fail.
func (s *state) describeResult() string {
	switch {
	case s.Why == "" && s.Reflected:
		return "Reflected."
	case s.Why == "":
		return "No request for a reflection was left."
	case s.Reflected:
		return "Reflected; another reflection failed: " + s.Why
	}
	return "The reflection failed: " + s.Why
}

func (w *work) actionKey(what string, numbers ...int) string {
	key := what + "-" + strconv.FormatInt(int64(w.N), 10)
	for _, n := range numbers {
		key += "-" + strconv.Itoa(n)
	}
	return key
}

func (s *state) failReflection(why string) []ponder.Action {
	return []ponder.Action{ponder.Write{Key: s.Work.actionKey("failed"), Internal: true, Bodies: []ponder.Body{ponder.Progress{Stage: stageFailed, Content: why}}}}
}

func (s *state) buildRequest(w *work) llm.Request {
	text := "The conversation so far:\n\n" + w.Text
	if w.Text == "" {
		text = "Nothing was said yet."
	}
	if w.Prompt != "" {
		text += "\n\nFocus on: " + truncateText(w.Prompt, maxEvent)
	}
	req := llm.Request{System: s.systemPrompt(innerVoice), Messages: []llm.Message{llm.Say(llm.User, text)}, MaxTokens: s.opts.Reply, Background: true}
	req.Messages = append(req.Messages, w.Msgs...)
	req.Tools = Route(w.Prompt+" "+w.Reason, w.Text, s.opts.Tools)
	if len(req.Tools) > 0 && w.Round >= maxToolTurns {
		req.ToolChoice = "none"
	}
	return req
}

// systemPrompt returns a task with the day of the run.
func (s *state) systemPrompt(task string) string {
	return strings.TrimSpace(task + "\n" + s.opts.Locale.Describe(s.run.Started))
}

func (s *state) applyCall(ev ponder.Event, b ponder.CallFinished) {
	key, _, _ := strings.Cut(ev.Cause, "#")
	if s.Work == nil {
		return
	}
	w := *s.Work
	switch key {
	case w.actionKey("think", w.Round+1):
		w.Round++
		if s.applyAnswer(&w, b); b.Finish == llm.FinishTime && w.Answer == "" {
			w.Err = fmt.Sprintf("it took more than %v", s.opts.Limit)
		}
	case w.actionKey("rebase"):
		w.Tried = true
		if b.Error == "" {
			w.Rebased = strings.TrimSpace(b.Message.Text())
		}
	default:
		return
	}
	s.Work = &w
}

func (s *state) applyAnswer(w *work, b ponder.CallFinished) {
	calls := b.Message.Calls()
	switch {
	case b.Error != "":
		w.Err = b.Error
		return
	case len(calls) == 0 || w.Round > maxToolTurns:
		text := llm.FinalText(b.Message.Text())
		if b.Finish.IsCut() {
			text = llm.CompletePart(text)
		}
		if w.Answer = answerCheck.CleanAnswer(strings.TrimSpace(text), ""); w.Answer == "" {
			w.Err = "the model returned no text"
		} else if fault := answerCheck.EchoFault(w.Answer); fault != "" {
			w.Err = "the model returned no thought: " + fault
		}
		return
	}
	w.Msgs, w.Calls = append(slices.Clip(w.Msgs), b.Message), nil
	for i, c := range calls {
		u := pendingCall{Key: w.actionKey("use", w.Round, i), Call: c}
		var object map[string]json.RawMessage
		if json.Unmarshal(c.Input, &object) != nil {
			u.Result = &llm.ToolResult{ID: c.ID, Name: c.Name, Text: "the arguments are not a JSON object", Failed: true}
		} else {
			s.decideCall(w, &u)
		}
		w.Calls = append(w.Calls, u)
	}
	w.finishRound()
}

func (s *state) applyToolResult(ev ponder.Event, b ponder.ToolResult) {
	key, _, _ := strings.Cut(ev.Cause, "#")
	if s.Work == nil {
		return
	}
	i := slices.IndexFunc(s.Work.Calls, func(u pendingCall) bool { return u.Key == key && u.Result == nil })
	if i < 0 {
		return
	}
	w := *s.Work
	w.Calls = slices.Clone(w.Calls)
	c := w.Calls[i].Call
	s.Taint = s.Taint.AddResult(taint.Result{Tool: c.Name, Args: c.Input, Text: b.Result + b.Error, Seq: ev.Seq, Untrusted: b.Untrusted, Own: w.Calls[i].Own})
	text := truncateText(strings.TrimSpace(lookup.ResultForModel(c.Name, b.Result)+"\n"+b.Error), maxResult)
	w.Calls[i].Result = &llm.ToolResult{ID: c.ID, Name: c.Name, Text: text, Failed: b.Error != ""}
	w.Sources = append(slices.Clip(w.Sources), resultSources(b)...)
	w.finishRound()
	s.Work = &w
}

func resultSources(b ponder.ToolResult) (list []string) {
	var found struct {
		Hits []struct {
			Source string `json:"source"`
		} `json:"hits"`
	}
	if json.Unmarshal([]byte(b.Result), &found) != nil || b.Error != "" {
		return nil
	}
	for _, h := range found.Hits {
		if h.Source != "" && len(h.Source) < 500 && len(list) < 20 {
			list = append(list, lookup.SourceName(h.Source))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (w *work) finishRound() {
	if slices.ContainsFunc(w.Calls, func(u pendingCall) bool { return u.Result == nil }) {
		return
	}
	m := llm.Message{Role: llm.User}
	for _, u := range w.Calls {
		m.Parts = append(m.Parts, llm.Part{Result: u.Result})
	}
	w.Msgs, w.Calls = append(slices.Clip(w.Msgs), m), nil
}

// writeReflection writes the reflection. If many messages followed, it is rebased or marked.
func (s *state) writeReflection(w *work) []ponder.Action {
	text, later := s.textSince(w.ReadTo)
	old := later > freshMessages
	if old && !s.opts.NoRebase && !w.Tried && s.Stop == "" {
		return []ponder.Action{ponder.Call{Key: w.actionKey("rebase"), Role: s.opts.Rebaser, Request: llm.Request{
			System:    s.systemPrompt(rebasePrompt),
			Messages:  []llm.Message{llm.Say(llm.User, "The notes:\n\n"+w.Answer+"\n\nWhat was said since:\n\n"+text)},
			MaxTokens: s.opts.Reply, Background: true,
		}}}
	}
	b := ponder.InnerMonologue{Tool: Tool, Reason: w.Reason, ReadTo: w.ReadTo, Trigger: w.Trigger, Sources: sortDistinct(w.Sources), Older: old, Untrusted: s.Taint.IsTainted()}
	answer, drawings := extractDiagrams(w.Answer)
	if w.Rebased != "" {
		if strings.EqualFold(strings.Trim(w.Rebased, " .\n"), "nothing") {
			return s.failReflection("the reflection is outdated by newer messages")
		}
		before := drawings
		if answer, drawings = extractDiagrams(w.Rebased); len(drawings) == 0 {
			drawings = before
		}
		b.Older, b.ReadTo = false, s.Head
	}
	if answer == "" {
		return s.failReflection("the model returned only an invalid diagram")
	}
	b.Content = formatReflection(answer)
	var do []ponder.Action
	for i, d := range drawings {
		do = append(do, ponder.Write{Key: w.actionKey("drawn", i+1), Bodies: []ponder.Body{d.toAttachment(int(w.N), i+1)}})
	}
	return append(do, ponder.Write{Key: w.actionKey("muse"), Bodies: []ponder.Body{b}})
}

func sortDistinct(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
