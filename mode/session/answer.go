package session

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/llm/structured"
	"ponder/mode/internal/lookup"
)

const (
	maxThoughts = 8
	maxThought  = 4000 // bytes
	maxItems    = 12   // insights, or remaining questions
	maxItem     = 1000 // bytes
)

const (
	defaultKind       = "exploration"
	defaultConfidence = 0.5
	defaultPriority   = 5
)

// notGiven marks a missing confidence during parsing.
const notGiven = -1

// confidenceOrDefault returns a confidence, or the default with assumed set.
func confidenceOrDefault(x float64) (confidence float64, assumed bool) {
	if x == notGiven {
		return defaultConfidence, true
	}
	return x, false
}

type modelThought struct {
	Text       string   `json:"text"`
	Kind       string   `json:"kind"`
	Confidence float64  `json:"confidence"`
	Assumed    bool     `json:"assumed,omitempty"` // the confidence is the default
	Importance float64  `json:"importance,omitempty"`
	Cites      []string `json:"cites,omitempty"`
}

// modelQuestion is a question as parsed.
type modelQuestion struct {
	Text     string `json:"text"`
	Priority int    `json:"priority"`
	Why      string `json:"why,omitempty"`
	Parent   string `json:"parent,omitempty"` // id of the originating question, if given
}

