package research

import (
	_ "embed" // for the prompts
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/redact"
	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
	"ponder/llm"
	"ponder/mode/internal/background"
	"ponder/mode/internal/lookup"
)

//go:embed plan.md
var planPrompt string

// Bounds on calls of planning.
const (
	maxAsked   = 16 << 10 // bytes of the question
	maxWish    = 8 << 10  // bytes of what the owner wants
	planTokens = 1500
)

// A plan is what to look for, and where.
type plan struct {
	Steps  []string `json:"steps,omitempty"`
	Terms  []string `json:"terms,omitempty"`
	Web    []string `json:"web,omitempty"`    // queries
	Memory []string `json:"memory,omitempty"` // likewise, of the memory and the documents
}

// planForm is what a model is asked for. plan.md speaks of its names.
type planForm struct {
	Steps  []string `json:"plan" jsonschema:"2 to 6 steps of the research, a short sentence each"`
	Terms  []string `json:"importantTerms" jsonschema:"up to 8 names, numbers and terms that a good source would have"`
	Web    []string `json:"webQueries" jsonschema:"up to 3 queries for a search engine, a few words each; none if the web is not searched"`
	Memory []string `json:"memoryQueries" jsonschema:"up to 3 queries of the user's own notes and documents; none if they are not searched"`
}

var planSchema = llm.SchemaFor[planForm]("research_plan")

// planRequest returns the request for a plan of research.
func planRequest(question string, o Options) llm.Request {
	var b strings.Builder
	b.WriteString("The question:\n<question>\n" + framed(textkit.TruncateBytes(textkit.CleanTrim(question), maxAsked)) + "\n</question>\n")
	b.WriteString("\nWhat is searched: " + o.searched() + ".\n\nPlan the research.\n")
	return llm.Request{
		System: planPrompt + wish(o), Schema: planSchema, MaxTokens: planTokens, Messages: []llm.Message{llm.Say(llm.User, b.String())},
	}
}

// planCall returns the request for a plan, with what was on the user's mind when it was
// asked for.
func (s *state) planCall() llm.Request {
	req := planRequest(s.run.Input, s.opts)
	if len(s.Mind) > 0 {
		mind := background.Background(s.Mind, lookup.Tame) + "It is private: it may say what the question is about, but no name, number or word of it goes into a query for the web.\n\n"
		req.Messages = []llm.Message{llm.Say(llm.User, mind+req.Messages[0].Text())}
	}
	return req
}

// wish returns what the owner wants of all answers, to stand behind a system prompt.
func wish(o Options) string {
	if o.Prompt == "" {
		return ""
	}
	return "\nWhat the owner wants of all answers, which the plan is to serve:\n" + textkit.TruncateBytes(textkit.CleanTrim(o.Prompt), maxWish) + "\n"
}

