package chat

import (
	_ "embed"
	"encoding/json"
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

//go:embed think.md
var thinkDoc string

//go:embed deep_think.md
var deepDoc string

var thinkSchema = json.RawMessage(`{"type":"object","properties":{"thought":{"type":"string","description":"The thought content that the model wants to process internally"}},"required":["thought"]}`)

var deepSchema = json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string","description":"What to think about. If omitted, reflects on the overall conversation."},"reason":{"type":"string","description":"Why this is worth thinking about now."}},"required":["reason"]}`)

// Tool results. They do not echo thoughts, because later rounds would read them again, at quadratic
// cost.
const (
	noted       = "Noted."
	enough      = "Not noted: that is enough thinking for now. Act on it."
	started     = `{"status":"started"}`
	rerunQueued = `{"status":"rerun_queued"}`
	tooOften    = `{"status":"refused","reason":"too many reflections in the last hour"}`
	noReason    = "Not started: the arguments need a reason, as text."
)

type prompt struct {
	Prompt string `json:"prompt"`
	Reason string `json:"reason"`
}

// tools returns the model's tools in a constant order.
func (s *state) tools() []llm.Tool {
	list := slices.Clip(s.opts.Tools)
	if s.opts.Think {
		list = append(list, llm.Tool{Name: thinkTool, Doc: strings.TrimSpace(thinkDoc), Schema: thinkSchema})
	}
	if s.opts.Deep {
		list = append(list, llm.Tool{Name: deepTool, Doc: strings.TrimSpace(deepDoc), Schema: deepSchema})
	}
	return list
}

func (s *state) names() (names []string) {
	for _, t := range s.tools() {
		names = append(names, t.Name)
	}
	return names
}

func (s *state) native(w *work, c llm.ToolCall, i int) (text string, failed, done bool) {
	switch {
	case c.Name == thinkTool:
		text, failed = s.muse(w, c, i)
	case c.Name == deepTool && s.opts.Deep:
		text, failed = s.reflect(w, c, i)
	default:
		return "", false, false
	}
	return text, failed, true
}

// muse records a thought. It returns an empty result for an empty thought, or if the tool is off.
func (s *state) muse(w *work, c llm.ToolCall, i int) (text string, failed bool) {
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
	case s.musings(w) >= s.opts.ThinkPerTurn, s.lately(w) >= s.opts.ThinkPerMin:
		return enough, true
	}
	w.Out = append(slices.Clip(w.Out), out{Key: s.key("thought", w.Round, i), Muse: *in.Thought})
	return noted, false
}

func (s *state) musings(w *work) (n int) {
	for _, o := range w.Out {
		if o.Muse != "" {
			n++
		}
	}
	return n
}

func (s *state) lately(w *work) (n int) {
	for _, at := range s.Mused {
		if s.Clock.Sub(at) < time.Minute {
			n++
		}
	}
	round := s.key("thought", w.Round) + "-"
	for _, o := range w.Out {
		if strings.HasPrefix(o.Key, round) {
			n++
		}
	}
	return n
}

func (s *state) reflect(w *work, c llm.ToolCall, i int) (text string, failed bool) {
	var in struct {
		Prompt string  `json:"prompt"`
		Reason *string `json:"reason"`
	}
	switch err := json.Unmarshal(c.Input, &in); {
	case err != nil || in.Reason == nil:
		return noReason, true
	case len(s.Deep.within(s.Clock))+s.reflections(w) >= s.opts.DeepPerHour:
		return tooOften, true
	}
	queued := s.Deep.inFlight() || s.reflections(w) > 0
	w.Out = append(slices.Clip(w.Out), out{Key: s.key("asked", w.Round, i), Prompt: &prompt{in.Prompt, *in.Reason}})
	if queued {
		return rerunQueued, false
	}
	return started, false
}

func (s *state) reflections(w *work) (n int) {
	round := s.key("asked", w.Round) + "-"
	for _, o := range w.Out {
		if strings.HasPrefix(o.Key, round) {
			n++
		}
	}
	return n
}