type summary struct {
	Text       string   `json:"text,omitempty"`
	Insights   []string `json:"insights,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	Assumed    bool     `json:"assumed,omitempty"` // the confidence is the default
	Remaining  []string `json:"remaining,omitempty"`
}

// Schemas of answers with alternative labels. prompts/*.md use the names.
type (
	thoughtsForm struct {
		Thoughts  []thoughtForm  `json:"thoughts" jsonschema:"3 to 5 distinct thoughts" bounds:"1,5"`
		Questions []questionForm `json:"questions,omitempty" jsonschema:"up to 3 new questions that the thoughts raise" bounds:"0,3" labels:"new questions"`
		Settled   bool           `json:"settled,omitempty" jsonschema:"true only if the question is simple and the thoughts answer it in full"`
	}
	thoughtForm struct {
		Thought    string   `json:"thought" jsonschema:"the thought, in one to four sentences" bounds:"10" labels:"thought text,text,content"`
		Type       string   `json:"type" enum:"exploration,critique,connection,insight,question,synthesis" labels:"thought type,kind"`
		Confidence *float64 `json:"confidence" jsonschema:"from 0 to 1: how likely it is true" bounds:"0,1" labels:"confidence score,confidence level"`
		Importance *float64 `json:"importance,omitempty" jsonschema:"from 0 to 1: how much it matters for the answer" bounds:"0,1"`
		Cites      []string `json:"cites,omitempty" jsonschema:"ids of the passages it rests on, such as e3" labels:"sources,citations,evidence"`
	}
	questionsForm struct {
		Questions []questionForm `json:"questions" jsonschema:"up to 3 questions" bounds:"0,3" labels:"new questions"`
		Ranked    []rankForm     `json:"ranked,omitempty" jsonschema:"open questions whose priority has changed" bounds:"0,10" labels:"rank"`
	}
	questionForm struct {
		Question string `json:"question" bounds:"5" labels:"question text,text"`
		Priority *int   `json:"priority" jsonschema:"from 1 to 10: how much an answer would help" bounds:"1,10" scale:"10"`
		Why      string `json:"why" jsonschema:"why it would help, in a sentence" labels:"reason,rationale"`
		Parent   string `json:"parent,omitempty" jsonschema:"the id of the question it follows from, such as q3"`
	}
	rankForm struct {
		ID       string `json:"id" jsonschema:"the id of an open question"`
		Priority *int   `json:"priority" jsonschema:"from 1 to 10: how much an answer would help now" bounds:"1,10" scale:"10"`
	}
	summaryForm struct {
		Synthesis  string   `json:"synthesis" jsonschema:"what is understood so far" bounds:"10" labels:"answer,final answer,final synthesis,updated synthesis,current understanding,synthesis text,response,conclusion"`
		Insights   []string `json:"insights" jsonschema:"the key insights, a sentence each" bounds:"0,5" labels:"key insights,key takeaways"`
		Confidence *float64 `json:"confidence" jsonschema:"from 0 to 1" bounds:"0,1" labels:"confidence level,confidence score,overall confidence"`
		Remaining  []string `json:"remaining" jsonschema:"the questions that remain unanswered" bounds:"0,5" labels:"remaining questions,open questions,unanswered questions,remaining unanswered questions,what remains open"`
	}
	// answerForm is no longer requested, but still read: an answer is Markdown.
	answerForm struct {
		Answer     string   `json:"answer" jsonschema:"the whole answer, as Markdown"`
		Insights   []string `json:"insights" jsonschema:"the key insights, a sentence each"`
		Confidence float64  `json:"confidence" jsonschema:"from 0 to 1: how likely the answer is right"`
		Remaining  []string `json:"remaining" jsonschema:"the questions that remain open"`
	}
)

// Schemas and parsers of answers, read-only. A synthesis and an answer have the same form.
var (
	thoughtsSchema  = llm.SchemaFor[thoughtsForm]("thoughts")
	questionsSchema = llm.SchemaFor[questionsForm]("questions")
	summarySchema   = llm.SchemaFor[summaryForm]("synthesis")
	answerSchema    = llm.SchemaFor[answerForm]("answer")

	thoughtsAnswer  = structured.New[thoughtsForm](thoughtsSchema)
	questionsAnswer = structured.New[questionsForm](questionsSchema)
	summaryAnswer   = structured.New[summaryForm](summarySchema)
	finalAnswer     = structured.New[summaryForm](answerSchema)
)

type parsedThoughts struct {
	thoughts  []modelThought
	questions []modelQuestion
	settled   bool
}

// answerCheck rejects texts without content of their own.
var answerCheck = structured.NewValidator(
	systemPrompt, thoughtsPrompt, questionsPrompt, synthesisPrompt, finalPrompt, ownPassages, webPassages,
	openTitle, correctedTitle, othersTitle, exploredTitle, remainingTitle, droppedTitle, historyTitle,
	string(thoughtsSchema.JSON), string(questionsSchema.JSON), string(summarySchema.JSON), string(answerSchema.JSON),
	noThoughts, noQuestions, noSynthesis, noAnswer,
)

// Faults of answers, for the model. Small models copy them.
const (
	noThoughts  = "the answer contains no thoughts"
	noQuestions = "the answer contains no questions"
	noSynthesis = "the answer contains no synthesis"
	noAnswer    = "the answer contains no final answer"
)

var errRefused = errors.New("the model refused to answer")

// readAnswer parses thoughts on a question. With prose, paragraphs count as thoughts. Without an
// error there is at least one thought.
func readAnswer(text, question, focus string, prose bool) (a parsedThoughts, err error) {
	f, _ := thoughtsAnswer.Read(text)
	for _, t := range f.Thoughts {
		h := modelThought{Text: t.Thought, Kind: t.Type, Confidence: optionalShare(t.Confidence), Cites: citedIDs(t.Cites)}
		if t.Importance != nil {
			h.Importance = scaleToShare(*t.Importance)
		}
		a.thoughts = append(a.thoughts, h)
	}
	if a.thoughts = validThoughts(a.thoughts, question, focus); len(a.thoughts) == 0 && prose {
		for _, p := range structured.Paragraphs(text) {
			a.thoughts = append(a.thoughts, modelThought{Text: stripEmptyLabel(p), Confidence: notGiven})
		}
		a.thoughts = validThoughts(a.thoughts, question, focus)
	}
	switch {
	case len(a.thoughts) > 0:
	case structured.IsRefusal(textkit.CleanTrim(text)):
		return parsedThoughts{}, errRefused
	default:
		return parsedThoughts{}, thoughtsAnswer.Fault(text, noThoughts)
	}
	a.questions = validQuestions(convertQuestions(f.Questions), question)
	a.settled = f.Settled && len(a.thoughts) >= len(f.Thoughts) // small models repeat themselves, and are sure
	return a, nil
}

func validThoughts(list []modelThought, question, focus string) []modelThought {
	kept := list[:0]
	for _, h := range list {
		h.Text, h.Kind = textkit.TruncateBytes(textkit.CleanTrim(answerCheck.CleanAnswer(h.Text, question)), maxThought), thoughtKind(h.Kind)
		h.Confidence, h.Assumed = confidenceOrDefault(h.Confidence)
		h.Importance = max(0, h.Importance)
		if answerCheck.Fault(h.Text, question) == "" && !answerCheck.IsQuestion(h.Text, focus) && !structured.IsRefusal(h.Text) {
			kept = append(kept, h)
		}
	}
	kept = structured.DropPrefixes(kept, func(h modelThought) string { return h.Text })
	return kept[:min(len(kept), maxThoughts)]
}

// stripEmptyLabel returns text, or "" for an empty label such as "THOUGHT: none".
func stripEmptyLabel(text string) string {
	if _, rest, ok := strings.Cut(text, ":"); ok && !hasText(rest) {
		return ""
	}
	return text
}

func hasText(text string) bool { return structured.HasContent(text) }

func citedIDs(list []string) (ids []string) {
	for _, text := range list {
		for _, id := range evidenceID.FindAllString(text, maxItems) {
			ids = append(ids, strings.ToLower(id))
		}
	}
	return ids
}

var evidenceID = regexp.MustCompile(`\b[eE]\d{1,6}\b`)

// convertQuestions converts parsed questions. A priority may follow the question in brackets.
func convertQuestions(list []questionForm) (all []modelQuestion) {
	for _, q := range list {
		a := modelQuestion{Text: q.Question, Why: q.Why, Parent: q.Parent, Priority: clampPriority(q.Priority)}
		if text, rest, ok := cutQuestion(q.Question); ok && q.Priority == nil {
			a.Text = text
			if m := bracketedPriority.FindStringSubmatch(rest); m != nil {
				n, _ := strconv.Atoi(m[1])
				a.Priority, rest = clampPriority(&n), rest[len(m[0]):]
			}
			a.Why = cmp.Or(a.Why, strings.TrimLeft(rest, " *_-–—:."))
		}
		a.Text = strings.TrimRight(a.Text, ",; ")
		all = append(all, a)
	}
	return all
}

// bracketedPriority matches a priority after a question.
var bracketedPriority = regexp.MustCompile(`^\s*[(\[](?i:priority)?[\s:]*(\d{1,2})(?:/10)?[)\]]`)

// cutQuestion splits text after its first question.
func cutQuestion(text string) (question, rest string, ok bool) {
	i := strings.IndexAny(text, "?？؟")
	if i < 0 {
		return "", "", false
	}
	_, n := utf8.DecodeRuneInString(text[i:])
	return strings.Trim(text[:i+n], "*_ "), strings.TrimLeft(text[i+n:], "*_ "), true
}

type questionRank struct {
	id       string
	priority int
}

func convertRanks(list []rankForm) (all []questionRank) {
	for _, r := range list {
		m := rankLine.FindStringSubmatch(r.ID)
		if m == nil || r.Priority == nil && m[2] == "" {
			continue
		}
		if n, err := strconv.Atoi(m[2]); err == nil && r.Priority == nil {
			r.Priority = &n
		}
		all = append(all, questionRank{"q" + m[1], clampPriority(r.Priority)})
	}
	return all[:min(len(all), maxOpen)]
}

var rankLine = regexp.MustCompile(`(?i)^\W*q?(\d{1,6})(?:[^\w\n]+(?:priority\W+)?(\d{1,2}))?\b`)

// readQuestions parses new questions and priorities. An answer may say that there are none. With
// prose, each line with a question counts.
func readQuestions(text, question string, prose bool) ([]modelQuestion, []questionRank, error) {
	f, ok := questionsAnswer.Read(text)
	kept, ranks := validQuestions(convertQuestions(f.Questions), question), convertRanks(f.Ranked)
	if bare := structured.TrimFence(text); len(kept) == 0 && !structured.IsJSON(bare) {
		var list []questionForm
		for line := range strings.SplitSeq(bare, "\n") {
			item := structured.TrimBullet(line)
			if _, _, asks := cutQuestion(item); asks && (prose || item != strings.TrimSpace(line)) {
				list = append(list, questionForm{Question: item})
			}
		}
		kept = validQuestions(convertQuestions(list), question)
	}
	if len(kept) == 0 && len(ranks) == 0 && !ok && !hasNoQuestions(text) {
		return nil, nil, questionsAnswer.Fault(text, noQuestions)
	}
	return kept, ranks, nil
}

func hasNoQuestions(text string) bool {
	text = structured.TrimFence(text)
	return text != "" && (!hasText(text) || len(text) <= maxItem/5 && asksNone.MatchString(text))
}

var asksNone = regexp.MustCompile(`(?i)^(?:there (?:is|are) )?(?:no|none|nothing)\b[^?\n]{0,160}(?:question|ask|explore|new|arise|added?)`)

// validQuestions returns the valid questions within limits, or nil.
func validQuestions(list []modelQuestion, question string) []modelQuestion {
	kept := list[:0]
	for _, q := range list {
		q.Text, q.Why = textkit.TruncateBytes(textkit.OneLine(structured.DropRepeats(q.Text)), maxQuestion), textkit.TruncateBytes(textkit.OneLine(q.Why), maxQuestion)
		if answerCheck.EchoFault(q.Why) != "" {
			q.Why = ""
		}
		if answerCheck.Fault(q.Text, question) == "" && strings.ContainsFunc(q.Text, unicode.IsLetter) {
			kept = append(kept, q)
		}
	}
	kept = structured.DropPrefixes(kept, func(q modelQuestion) string { return q.Text })
	if len(kept) == 0 {
		return nil
	}
	return kept[:min(len(kept), maxQuestions)]
}

// readSummary parses a synthesis or the final answer to a question. With prose, the whole text
// counts.
func readSummary(text, question string, last, prose bool) (summary, error) {
	form, why := summaryAnswer, noSynthesis
	var f summaryForm
	markdown := false
	if last {
		form, why = finalAnswer, noAnswer
		f, markdown = readMarkdown(text)
	}
	if !markdown {
		f, _ = form.Read(text)
	}
	sum := summary{Text: f.Synthesis, Insights: cleanItems(f.Insights), Remaining: cleanItems(f.Remaining)}
	sum.Confidence, sum.Assumed = confidenceOrDefault(optionalShare(f.Confidence))
	if prose && !hasText(sum.Text) {
		if sum.Text = structured.TrimFence(text); structured.IsJSON(sum.Text) {
			sum.Text = strings.Join(structured.Paragraphs(text), "\n\n")
		}
		sum.Text = stripEmptyLabel(sum.Text)
	}
	sum.Text = answerCheck.CleanAnswer(sum.Text, question)
	sum.Text = textkit.TruncateBytes(textkit.CleanTrim(sum.Text), maxAnswer)
	switch {
	case structured.IsRefusal(sum.Text):
		return summary{}, errRefused
	case answerCheck.EchoFault(sum.Text) != "" || answerCheck.IsQuestion(sum.Text, question):
		if markdown {
			return summary{}, errors.New(why)
		}
		return summary{}, form.Fault(text, why)
	}
	return sum, nil
}

func optionalShare(x *float64) float64 {
	if x == nil {
		return notGiven
	}
	return scaleToShare(*x)
}

// scaleToShare converts a number to a share: as is below 2, else out of ten or a hundred.
func scaleToShare(x float64) float64 {
	switch {
	case x < 2:
		return lookup.ClampUnit(x)
	case x <= 10:
		return lookup.ClampUnit(x / 10)
	}
	return lookup.ClampUnit(x / 100)
}

func clampPriority(n *int) int {
	if n == nil {
		return defaultPriority
	}
	return min(max(*n, 1), 10)
}

func cleanItems(list []string) (kept []string) {
	for _, text := range list {
		if text = textkit.TruncateBytes(textkit.OneLine(text), maxItem); answerCheck.EchoFault(text) == "" && len(kept) < maxItems {
			kept = append(kept, text)
		}
	}
	return kept
}

func thoughtKind(word string) string {
	for _, k := range kinds {
		if k.name == word {
			return k.name // a literal would retain the whole answer
		}
	}
	notLetter := func(r rune) bool { return !unicode.IsLetter(r) }
	for _, word := range strings.FieldsFunc(strings.ToLower(textkit.TruncateBytes(word, maxItem)), notLetter) {
		for _, k := range kinds {
			if slices.ContainsFunc(k.stems, func(stem string) bool { return strings.HasPrefix(word, stem) }) {
				return k.name
			}
		}
	}
	return defaultKind
}

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
