package chat

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder/internal/toolname"
	"ponder/llm"
)

const (
	thinkTool = toolname.Think
	deepTool  = toolname.DeepThink
)

//go:embed prompts/think.md
var thinkDoc string

//go:embed prompts/deep_think.md
var deepDoc string

var thinkSchema = json.RawMessage(`{"type":"object","properties":{"thought":{"type":"string","description":"The thought content that the model wants to process internally"}},"required":["thought"]}`)

var deepSchema = json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string","description":"What to think about. If omitted, reflects on the overall conversation."},"reason":{"type":"string","description":"Why this is worth thinking about now."}},"required":["reason"]}`)

// Tool results. They do not echo thoughts, because later rounds would read them again, at quadratic
// cost.
const (
	thoughtNoted        = "Noted."
	thoughtLimitReached = "Not noted: that is enough thinking for now. Act on it."
	reflectionStarted   = `{"status":"started"}`
	reflectionQueued    = `{"status":"rerun_queued"}`
	reflectionRefused   = `{"status":"refused","reason":"too many reflections in the last hour","next":"%s"}`
	reasonMissing       = "Not started: the arguments need a reason, as text."
)

type reflectionPrompt struct {
	Prompt string `json:"prompt"`
	Reason string `json:"reason"`
}

// offeredTools returns the model's tools in a constant order.
func (s *state) offeredTools() []llm.Tool {
	list := slices.Clip(s.opts.Tools)
	if len(s.Turns) == 0 && s.Summary == "" && s.Left == 0 { // nothing was said earlier
		list = slices.DeleteFunc(slices.Clone(list), func(t llm.Tool) bool { return t.Name == toolname.ThreadRead })
	}
	if s.opts.Think {
		list = append(list, llm.Tool{Name: thinkTool, Doc: strings.TrimSpace(thinkDoc), Schema: thinkSchema})
	}
	if s.opts.Deep {
		list = append(list, llm.Tool{Name: deepTool, Doc: strings.TrimSpace(deepDoc), Schema: deepSchema})
	}
	return list
}

func (s *state) toolNames() (names []string) {
	for _, t := range s.offeredTools() {
		names = append(names, t.Name)
	}
	return names
}

func (s *state) runBuiltIn(w *work, c llm.ToolCall, i int) (text string, failed, done bool) {
	switch {
	case c.Name == thinkTool:
		text, failed = s.recordThought(w, c, i)
	case c.Name == deepTool && s.opts.Deep:
		text, failed = s.requestReflection(w, c, i)
	default:
		return "", false, false
	}
	return text, failed, true
}

// recordThought records a thought. It returns an empty result for an empty thought, or if the tool is off.
func (s *state) recordThought(w *work, c llm.ToolCall, i int) (text string, failed bool) {
	var in struct {
		Thought *string `json:"thought"`
	}
	err := json.Unmarshal(c.Input, &in)
	switch {
	case !s.opts.Think:
		return "", false
	case err != nil || in.Thought == nil:
		return "Not noted: the arguments need a thought, as text.", true
	case strings.TrimSpace(*in.Thought) == "":
		return "", false
	case s.countThoughts(w) >= s.opts.ThinkPerTurn, s.recentThoughts(w) >= s.opts.ThinkPerMin:
		return thoughtLimitReached, true
	}
	w.Out = append(slices.Clip(w.Out), pendingWrite{Key: s.actionKey("thought", w.Round, i), Thought: *in.Thought})
	return thoughtNoted, false
}

func (s *state) countThoughts(w *work) (n int) {
	for _, o := range w.Out {
		if o.Thought != "" {
			n++
		}
	}
	return n
}

func (s *state) recentThoughts(w *work) (n int) {
	for _, at := range s.ThoughtTimes {
		if s.Clock.Sub(at) < time.Minute {
			n++
		}
	}
	round := s.actionKey("thought", w.Round) + "-"
	for _, o := range w.Out {
		if strings.HasPrefix(o.Key, round) {
			n++
		}
	}
	return n
}

func (s *state) requestReflection(w *work, c llm.ToolCall, i int) (text string, failed bool) {
	var in struct {
		Prompt string  `json:"prompt"`
		Reason *string `json:"reason"`
	}
	switch err := json.Unmarshal(c.Input, &in); {
	case err != nil || in.Reason == nil:
		return reasonMissing, true
	}
	if next := s.Deep.Times.Next(s.Clock, 1+s.countReflections(w), s.opts.DeepPerHour); !next.IsZero() {
		return fmt.Sprintf(reflectionRefused, s.opts.Locale.Clock(next)), true
	}
	queued := s.Deep.isInFlight() || s.countReflections(w) > 0
	w.Out = append(slices.Clip(w.Out), pendingWrite{Key: s.actionKey("asked", w.Round, i), Prompt: &reflectionPrompt{in.Prompt, *in.Reason}})
	if queued {
		return reflectionQueued, false
	}
	return reflectionStarted, false
}

func (s *state) countReflections(w *work) (n int) {
	round := s.actionKey("asked", w.Round) + "-"
	for _, o := range w.Out {
		if strings.HasPrefix(o.Key, round) {
			n++
		}
	}
	return n
}
