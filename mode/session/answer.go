package session

import (
	"errors"
	"regexp"
	"strings"

	"ponder/llm"
)

// Bounds on what is taken of an answer.
const (
	maxThoughts = 8
	maxThought  = 4000 // bytes
	maxItems    = 12   // insights, or remaining questions
	maxItem     = 1000 // bytes
)

// What an answer leaves open.
const (
	defaultKind       = "exploration"
	defaultConfidence = 0.5
	defaultPriority   = 5
)

// heard is a thought as a model gave it.
type heard struct {
	Text       string   `json:"text"`
	Kind       string   `json:"kind"`
	Confidence float64  `json:"confidence"`
	Importance float64  `json:"importance,omitempty"`
	Cites      []string `json:"cites,omitempty"`
}

// asked is a question as a model gave it.
type asked struct {
	Text     string `json:"text"`
	Priority int    `json:"priority"`
	Why      string `json:"why,omitempty"`
	Parent   string `json:"parent,omitempty"` // the id of the question it follows from, if the model says
}

// A summary is a synthesis.
type summary struct {
	Text       string   `json:"text,omitempty"`
	Insights   []string `json:"insights,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	Remaining  []string `json:"remaining,omitempty"`
}

// What models are asked for. The names are what prompts/*.md speak of.
type (
	thoughtsForm struct {
		Thoughts  []thoughtForm  `json:"thoughts" jsonschema:"3 to 5 distinct thoughts"`
		Questions []questionForm `json:"questions,omitempty" jsonschema:"up to 3 new questions that the thoughts raise"`
		Settled   bool           `json:"settled,omitempty" jsonschema:"true only if the question is simple and the thoughts answer it in full"`
	}
	thoughtForm struct {
		Thought    string   `json:"thought" jsonschema:"the thought, in one to four sentences"`
		Type       string   `json:"type" jsonschema:"exploration, critique, connection, insight, question or synthesis"`
		Confidence float64  `json:"confidence" jsonschema:"from 0 to 1: how likely it is true"`
		Importance float64  `json:"importance,omitempty" jsonschema:"from 0 to 1: how much it matters for the answer"`
		Cites      []string `json:"cites,omitempty" jsonschema:"ids of the passages it rests on, such as e3"`
	}
	questionsForm struct {
		Questions []questionForm `json:"questions" jsonschema:"up to 3 questions"`
		Ranked    []rankForm     `json:"ranked,omitempty" jsonschema:"open questions whose priority has changed"`
	}
	questionForm struct {
		Question string `json:"question"`
		Priority int    `json:"priority" jsonschema:"from 1 to 10: how much an answer would help"`
		Why      string `json:"why" jsonschema:"why it would help, in a sentence"`
		Parent   string `json:"parent,omitempty" jsonschema:"the id of the question it follows from, such as q3"`
	}
	rankForm struct {
		ID       string `json:"id" jsonschema:"the id of an open question"`
		Priority int    `json:"priority" jsonschema:"from 1 to 10: how much an answer would help now"`
	}
	summaryForm struct {
		Synthesis  string   `json:"synthesis" jsonschema:"what is understood so far"`
		Insights   []string `json:"insights" jsonschema:"the key insights, a sentence each"`
		Confidence float64  `json:"confidence" jsonschema:"from 0 to 1"`
		Remaining  []string `json:"remaining" jsonschema:"the questions that remain unanswered"`
	}
	answerForm struct {
		Answer     string   `json:"answer" jsonschema:"the whole answer, as Markdown"`
		Insights   []string `json:"insights" jsonschema:"the key insights, a sentence each"`
		Confidence float64  `json:"confidence" jsonschema:"from 0 to 1: how likely the answer is right"`
		Remaining  []string `json:"remaining" jsonschema:"the questions that remain open"`
	}
)

// The schemas. Nothing changes them.
var (
	thoughtsSchema  = llm.SchemaFor[thoughtsForm]("thoughts")
	questionsSchema = llm.SchemaFor[questionsForm]("questions")
	summarySchema   = llm.SchemaFor[summaryForm]("synthesis")
	answerSchema    = llm.SchemaFor[answerForm]("answer")
)

// An answer is what a call for thoughts came to.
type answer struct {
	thoughts []heard
	asked    []asked // the questions that came with them
	settled  bool    // nothing is left to ask
}

// readAnswer reads an answer to a call for thoughts.
func readAnswer(text string, prose bool) (a answer, err error) {
	if f, ok := inForm(text); ok {
		list, whole := f.thoughts()
		qs, _ := f.questions()
		if a = (answer{heardOnly(list), bounded(qs), f.Settled}); whole && len(a.thoughts) > 0 {
			return a, nil
		}
	}
	a.thoughts, err = readThoughts(text, prose)
	if err == nil {
		a.asked, a.settled = raised(text), settled(text)
	}
	return a, err
}

// readThoughts reads an answer that should be thoughts: as JSON in whatever
// words, or else as labelled text, or else, with prose, paragraph by paragraph.
// There is at least one if there is no error.
func readThoughts(text string, prose bool) ([]heard, error) {
	list := thoughtsInJSON(text)
	if len(list) == 0 {
		list = thoughtsInText(text)
	}
	if len(list) == 0 && prose {
		for _, p := range paragraphs(text) {
			list = append(list, heard{Text: p, Confidence: defaultConfidence})
		}
	}
	kept := heardOnly(list)
	if len(kept) == 0 {
		return nil, unread[thoughtsForm](text, thoughtsSchema, "there are no thoughts in the answer")
	}
	return kept, nil
}

// heardOnly returns those of a list of thoughts that say anything, each once, in the
// place of the list.
func heardOnly(list []heard) []heard {
	kept := list[:0]
	for _, h := range list {
		h.Text, h.Kind = clip(clean(h.Text), maxThought), kindOf(h.Kind)
		if len(kept) < maxThoughts && said(h.Text) && !repeated(kept, h.Text) {
			kept = append(kept, h)
		}
	}
	return kept
}

// raised reads the questions that come with thoughts, if there are any.
func raised(text string) (list []asked) {
	switch {
	case strings.Contains(text, `"questions"`):
		list, _, _ = readQuestions(text, false)
	case questionMark.MatchString(text):
		list = questionsInText(text)
	}
	return list[:min(len(list), maxQuestions)]
}

// questionMark matches a label of a question.
var questionMark = regexp.MustCompile(`(?m)^[\s*_#>-]*QUESTION[\s\d]*:`)

// settled reports whether an answer says that nothing is left to ask.
func settled(text string) bool {
	return (strings.Contains(text, "ettled") || strings.Contains(text, "ETTLED")) && settledMark.MatchString(text)
}

var settledMark = regexp.MustCompile(`(?i)\bsettled\b["*_]*\s*:\s*["*_]*(?:true|yes)\b`)

// A ranking is a new priority of a question.
type ranking struct {
	id       string
	priority int
}

// readRanks reads new priorities out of an answer to the question for questions.
func readRanks(text string) (list []ranking) {
	for _, m := range objects(text, "ranked") {
		list = append(list, ranking{strings.ToLower(strings.TrimSpace(m.text("id", "question_id"))), m.priority("priority")})
	}
	for _, m := range rankMark.FindAllStringSubmatch(text, maxOpen) {
		list = append(list, ranking{strings.ToLower(m[1]), priority(m[2])})
	}
	return list
}

// rankMark matches lines such as "RANK: q3 9".
var rankMark = regexp.MustCompile(`(?im)^\W*rank(?:ed)?\W+(q\d{1,6})\W+(\d{1,2})\b`)

func repeated(list []heard, text string) bool {
	for _, h := range list {
		if strings.EqualFold(h.Text, text) {
			return true
		}
	}
	return false
}

// readQuestions reads an answer that should be questions, and new priorities of
// those before. An answer in the right form may have none.
func readQuestions(text string, prose bool) ([]asked, []ranking, error) {
	if f, ok := inForm(text); ok {
		if list, whole := f.questions(); whole {
			return bounded(list), f.ranks(), nil
		}
	}
	list, ok := questionsInJSON(text)
	ranks := readRanks(text)
	if len(list) == 0 && !ok {
		list = questionsInText(text)
	}
	if len(list) == 0 && prose {
		list = questionsInProse(text)
	}
	kept := bounded(list)
	if len(kept) == 0 && !ok {
		return nil, nil, unread[questionsForm](text, questionsSchema, "there are no questions in the answer")
	}
	return kept, ranks, nil
}

// bounded returns those of a list of questions that say anything, as many as are
// taken, in the place of the list; nil if there are none.
func bounded(list []asked) []asked {
	kept := list[:0]
	for _, q := range list {
		q.Text, q.Why = clip(oneLine(q.Text), maxQuestion), clip(oneLine(q.Why), maxQuestion)
		if len(kept) < maxQuestions && said(q.Text) {
			kept = append(kept, q)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// readSummary reads an answer that should be a synthesis or the final answer.
func readSummary(text string, last, prose bool) (summary, error) {
	sum, ok := summaryInJSON(text)
	if !ok {
		sum, ok = summaryInText(text)
	}
	if !ok && prose {
		sum = summary{Text: unfenced(text), Confidence: defaultConfidence}
		ok = !looksLikeJSON(sum.Text)
	}
	sum.Text = clip(clean(sum.Text), maxAnswer)
	sum.Insights, sum.Remaining = items(sum.Insights), items(sum.Remaining)
	if !ok || !said(sum.Text) {
		if last {
			return summary{}, unread[answerForm](text, answerSchema, "there is no final answer in it")
		}
		return summary{}, unread[summaryForm](text, summarySchema, "there is no synthesis in the answer")
	}
	return sum, nil
}

// unread returns what is wrong with an answer that can't be read.
func unread[T any](text string, schema *llm.Schema, why string) error {
	if _, err := llm.Decode[T](text, schema); err != nil {
		return err
	}
	return errors.New(why)
}

// items bounds a list of short texts. It is nil if nothing is left.
func items(list []string) (kept []string) {
	for _, text := range list {
		if text = clip(oneLine(text), maxItem); said(text) && len(kept) < maxItems {
			kept = append(kept, text)
		}
	}
	return kept
}

// said reports whether a text says anything. What models write where they have
// nothing to say does not.
func said(text string) bool {
	switch strings.ToLower(strings.Trim(text, " .-–—*_[]()")) {
	case "", "none", "n/a", "na", "nothing", "null":
		return false
	}
	return true
}

// kindOf returns the kind of thought that a word means, in whatever spelling.
func kindOf(word string) string {
	for _, k := range kinds {
		if k.name == word {
			return k.name // not what keeps the answer
		}
	}
	word = strings.ToLower(strings.TrimLeft(fold(word), " \t*_`'\"[(<"))
	for _, k := range kinds {
		for _, stem := range k.stems {
			if strings.HasPrefix(word, stem) {
				return k.name
			}
		}
	}
	return defaultKind
}

// kinds are the kinds of thoughts with the beginnings of what models call them.
var kinds = []struct {
	name  string
	stems []string
}{
	{"exploration", []string{"explor", "hypothes", "idea"}},
	{"critique", []string{"crit", "krit", "counter", "objection", "challeng", "doubt"}},
	{"connection", []string{"connect", "connex", "link", "relat", "analog"}},
	{"insight", []string{"insight", "key insight", "realis", "realiz"}},
	{"question", []string{"question", "inquir"}},
	{"synthesis", []string{"synth", "summar"}},
}
