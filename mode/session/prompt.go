package session

import (
	"cmp"
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/internal/background"
	"ponder/mode/internal/lookup"
)

// All steps have one system prompt and begin with the same timeline, which only grows. The task of
// the step is at the end, so that prefix caches hold over steps; see docs/design/prompts.md.
var (
	//go:embed prompts/system.md
	systemPrompt string
	//go:embed prompts/thoughts.md
	thoughtsPrompt string
	//go:embed prompts/questions.md
	questionsPrompt string
	//go:embed prompts/synthesis.md
	synthesisPrompt string
	//go:embed prompts/final.md
	finalPrompt string
)

// Titles of lists in a prompt.
const (
	openTitle      = "\nOpen questions, each with its id and priority:\n"
	correctedTitle = "\nFacts that the user has corrected. They hold, whatever was thought before:\n"
	othersTitle    = "\nOthers think at this moment about these, so leave them to them:\n"
	exploredTitle  = "\nQuestions explored before, with what was learned:\n"
	remainingTitle = "\nQuestions still open:\n"
	droppedTitle   = "\nDropped questions, which are not to be asked again:\n"
	historyTitle   = "\nThoughts from before, shortened, those that matter most:\n"
)

// Limits of prompt parts, in bytes.
const (
	maxKept   = 1000 // a thought
	maxAsked  = 32 << 10
	maxPrompt = 8 << 10

	maxListBytes = 4 << 10 // a list at the end
)

// Token limits of answers without long reasoning.
const (
	thoughtsTokens  = 4096
	questionsTokens = 2048
	synthesisTokens = 4096
	finalTokens     = 8192
)

// modelCall returns the call of the step, or of cell c in a wave.
func (s *state) modelCall(key string, c *slot) ponder.Action {
	role, tokens, req := s.opts.ThoughtRole, thoughtsTokens, llm.Request{System: s.system(), Schema: thoughtsSchema, Background: true, Cache: true}
	again := s.Step.Retry
	buf := prompts.Get().(*prompt)
	defer prompts.Put(buf)
	b := (*buf)[:0]
	b.add("The question:\n<question>\n", escapeFrame(textkit.TruncateBytes(textkit.CleanTrim(s.run.Input), maxAsked>>s.Shrinks)), "\n</question>\n")
	s.writeTimeline(&b, c)
	grown := len(b)
	switch s.Step.Do {
	case questions:
		tokens, req.Schema = questionsTokens, questionsSchema
		s.listDropped(&b)
		s.listOpen(&b, openTitle, len(s.Open))
		s.writeTask(&b, questionsPrompt)
	case synthesis:
		role, tokens, req.Schema = s.opts.SynthesisRole, synthesisTokens, summarySchema
		s.writeRest(&b)
		s.writeTask(&b, synthesisPrompt)
	case final:
		role, tokens, req.Schema, req.Background = s.opts.FinalRole, finalTokens, nil, false
		if s.Step.ThoughtModel {
			role = s.opts.ThoughtRole
		}
		s.listHistory(&b)
		s.writeRest(&b)
		s.writeTask(&b, finalPrompt)
	default:
		again = c.Retry
		s.writeFocus(&b, c)
		s.writeTask(&b, thoughtsPrompt)
	}
	*buf = b
	req.Messages = []llm.Message{llm.SayGrowing(llm.User, string(b), grown)}
	req.Effort, req.MaxTokens = s.opts.Effort, tokens*tokenFactor(s.opts.Effort)>>s.Shrinks
	return ponder.Call{Key: key, Role: role, Request: again.Request(req), Shown: IsShown(key), Answer: s.Step.Do == final}
}

// system returns the system prompt of all steps.
func (s *state) system() string {
	text := systemPrompt + "\n" + s.opts.Describe(s.run.Started) + "\n"
	if s.opts.Prompt != "" {
		text += "\n" + textkit.TruncateBytes(textkit.CleanTrim(s.opts.Prompt), maxPrompt) + "\n"
	}
	return text
}

type prompt []byte

var prompts = sync.Pool{New: func() any { return new(prompt) }}

func (b *prompt) add(texts ...string) {
	for _, text := range texts {
		*b = append(*b, text...)
	}
}

func (b *prompt) addShare(x float64) {
	if n := int(100*x + 0.5); 0 < x && x < 1 && float64(n)/100 == x { // most have two decimals
		*b = append(*b, '0', '.', '0'+byte(n/10), '0'+byte(n%10))
		return
	}
	*b = strconv.AppendFloat(*b, x, 'f', 2, 64)
}

func (b *prompt) addConfidence(before string, x float64, assumed bool, after string) {
	if !assumed {
		b.add(before)
		b.addShare(x)
		b.add(after)
	}
}

