// Package mimic writes what a language model might: prose about the words of a
// prompt, answers in a format that the prompt lays out, and JSON that fills a
// schema. It knows no prompt in particular, reads nothing but the prompt, and
// the same seed and prompt give the same text.
//
//	w := mimic.New(seed, mimic.Prompt{Text: "How do layers of awareness interact?"})
//	w.Answer() // a few sentences about awareness
//
// [Mangle] makes an answer as badly formatted as models do; [Planted] finds the
// instructions that a hostile document plants in a prompt.
package mimic

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
)

// A Prompt is what an answer is about.
type Prompt struct {
	System string
	Text   string // the last message

	// Schema, if set, is the JSON schema of the answer. A schema that is not
	// one gives an empty object.
	Schema json.RawMessage

	// JSON asks for a JSON object. If Schema is empty, one that stands in the
	// prompt is filled.
	JSON bool

	// Stretch multiplies the length of the answer. Zero is 1.
	Stretch int

	// Most is how many bytes an answer of a schema may have; what has more is written
	// again, shorter, as far as the schema lets it. Zero is no bound.
	Most int

	// FalseCitations cites passages that the prompt does not have.
	FalseCitations bool
}

// A Writer writes answers to one prompt. It is not safe for concurrent use.
type Writer struct {
	rng      *rand.Rand
	prompt   Prompt
	phrases  []string
	passages []passage
	say      string   // said in place of every sentence
	said     []string // the first sentences that were written
}

// New returns a writer for the prompt.
func New(seed uint64, p Prompt) *Writer {
	p.Stretch = min(max(p.Stretch, 1), 1000)
	text := window(p.Text)
	w := &Writer{
		rng:      rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)),
		prompt:   p,
		phrases:  phrases(text),
		passages: passages(p.Text),
	}
	if len(w.passages) == 0 {
		w.passages = passages(p.System)
	}
	return w
}

// Say makes the writer say text in place of every sentence from now on.
func (w *Writer) Say(text string) { w.say = text }

// Answer writes an answer in the form that the prompt asks for: its schema, a
// schema or a layout in its text, or a few paragraphs.
func (w *Writer) Answer() string {
	p := w.prompt
	if len(p.Schema) == 0 && (p.JSON || strings.Contains(p.Text+p.System, `"properties"`)) {
		p.Schema = schemaIn(p.Text, p.System)
	}
	switch {
	case len(p.Schema) > 0:
		return string(w.fillWithin(p.Schema, p.Most))
	case p.JSON:
		return string(w.Fill(json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}}}`)))
	}
	if l, ok := layoutIn(p.Text, p.System); ok {
		return w.lay(l)
	}
	return w.prose()
}

// Reasoning writes what a model thinks before it answers.
func (w *Writer) Reasoning() string {
	return "The user asks about " + w.phrase() + ". " + w.sentences(1+w.rng.IntN(3)) + " I will answer with that in mind."
}

// prose is one to three paragraphs.
func (w *Writer) prose() string {
	if w.say != "" {
		return w.say
	}
	var b strings.Builder
	for i := range (1 + w.rng.IntN(3)) * w.prompt.Stretch {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(w.join(2 + w.rng.IntN(3)))
	}
	return b.String()
}

// between returns a number in lo..hi.
func (w *Writer) between(lo, hi int) int {
	if hi <= lo {
		return lo
	}
	return lo + w.rng.IntN(hi-lo+1)
}

func pick[T any](w *Writer, from []T) T { return from[w.rng.IntN(len(from))] }