// searched says what is searched.
func (o Options) searched() string {
	var list []string
	if o.Web {
		list = append(list, "the web (webQueries)")
	}
	if o.Memory {
		list = append(list, "what the user has remembered (memoryQueries)")
	}
	if len(o.Docs) > 0 {
		list = append(list, "the user's documents (memoryQueries)")
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// framed returns foreign text that can't end the frame it stands in, or begin another.
func framed(s string) string { return frames.Replace(s) }

var frames = strings.NewReplacer("<", "‹", ">", "›")

// readPlan reads a plan out of what a model answered: JSON in whatever names, or lists
// with headings. It has a query at least. An error is one line, which is sent back.
func readPlan(answer string) (plan, error) {
	m := readLists(answer, planNames)
	p := plan{Steps: texts(m["steps"], maxSteps), Terms: texts(m["terms"], maxTerms), Web: queries(m["web"]), Memory: queries(m["memory"])}
	if all := queries(m["queries"]); len(all) > 0 {
		if len(p.Web) == 0 {
			p.Web = all
		}
		if len(p.Memory) == 0 {
			p.Memory = all
		}
	}
	if len(p.Web)+len(p.Memory) == 0 {
		return plan{}, errors.New("there are no queries in the answer: give webQueries or memoryQueries")
	}
	return p, nil
}

// planNames has what models call the parts of a plan: without signs, in lower case.
var planNames = map[string]string{
	"plan": "steps", "steps": "steps", "researchplan": "steps", "plansteps": "steps", "researchsteps": "steps",
	"importantterms": "terms", "terms": "terms", "keyterms": "terms", "keywords": "terms", "searchterms": "terms",
	"webqueries": "web", "web": "web", "webquery": "web", "websearch": "web", "websearches": "web", "websearchqueries": "web", "searchqueries": "web",
	"memoryqueries": "memory", "memory": "memory", "memoryquery": "memory", "memorysearch": "memory", "memorysearches": "memory", "memorysearchqueries": "memory",
	"documentqueries": "memory", "documents": "memory", "notes": "memory",
	"queries": "queries", "query": "queries",
}

// maxListed bounds how many elements of a list are read.
const maxListed = 50

// readLists reads named lists out of an answer, by the names that are meant.
func readLists(answer string, names map[string]string) map[string][]string {
	found := make(map[string][]string)
	if js, err := llm.Repair(answer); err == nil {
		var v any
		if json.Unmarshal(js, &v) == nil {
			collect(found, v, names, 0)
		}
	}
	if len(found) == 0 {
		readProse(found, answer, names)
	}
	return found
}

// collect finds named values in JSON, also one or two levels down, as in
// {"response": {...}} and {"queries": {"web": [...]}}.
func collect(found map[string][]string, v any, names map[string]string, depth int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v[:min(len(v), maxListed)] {
			if _, ok := e.(map[string]any); ok && depth < 3 {
				collect(found, e, names, depth+1)
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) { // in an order that is the same for ever
			e := v[key]
			inner, nested := e.(map[string]any)
			if name, ok := names[bareName(key)]; ok && !nested {
				found[name] = append(found[name], listOf(e)...)
			} else if nested && depth < 3 {
				collect(found, inner, names, depth+1)
			}
		}
	}
}

// bareName returns the letters of a name, in lower case.
func bareName(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, textkit.TruncateBytes(s, maxShown))
}

// listOf returns a value as texts: a list, a text with an element on each line, or an
// object that has a text.
func listOf(v any) (list []string) {
	switch v := v.(type) {
	case string:
		for line := range strings.Lines(v) {
			list = append(list, unmarked(line))
		}
	case bool:
		if v {
			list = append(list, "true")
		}
	case []any:
		for _, e := range v[:min(len(v), maxListed)] {
			if m, ok := e.(map[string]any); ok {
				e = textIn(m)
			}
			if s, ok := e.(string); ok {
				list = append(list, unmarked(s))
			}
		}
	}
	return list
}

// textIn returns the text of an element that is an object.
func textIn(m map[string]any) string {
	for _, name := range []string{"query", "q", "text", "step", "term", "description", "title", "name"} {
		if s, ok := m[name].(string); ok {
			return s
		}
	}
	return ""
}

// bullet matches what a line of a list begins with.
var bullet = regexp.MustCompile(`^\s*(?:[-*+•·–]\s+|\(?\d{1,2}[.):]\s*|\[[ xX]?\]\s*)+`)

// unmarked returns a line of a list without its mark, and without quotation marks and
// bold type around it.
func unmarked(line string) string {
	return strings.TrimSpace(strings.Trim(strings.TrimSpace(bullet.ReplaceAllString(line, "")), "\"“”*`"))
}

// readProse reads lists under headings: "Web queries:" and lines, or what stands behind
// the colon. Numbered lines before any heading are of "steps".
func readProse(found map[string][]string, answer string, names map[string]string) {
	at := ""
	n := 0
	for line := range strings.Lines(textkit.TruncateBytes(textkit.CleanTrim(answer), 64<<10)) {
		head, rest, colon := strings.Cut(strings.Trim(unmarked(line), "#* "), ":")
		name, ok := names[bareName(head)]
		switch {
		case ok && (colon || strings.ContainsAny(line, "#*")):
			at = name
			if rest = unmarked(strings.Trim(rest, "* ")); rest == "" {
				continue
			}
			for one := range strings.SplitSeq(rest, ";") {
				found[at] = append(found[at], unmarked(one))
			}
		case n < 4*maxListed && bullet.MatchString(line):
			name = at
			if name == "" {
				name = "steps"
			}
			found[name] = append(found[name], unmarked(line))
		case strings.TrimSpace(line) != "" && !strings.HasPrefix(strings.TrimSpace(line), "```"):
			if at != "" && len(found[at]) > 0 {
				at = "" // prose that follows a list is not of it
			}
		}
		n++
	}
}

// texts returns at most n texts of a list, each as a line, within bounds, and once.
func texts(list []string, n int) (kept []string) {
	for _, s := range list {
		if s = textkit.TruncateBytes(textkit.OneLine(s), maxItem); len(kept) < n && s != "" && !repeated(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// queries returns the queries of a list that may be asked, each once.
func queries(list []string) (kept []string) {
	for _, s := range list {
		if s = cleaned(s); len(kept) < maxQueries && s != "" && !repeated(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

func repeated(list []string, s string) bool {
	for _, o := range list {
		if lexical.Fold(o) == lexical.Fold(s) {
			return true
		}
	}
	return false
}

// redactor takes out of queries what must not leave the machine: they go to providers
// of searches. The options are right, so there is no error.
var redactor, _ = redact.New(redact.Options{Patterns: []string{redact.Emails}})

// removed matches what a redactor leaves of what it takes out.
var removed = regexp.MustCompile(`\S*\[redacted: [^\]]*\]\S*`)

// maxWord is the longest word of a query, in bytes: what is longer is no word, and may
// carry what nobody is to be told.
const maxWord = 60

// cleaned returns a query as it may be asked: one line without keys, e-mail addresses
// and overlong words, cut between words. It is empty if nothing to look for is left.
func cleaned(query string) string {
	query = textkit.OneLine(textkit.Prefix(query, maxReading))
	query = removed.ReplaceAllString(redactor.Text(query), " ")
	var b strings.Builder
	for w := range strings.FieldsSeq(query) {
		if len(w) > maxWord && !unspaced(w) || b.Len() > 0 && b.Len()+1+len(w) > maxItem {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(textkit.Prefix(w, maxItem))
	}
	s := b.String()
	if !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) || !utf8.ValidString(s) {
		return ""
	}
	return s
}