// tokenFactor returns the token factor of a reasoning effort.
func tokenFactor(effort string) int {
	switch effort {
	case "high":
		return 4
	case "medium":
		return 2
	}
	return 1
}

// writeTask writes the corrections of the user, which hold for every task, and the task.
func (s *state) writeTask(b *prompt, task string) {
	for i, f := range s.Facts {
		if i == 0 {
			b.add(correctedTitle)
		}
		b.add("- [", f.ID, "] ", escapeFrame(f.Text), "\n")
	}
	b.add("\n", task)
}

// maxMindThoughts is the number of thoughts until which prompts show background notes.
const maxMindThoughts = 5

// perspectives are the views of the user's question after the first round, in turn.
var perspectives = []string{
	"a counter-example: a case in which the likely answer is wrong",
	"the base rate: how often such things are so in general",
	"cause and effect: what brings it about, and by which mechanism",
	"who disagrees, and their best argument",
	"what would change my mind: the observation that would show that the likely answer is wrong",
}

// writeFocus writes the focus of cell c and what belongs to it alone.
func (s *state) writeFocus(b *prompt, c *slot) {
	if s.Counts.Thoughts < maxMindThoughts && len(s.Mind) > 0 {
		b.add("\n", background.FormatBackground(s.Mind, lookup.Sanitize))
	}
	if len(s.Wave) > 1 {
		b.add(othersTitle)
		for _, o := range s.Wave {
			if o.N != c.N {
				b.add("- ", escapeFrame(o.Focus.Text), "\n")
			}
		}
	}
	if c.Focus.Question != "" {
		b.add("\nCurrent focus: ", escapeFrame(c.Focus.Text), "\n")
		return
	}
	b.add("\nCurrent focus: the question itself: ", escapeFrame(textkit.TruncateBytes(c.Focus.Text, maxQuestion)), "\n")
	if c.Focus.View > 1 {
		b.add("Look at ", perspectives[(c.Focus.View-2)%len(perspectives)], ".\n")
	}
}

// writeRest writes the lists that a synthesis and the answer need besides the timeline: insights from
// before it, passages of which it has no more than a sentence, and open questions.
func (s *state) writeRest(b *prompt) {
	var learned []string
	for _, q := range s.Explored {
		if !q.Omitted && q.Insights != "" && !s.isLogged(q.ID) {
			learned = append(learned, q.Text+" Learned: "+q.Insights)
		}
	}
	s.listNewest(b, exploredTitle, learned)
	s.listMore(b)
	s.listOpen(b, remainingTitle, recentThoughts)
}

// isLogged reports whether the timeline has thoughts on a question.
func (s *state) isLogged(id string) bool {
	return slices.ContainsFunc(s.Thoughts, func(t thought) bool { return t.Of == id })
}

func (s *state) listOpen(b *prompt, title string, limit int) {
	for _, q := range s.Open[:min(len(s.Open), limit)] {
		b.add(title, "- [", q.ID, ", priority ", strconv.Itoa(q.Priority), "] ", escapeFrame(q.Text), "\n")
		title = ""
	}
}

func (s *state) listDropped(b *prompt) {
	title := droppedTitle
	for _, q := range s.Explored {
		if q.Dropped && !q.Omitted {
			b.add(title, "- ", escapeFrame(q.Text), "\n")
			title = ""
		}
	}
}

// listHistory lists the thoughts before the timeline.
func (s *state) listHistory(b *prompt) {
	before := slices.Clone(s.History)
	before = slices.DeleteFunc(before, func(m *pastThought) bool { return m.N >= s.firstThought() })
	slices.SortStableFunc(before, func(a, b *pastThought) int { return cmp.Compare(a.Weight, b.Weight) })
	before = before[s.firstFitting(len(before), func(i int) int { return len(before[i].Text) }):]
	slices.SortFunc(before, func(a, b *pastThought) int { return cmp.Compare(a.N, b.N) })
	title := historyTitle
	for _, m := range before {
		b.add(title, "- ", escapeFrame(m.Text), "\n")
		title = ""
	}
}

// listNewest lists the newest texts, as far as there is room.
func (s *state) listNewest(b *prompt, title string, texts []string) {
	for _, text := range texts[s.firstFitting(len(texts), func(i int) int { return len(texts[i]) }):] {
		b.add(title, "- ", escapeFrame(text), "\n")
		title = ""
	}
}

// firstFitting returns the index from which the last of n texts fit into a list.
func (s *state) firstFitting(n int, size func(i int) int) int {
	for room := maxListBytes >> s.Shrinks; n > 0; n-- {
		if room -= size(n - 1); room < 0 {
			break
		}
	}
	return n
}

// escapeFrame returns text that cannot close its frame.
func escapeFrame(text string) string {
	if strings.IndexByte(text, '<') < 0 || !strings.Contains(text, "</") {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "</question", "< /question"), "</passages", "< /passages")
}
