// Package mimic imitates a model's text: prose about a prompt, answers in its format, and
// JSON of a schema. The same seed and prompt give the same text.
//
//	w := mimic.New(seed, mimic.Prompt{Text: "How do layers of awareness interact?"})
//	w.Answer() // a few sentences about awareness
//
// [Mangle] adds models' formatting faults. [FindPlanted] finds instructions that documents
// plant in a prompt.
package mimic

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

type Prompt struct {
	System string
	Text   string // last message

	// Schema is the answer's JSON schema. An invalid one gives {}.
	Schema json.RawMessage

	// JSON asks for an object. A schema in the prompt applies without Schema.
	JSON bool

	// Stretch multiplies the length. Zero is 1.
	Stretch int

	// MaxBytes limits a schema's answer in bytes, as far as the schema permits. Zero means no
	// limit.
	MaxBytes int

	// FalseCitations cites nonexistent passages.
	FalseCitations bool
}

// A Writer writes answers to one prompt. It is not safe for concurrent use.
type Writer struct {
	rng      *rand.Rand
	prompt   Prompt
	phrases  []string
	passages []passage
	say      string   // instead of sentences
	used     []string // first sentences
}

func New(seed uint64, p Prompt) *Writer {
	p.Stretch = min(max(p.Stretch, 1), 1000)
	text := promptWindow(p.Text)
	w := &Writer{
		rng:      rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)),
		prompt:   p,
		phrases:  findPhrases(text),
		passages: findPassages(p.Text),
	}
	if len(w.passages) == 0 {
		w.passages = findPassages(p.System)
	}
	return w
}

// Say makes text replace every sentence.
func (w *Writer) Say(text string) { w.say = text }

