package session

import (
	"encoding/json"
	"errors"
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
	Text       string
	Kind       string
	Confidence float64
	Cites      []string
}

// asked is a question as a model gave it.
type asked struct {
	Text     string
	Priority int
	Why      string
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
		Thoughts []thoughtForm `json:"thoughts" jsonschema:"3 to 5 distinct thoughts"`
	}
	thoughtForm struct {
		Thought    string   `json:"thought" jsonschema:"the thought, in one to four sentences"`
		Type       string   `json:"type" jsonschema:"exploration, critique, connection, insight, question or synthesis"`
		Confidence float64  `json:"confidence" jsonschema:"from 0 to 1: how likely it is true"`
		Cites      []string `json:"cites,omitempty" jsonschema:"ids of the passages it rests on, such as e3"`
	}
	questionsForm struct {
		Questions []questionForm `json:"questions" jsonschema:"up to 3 questions"`
	}
	questionForm struct {
		Question string `json:"question"`
		Priority int    `json:"priority" jsonschema:"from 1 to 10: how much an answer would help"`
		Why      string `json:"why" jsonschema:"why it would help, in a sentence"`
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
			list = append(list, heard{Text: p})
		}
	}
	var kept []heard
	for _, h := range list {
		h.Text, h.Kind = clip(clean(h.Text), maxThought), kindOf(h.Kind)
		if len(kept) < maxThoughts && said(h.Text) && !repeated(kept, h.Text) {
			kept = append(kept, h)
		}
	}
	if len(kept) == 0 {
		return nil, unread[thoughtsForm](text, thoughtsSchema, "there are no thoughts in the answer")
	}
	return kept, nil
}

func repeated(list []heard, text string) bool {
	for _, h := range list {
		if strings.EqualFold(h.Text, text) {
			return true
		}
	}
	return false
}

// readQuestions reads an answer that should be questions. An answer in the right
// form may have none.
func readQuestions(text string, prose bool) ([]asked, error) {
	list, ok := questionsInJSON(text)
	if len(list) == 0 && !ok {
		list = questionsInText(text)
	}
	if len(list) == 0 && prose {
		list = questionsInProse(text)
	}
	var kept []asked
	for _, q := range list {
		q.Text, q.Why = clip(oneLine(q.Text), maxQuestion), clip(oneLine(q.Why), maxQuestion)
		if len(kept) < maxQuestions && said(q.Text) {
			kept = append(kept, q)
		}
	}
	if len(kept) == 0 && !ok {
		return nil, unread[questionsForm](text, questionsSchema, "there are no questions in the answer")
	}
	return kept, nil
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

// thoughtsInJSON reads thoughts out of the JSON in text.
func thoughtsInJSON(text string) (list []heard) {
	for _, m := range objects(text, "thoughts") {
		h := heard{
			Text: m.text("thought", "thought_text", "text", "content", "idea"), Kind: m.text("type", "thought_type", "kind", "category"),
			Confidence: m.share("confidence", "confidence_level", "certainty"), Cites: m.list("cites", "citations", "sources", "evidence"),
		}
		if h.Text != "" {
			list = append(list, h)
		}
	}
	return list
}

// questionsInJSON reads questions, and reports whether text has a list for them,
// though it may be empty.
func questionsInJSON(text string) (list []asked, ok bool) {
	all := objects(text, "questions")
	for _, m := range all {
		q := asked{
			Text: m.text("question", "question_text", "text", "content"), Why: m.text("why", "reason", "rationale", "explanation"),
			Priority: m.priority("priority", "importance"),
		}
		if q.Text != "" {
			list = append(list, q)
		}
	}
	return list, all != nil && (len(all) == 0 || len(list) > 0)
}

// summaryInJSON reads a synthesis or an answer.
func summaryInJSON(text string) (summary, bool) {
	for _, m := range objects(text, "") {
		sum := summary{
			Text:     m.text("synthesis", "answer", "synthesis_text", "final_answer", "summary", "text", "content"),
			Insights: m.list("insights", "key_insights"), Confidence: m.share("confidence", "confidence_level"),
			Remaining: m.list("remaining", "remaining_questions", "open_questions", "open"),
		}
		if sum.Text != "" {
			return sum, true
		}
	}
	return summary{}, false
}

// An object is a JSON object whose names are in lower case.
type object map[string]any

// objects returns the objects of the list that the JSON in text has under a
// name, or is, or that has but one element; nil if there is no such thing.
func objects(text, name string) []object {
	js, err := llm.Repair(text)
	if err != nil {
		return nil
	}
	var v any
	if json.Unmarshal(js, &v) != nil {
		return nil
	}
	named := false
	for range 3 { // such as {"response": {"thoughts": [...]}}
		m, ok := v.(map[string]any)
		if !ok {
			break
		}
		low := lower(m)
		inner, ok := low[name]
		if named = named || ok; ok {
			v = inner
			continue
		}
		if v = only(low); v == nil {
			return []object{low}
		}
	}
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	all := []object{}
	for _, e := range list[:min(len(list), 4*maxThoughts)] {
		switch e := e.(type) {
		case map[string]any:
			all = append(all, lower(e))
		case string:
			if named || strings.Contains(e, " ") { // else it may be a citation, as in [e3]
				all = append(all, object{"text": e})
			}
		}
	}
	if len(all) == 0 && len(list) > 0 {
		return nil
	}
	return all
}

// only returns the value of an object's only member, if it is no scalar.
func only(m object) any {
	for _, v := range m {
		switch v.(type) {
		case map[string]any, []any:
			if len(m) == 1 {
				return v
			}
		}
	}
	return nil
}

func lower(m map[string]any) object {
	low := make(object, len(m))
	for k, v := range m {
		low[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(k)), " ", "_")] = v
	}
	return low
}

// text returns the first member of these names that is a text.
func (m object) text(names ...string) string {
	for _, name := range names {
		if s, ok := m[name].(string); ok && strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// share returns a member as a number from 0 to 1.
func (m object) share(names ...string) float64 {
	for _, name := range names {
		switch v := m[name].(type) {
		case float64:
			return scaled(v)
		case string:
			return share(v)
		}
	}
	return defaultConfidence
}

// priority returns a member as a number from 1 to 10.
func (m object) priority(names ...string) int {
	for _, name := range names {
		switch v := m[name].(type) {
		case float64:
			return ranked(v)
		case string:
			return priority(v)
		}
	}
	return defaultPriority
}

// list returns a member as a list of texts.
func (m object) list(names ...string) (list []string) {
	for _, name := range names {
		switch v := m[name].(type) {
		case string:
			return splitItems(v)
		case []any:
			for _, e := range v {
				if text := itemText(e); text != "" {
					list = append(list, text)
				}
			}
			return list
		}
	}
	return nil
}

// itemText returns the text of an element of a list, which may be an object.
func itemText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		js, _ := json.Marshal(v) // a number can be marshalled
		return string(js)
	case map[string]any:
		return lower(v).text("insight", "question", "text", "content", "id")
	}
	return ""
}
