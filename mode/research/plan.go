package research

import (
	_ "embed" // for the prompts
	"errors"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/redact"
	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
	"ponder/llm"
	"ponder/llm/structured"
	"ponder/mode/internal/background"
	"ponder/mode/internal/lookup"
)

// All requests of a run begin with the same system prompt, question and evidence, and end with their
// task, so that providers can cache what precedes it.
var (
	//go:embed prompts/common.md
	commonPrompt string
	//go:embed prompts/plan.md
	planPrompt string
)

const (
	maxAsked       = 16 << 10 // bytes of the question
	maxOwnerPrompt = 8 << 10  // bytes of the owner's prompt
	planTokens     = 1500
)

type plan struct {
	Steps  []string `json:"steps,omitempty"`
	Terms  []string `json:"terms,omitempty"`
	Web    []string `json:"web,omitempty"`
	Memory []string `json:"memory,omitempty"`
}

// planForm is the schema of a plan. plan.md names its fields.
type planForm struct {
	Steps  []string `json:"plan" bounds:"1,6" labels:"steps,research plan"`
	Terms  []string `json:"importantTerms" bounds:"0,8" labels:"terms,key terms,keywords,search terms"`
	Web    []string `json:"webQueries" bounds:"0,3" labels:"web,web query,web search queries,search queries"`
	Memory []string `json:"memoryQueries" bounds:"0,3" labels:"memory,memory query,document queries"`
}

// planAnswer also accepts queries for any search.
type planAnswer struct {
	planForm
	Queries []string `json:"queries,omitempty" labels:"query"`
}

var (
	planSchema = llm.SchemaFor[planForm]("research_plan")
	planReader = structured.New[planAnswer](planSchema)
)

// planCall returns the request for a plan, with background notes on the user's mind.
func (s *state) planCall() llm.Request {
	var b strings.Builder
	s.writeQuestion(&b)
	if len(s.Mind) > 0 {
		b.WriteString("\n" + background.FormatBackground(s.Mind, lookup.Sanitize) + "It is private: it may say what the question is about, but no name, number or word of it goes into a query for the web.\n")
	}
	return s.newRequest(&b, planPrompt, planSchema, planTokens)
}

// newRequest returns a request with a task after the material.
func (s *state) newRequest(material *strings.Builder, task string, schema *llm.Schema, tokens int) llm.Request {
	material.WriteString("\n" + task)
	return llm.Request{System: s.systemPrompt(), Schema: schema, MaxTokens: tokens, Messages: []llm.Message{sayMaterial(material.String())}, Cache: true}
}

const evidenceEnd = "</evidence>"

// sayMaterial returns a message. Later requests have more evidence at the place where this one ends it.
func sayMaterial(text string) llm.Message {
	return llm.SayGrowing(llm.User, text, max(0, strings.LastIndex(text, evidenceEnd)))
}

// systemPrompt returns the system prompt, which is the same in a run: rules, the day and the owner's
// prompt.
func (s *state) systemPrompt() string {
	system := commonPrompt + "\n" + s.opts.Locale.Describe(s.run.Started) + "\n"
	if s.opts.Prompt != "" {
		system += "\nWhat the owner wants of all answers:\n" + textkit.TruncateBytes(textkit.CleanTrim(s.opts.Prompt), maxOwnerPrompt) + "\n"
	}
	return system
}

// writeQuestion writes the start of each message.
func (s *state) writeQuestion(b *strings.Builder) {
	b.WriteString("The question:\n<question>\n" + escapeFrame(textkit.TruncateBytes(textkit.CleanTrim(s.run.Input), maxAsked)) + "\n</question>\n")
	b.WriteString("\nWhat is searched: " + s.opts.searchedPlaces() + ".\n")
}

func (o Options) searchedPlaces() string {
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

// escapeFrame returns s so that it cannot close or open a frame.
func escapeFrame(s string) string { return frameEscaper.Replace(s) }

var frameEscaper = strings.NewReplacer("<", "‹", ">", "›")

// readPlan parses a plan with at least one query. An error is one line for the model.
func readPlan(answer string) (plan, error) {
	f, _ := planReader.Read(answer)
	p := plan{Steps: cleanTexts(f.Steps, maxSteps), Terms: cleanTexts(f.Terms, maxTerms), Web: cleanQueries(f.Web), Memory: cleanQueries(f.Memory)}
	if all := cleanQueries(f.Queries); len(all) > 0 {
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

func cleanTexts(list []string, n int) (kept []string) {
	for _, s := range list {
		if s = textkit.TruncateBytes(textkit.OneLine(s), maxItem); len(kept) < n && answerCheck.EchoFault(s) == "" && !isRepeated(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// cleanQueries returns the distinct allowed queries of list.
func cleanQueries(list []string) (kept []string) {
	for _, s := range list {
		if s = cleanQuery(strings.Trim(s, "\"“”*`")); len(kept) < maxQueries && s != "" && answerCheck.EchoFault(s) == "" && !isRepeated(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

func isRepeated(list []string, s string) bool {
	for _, o := range list {
		if lexical.Fold(o) == lexical.Fold(s) {
			return true
		}
	}
	return false
}

// redactor removes secrets from queries, because search providers see them. Its options are valid,
// so it has no error.
var redactor, _ = redact.New(redact.Options{Patterns: []string{redact.Emails}})

var redactedWord = regexp.MustCompile(`\S*\[redacted: [^\]]*\]\S*`)

// maxWord is the maximum length of a query word in bytes; longer ones may be secrets.
const maxWord = 60

// cleanQuery returns a query on one line without secrets, e-mail addresses and overlong words, or "".
func cleanQuery(query string) string {
	query = textkit.OneLine(textkit.Prefix(query, maxReading))
	query = redactedWord.ReplaceAllString(redactor.Text(query), " ")
	var b strings.Builder
	for w := range strings.FieldsSeq(query) {
		if len(w) > maxWord && !isUnspaced(w) || b.Len() > 0 && b.Len()+1+len(w) > maxItem {
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