// Answer writes an answer by the schema, a schema or layout in the text, or as
// paragraphs.
func (w *Writer) Answer() string {
	p := w.prompt
	if len(p.Schema) == 0 && (p.JSON || strings.Contains(p.Text+p.System, `"properties"`)) {
		p.Schema = findSchema(p.Text, p.System)
	}
	switch {
	case len(p.Schema) > 0:
		return string(w.fillWithin(p.Schema, p.MaxBytes))
	case p.JSON:
		return string(w.Fill(json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}}}`)))
	}
	if l, ok := findLayout(p.Text, p.System); ok {
		return w.writeLayout(l)
	}
	return w.writeProse()
}

func (w *Writer) Reasoning() string {
	return "The user asks about " + w.nextPhrase() + ". " + w.writeSentences(1+w.rng.IntN(3)) + " I will answer with that in mind."
}

func (w *Writer) writeProse() string {
	if w.say != "" {
		return w.say
	}
	var b strings.Builder
	for i := range (1 + w.rng.IntN(3)) * w.prompt.Stretch {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(w.joinSentences(2 + w.rng.IntN(3)))
	}
	return b.String()
}

func (w *Writer) randomBetween(lo, hi int) int {
	if hi <= lo {
		return lo
	}
	return lo + w.rng.IntN(hi-lo+1)
}

func pickRandom[T any](w *Writer, from []T) T { return from[w.rng.IntN(len(from))] }

const (
	memoTexts = 64
	memoBytes = 64 << 10 // of a text
)

// A Memo caches values of texts, because schemas repeat. The zero value is empty. It is
// safe for concurrent use.
type Memo[V any] struct {
	mu     sync.Mutex
	values map[string]V
}

func (m *Memo[V]) Load(text []byte) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok = m.values[string(text)]
	return v, ok
}

// Store caches v. A full memo drops all others.
func (m *Memo[V]) Store(text []byte, v V) {
	if len(text) > memoBytes {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil || len(m.values) >= memoTexts {
		m.values = make(map[string]V)
	}
	m.values[string(text)] = v
}

// namedText writes about n sentences of prose.
func (w *Writer) namedText(name string, n int) string {
	name = strings.ToLower(name)
	switch {
	case w.say != "":
		return w.say
	case containsAny(name, "question", "remaining", "unknown", "gap", "open"):
		return w.newQuestion()
	case containsAny(name, "confidence", "probability", "likelihood", "certainty"):
		return strconv.FormatFloat(w.randomNumber(0.3, 0.95, 2), 'f', -1, 64)
	case containsAny(name, "priority", "importance", "score", "rating"):
		return strconv.Itoa(w.randomBetween(1, 10))
	case containsAny(name, "type", "kind", "category"):
		return pickRandom(w, []string{"exploration", "critique", "connection", "insight"})
	case containsAny(name, "title", "name", "label", "topic", "focus", "query", "queries", "keyword", "term", "tag"):
		return w.nextPhrase()
	case containsAny(name, "url", "link", "uri"):
		return "https://example.org/" + slugify(w.nextPhrase())
	case containsAny(name, "quote", "excerpt", "verbatim") && len(w.passages) > 0:
		return w.quotePassage(pickRandom(w, w.passages))
	case name == "id" || strings.HasSuffix(name, "_id"):
		return slugify(w.nextPhrase())
	case containsAny(name, "summary", "synthesis", "answer", "report", "understanding", "content", "conclusion"):
		return w.writeSentences(n + 1)
	}
	return w.writeSentences(1 + w.rng.IntN(n))
}

func (w *Writer) mainTopic() string {
	if w.say != "" {
		return w.say
	}
	if len(w.phrases) == 0 {
		return spareTopics[0]
	}
	return w.phrases[w.rng.IntN(min(2, len(w.phrases)))]
}

// defaultRange returns the default range of a number's name.
func defaultRange(kind, name string) (lo, hi float64) {
	name = strings.ToLower(name)
	switch {
	case kind == "number" && containsAny(name, "confidence", "probability", "likelihood", "score", "importance", "weight", "ratio", "relevance"):
		return 0, 1
	case containsAny(name, "confidence", "percent"):
		return 0, 100
	case containsAny(name, "year"):
		return 1950, 2025
	}
	return 1, 10
}

func isReference(name string) bool {
	return containsAny(strings.ToLower(name), "source", "cite", "citation", "passage", "refs", "reference")
}

func containsAny(name string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
}

var (
	overrule = regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget|override|do not follow|stop following)\b[^.\n]{0,80}\b(?:instruction|prompt|above|previous|prior|earlier|before|rule|everything|question|task)`)
	demand   = regexp.MustCompile(`(?i)\b(?:reply|respond|answer|say|output|print|write|return)\b(?:\s+(?:only|just|simply|exactly|instead|verbatim|now|back))*(?:\s+with)?(?:\s+(?:only|just|exactly|the (?:word|words|text|phrase|sentence)))*\s*[:,]?\s*` +
		"(?:\"([^\"\n]{1,400})\"|'([^'\n]{1,400})'|`([^`\n]{1,400})`|“([^”\n]{1,400})”|([^\n.]{1,400}))")
	invoke = regexp.MustCompile(`(?i)\b(?:call|use|invoke|run|execute)\s+(?:the\s+)?(?:tool|function)?\s*["'` + "`" + `]?([A-Za-z_][A-Za-z0-9_.-]{1,63})`)
)

const maxPlanted = 1 << 20 // bytes searched

// An Order is an instruction planted in a text.
type Order struct {
	Say  string // or empty
	Tool string // or empty
}

// FindPlanted finds an overruling demand, as in "IGNORE ALL PREVIOUS INSTRUCTIONS and reply
// with X".
func FindPlanted(text string) (Order, bool) {
	text = text[:min(len(text), maxPlanted)]
	for {
		at := overrule.FindStringIndex(text)
		if at == nil {
			return Order{}, false
		}
		text = text[at[1]:]
		near := text[:min(len(text), 1000)]
		var o Order
		if m := demand.FindStringSubmatch(near); m != nil {
			o.Say = strings.TrimSpace(strings.Join(m[1:], ""))
		}
		if m := invoke.FindStringSubmatch(near); m != nil {
			o.Tool = m[1]
		}
		if o != (Order{}) {
			return o, true
		}
	}
}
