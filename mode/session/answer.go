package session

import (
	"errors"
	"regexp"
	"strings"
	"unicode"

	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/llm/structured"
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

// notGiven stands for a confidence that an answer leaves open, until it is read.
const notGiven = -1

// givenOr returns a confidence as it was given, or the default, which is assumed.
func givenOr(x float64) (confidence float64, assumed bool) {
	if x == notGiven {
		return defaultConfidence, true
	}
	return x, false
}

// heard is a thought as a model gave it.
type heard struct {
	Text       string   `json:"text"`
	Kind       string   `json:"kind"`
	Confidence float64  `json:"confidence"`
	Assumed    bool     `json:"assumed,omitempty"` // the confidence, which was not given
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
	Assumed    bool     `json:"assumed,omitempty"` // the confidence, which was not given
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
		qs, all := f.questions()
		if !all && len(f.Questions) > 0 {
			qs = raised(text)
		}
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
// words, if it is that or has all that was asked for; or else as labelled text, or as
// JSON within a text, or else, with prose, paragraph by paragraph. There is at least one
// if there is no error.
func readThoughts(text string, prose bool) ([]heard, error) {
	js := looksLikeJSON(unfenced(text))
	list, sure := thoughtsInJSON(text, js)
	var kept []heard
	if js || sure {
		kept = heardOnly(list)
	}
	if len(kept) == 0 {
		kept = heardOnly(thoughtsInText(text))
	}
	if len(kept) == 0 {
		kept = heardOnly(list)
	}
	if len(kept) == 0 && prose {
		kept = heardOnly(thoughtsInProse(text))
	}
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
		h.Text, h.Kind = textkit.TruncateBytes(textkit.CleanTrim(h.Text), maxThought), kindOf(h.Kind)
		h.Confidence, h.Assumed = givenOr(h.Confidence)
		h.Importance = max(0, h.Importance)
		if len(kept) < maxThoughts && said(h.Text) && !structured.IsRefusal(h.Text) && !repeated(kept, h.Text) {
			kept = append(kept, h)
		}
	}
	return kept
}

// raised reads the questions that come with thoughts, if there are any.
func raised(text string) (list []asked) {
	list, _ = questionsInJSON(text, false)
	if list = bounded(list); len(list) == 0 {
		list = bounded(labelledQuestions(text, raisedLabels))
	}
	return list
}

// settled reports whether an answer says that nothing is left to ask.
func settled(text string) bool {
	return (strings.Contains(text, "ettled") || strings.Contains(text, "ETTLED")) && settledMark.MatchString(text)
}

// settledMark matches the label of a line, or a member of an object.
var settledMark = regexp.MustCompile(`(?m)(?:^[\s*_#>-]*(?i:settled)|["'{,|]\s*(?i:settled)|\sSETTLED)["'*_]*\s*[:：][\s"'*_]{0,8}(?i:true|yes|ja|sí|oui|да|是)(?:[^\pL]|$)`)

// A ranking is a new priority of a question.
type ranking struct {
	id       string
	priority int
}

// ranksInText reads lines such as "RANK: q3 9", and those of a list of ranks.
func ranksInText(text string) (list []ranking) {
	for _, m := range rankMark.FindAllStringSubmatch(text, maxOpen) {
		list = append(list, ranking{m[1], priority(m[2])})
	}
	return list
}

var (
	rankMark   = regexp.MustCompile(`(?im)^[^\w\n]*(?:rank(?:ed|ing)?[^\w\n]+)?(q\d{1,6})[^\w\n]+(?:(?:priority|to)[^\w\n]+)?(\d{1,2}(?:\s*/\s*10)?)(?:[^\w\n].*)?$`)
	questionID = regexp.MustCompile(`(?i)^\s*q?\d{1,6}\s*$`)
)

func repeated(list []heard, text string) bool {
	for _, h := range list {
		if strings.EqualFold(h.Text, text) {
			return true
		}
	}
	return false
}

// readQuestions reads an answer that should be questions, and new priorities of
// those before. An answer in the right form may have none, and so may one that says so.
func readQuestions(text string, prose bool) ([]asked, []ranking, error) {
	if f, ok := inForm(text); ok {
		if list, whole := f.questions(); whole {
			return bounded(list), f.ranks(), nil
		}
	}
	js := looksLikeJSON(unfenced(text))
	list, ok := questionsInJSON(text, js)
	kept := bounded(list)
	if !ok || len(kept) == 0 {
		kept = bounded(questionsInText(text))
	}
	if len(kept) == 0 && prose {
		kept = bounded(questionsInProse(text))
	}
	ranks := ranksInJSON(text)
	if len(ranks) == 0 {
		ranks = ranksInText(text)
	}
	if len(kept) == 0 && len(ranks) == 0 && !ok && !asksNothing(text) {
		return nil, nil, unread[questionsForm](text, questionsSchema, "there are no questions in the answer")
	}
	return kept, tidied(ranks), nil
}

// tidied returns ranks with ids as questions have them.
func tidied(list []ranking) []ranking {
	for i, r := range list {
		list[i].id = "q" + strings.TrimLeft(strings.ToLower(strings.TrimSpace(r.id)), "q")
	}
	return list
}

// bounded returns those of a list of questions that say anything, as many as are
// taken, in the place of the list; nil if there are none.
func bounded(list []asked) []asked {
	kept := list[:0]
	for _, q := range list {
		q.Text, q.Why = textkit.TruncateBytes(textkit.OneLine(q.Text), maxQuestion), textkit.TruncateBytes(textkit.OneLine(q.Why), maxQuestion)
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
	sum, ok, sure := summaryInJSON(text)
	if labelled, is := summaryInText(text); is && !sure {
		sum, ok = labelled, true
	}
	if !ok && prose {
		sum = summary{Text: unfenced(text), Confidence: notGiven}
		ok = !looksLikeJSON(sum.Text)
	}
	sum.Text = textkit.TruncateBytes(textkit.CleanTrim(sum.Text), maxAnswer)
	sum.Confidence, sum.Assumed = givenOr(sum.Confidence)
	sum.Insights, sum.Remaining = items(sum.Insights), items(sum.Remaining)
	if structured.IsRefusal(sum.Text) {
		return summary{}, errors.New("it refuses to answer")
	}
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
		if text = textkit.TruncateBytes(textkit.OneLine(text), maxItem); said(text) && len(kept) < maxItems {
			kept = append(kept, text)
		}
	}
	return kept
}

// kindOf returns the kind of thought that a word means, in whatever spelling.
func kindOf(word string) string {
	for _, k := range kinds {
		if k.name == word {
			return k.name // not what keeps the answer
		}
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(textkit.TruncateBytes(fold(word), maxHead)), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
		for _, k := range kinds {
			for _, stem := range k.stems {
				if strings.HasPrefix(word, stem) {
					return k.name
				}
			}
		}
	}
	return defaultKind
}

// kinds are the kinds of thoughts with the beginnings of what models call them, in the
// languages of labels.txt.
var kinds = []struct {
	name  string
	stems []string
}{
	{"exploration", []string{"explor", "hypoth", "idea", "erkund", "esplor", "исслед", "гипотез", "探索", "假设", "탐색", "탐구"}},
	{"critique", []string{"crit", "krit", "crít", "counter", "objection", "challeng", "doubt", "einwand", "gegen", "критик", "возраж", "批判", "批评", "评论", "质疑", "비판", "비평"}},
	{"connection", []string{"connect", "connex", "conex", "link", "relat", "analog", "verbind", "zusammenh", "verknüpf", "colleg", "connession", "связ", "联系", "关联", "连接", "関連", "つながり", "接続", "연결", "연관"}},
	{"insight", []string{"insight", "realis", "realiz", "einsicht", "erkennt", "intuition", "perspicac", "percep", "intuizion", "озарен", "инсайт", "вывод", "洞察", "洞见", "见解", "통찰"}},
	{"question", []string{"question", "inquir", "frage", "pregunt", "domand", "pergunt", "вопрос", "问题", "疑问", "質問", "疑問", "질문"}},
	{"synthesis", []string{"synth", "summar", "síntes", "sintes", "zusammenf", "résum", "resum", "синтез", "обобщ", "综合", "总结", "統合", "総合", "종합"}},
}
