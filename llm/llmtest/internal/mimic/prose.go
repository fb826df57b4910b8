package mimic

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// statementTemplates are about A, B and C.
var statementTemplates = [...]string{
	"A depends more on B than on C.",
	"What matters about A is how it changes B.",
	"Without B, A would be hard to explain.",
	"There is a trade-off between A and B, and C decides where it lies.",
	"When A grows, B follows after a delay.",
	"The evidence for A is thin, and most of it concerns B.",
	"Simple accounts of A leave out B.",
	"If A holds, it should be visible in B.",
	"The usual view treats A as fixed, yet B shows that it varies.",
	"Three things bear on A: B, C and the time over which both are observed.",
	"A is often confused with B, which has other causes.",
	"Much of what is said about A applies only where C is present.",
	"The link from A to B runs through C.",
	"A counts as a cause of B only if C stays the same.",
	"Cases with little B show that A does not need it.",
	"Compared with C, A has a small effect on B.",
	"The strongest objection is that A presupposes B.",
	"A and B may be two sides of one thing.",
	"Before A can be judged, B has to be measured.",
	"Where C fails, A still works, which points to B.",
}

var questionTemplates = [...]string{
	"How does A change when B is absent?",
	"Which evidence would tell A from B?",
	"What is the role of C between A and B?",
	"Is A a cause of B, or do both follow from C?",
	"Under which conditions does A fail?",
	"How large is the effect of A on B?",
	"Who would disagree that A needs B, and why?",
	"Does what holds for A also hold for C?",
}

// spareTopics topics fit most questions.
var spareTopics = [...]string{
	"scale", "context", "time", "history", "measurement", "cost", "feedback", "selection", "structure", "variation",
	"prior knowledge", "the environment", "individual differences", "chance", "incentives", "the method of study",
}

// nextPhrase returns a topic of the prompt, or a spare one.
func (w *Writer) nextPhrase() string {
	n := len(w.phrases)
	switch roll := w.rng.IntN(6); {
	case n == 0 || roll == 0 || roll < 3 && n < 4:
		return pickRandom(w, spareTopics[:])
	case roll < 4:
		return w.phrases[w.rng.IntN(min(4, n))] // of the question
	}
	return pickRandom(w, w.phrases)
}

// newSentence returns a new statement, which may cite or quote a passage.
func (w *Writer) newSentence() string {
	if w.say != "" {
		return w.say
	}
	return w.writeUnused(w.newStatement)
}

// writeUnused retries for a new text.
func (w *Writer) writeUnused(write func() string) string {
	for range 5 {
		s := write()
		if !slices.Contains(w.used, s) {
			if len(w.used) < maxUsed {
				w.used = append(w.used, s)
			}
			return s
		}
	}
	return write()
}

func (w *Writer) newStatement() string {
	if len(w.passages) > 0 && w.rng.IntN(4) == 0 {
		p := pickRandom(w, w.passages)
		return w.citePassage(p.label) + ` says "` + w.quotePassage(p) + `".`
	}
	s := w.fillTemplate(pickRandom(w, statementTemplates[:]))
	if len(w.passages) > 0 && w.rng.IntN(2) == 0 {
		s = strings.TrimSuffix(s, ".") + " " + w.citePassage(pickRandom(w, w.passages).label) + "."
	}
	return s
}

func (w *Writer) newQuestion() string {
	if w.say != "" {
		return w.say
	}
	return w.writeUnused(func() string { return w.fillTemplate(pickRandom(w, questionTemplates[:])) })
}

// writeSentences returns n sentences, times Stretch.
func (w *Writer) writeSentences(n int) string {
	if w.say != "" {
		return w.say
	}
	return w.joinSentences(n * w.prompt.Stretch)
}

func (w *Writer) joinSentences(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.newSentence())
	}
	return b.String()
}

const maxUsed = 100

func (w *Writer) fillTemplate(template string) string {
	a, b, c := w.nextPhrase(), w.nextPhrase(), w.nextPhrase()
	for range 3 {
		if b == a {
			b = w.nextPhrase()
		}
		if c == a || c == b {
			c = w.nextPhrase()
		}
	}
	var out strings.Builder
	for i := range len(template) {
		alone := (i == 0 || template[i-1] == ' ') && (i+1 == len(template) || !isLetter(template[i+1]))
		switch ch := template[i]; {
		case alone && ch == 'A':
			out.WriteString(a)
		case alone && ch == 'B':
			out.WriteString(b)
		case alone && ch == 'C':
			out.WriteString(c)
		default:
			out.WriteByte(ch)
		}
	}
	return capitalize(out.String())
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

func capitalize(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// citePassage returns a citation, which may be false.
func (w *Writer) citePassage(label string) string {
	if w.prompt.FalseCitations {
		label = strconv.Itoa(len(w.passages) + 1 + w.rng.IntN(90))
	}
	return "[" + label + "]"
}

func (w *Writer) quotePassage(p passage) string {
	n := min(len(p.words), 5+w.rng.IntN(8))
	from := w.rng.IntN(len(p.words) - n + 1)
	return strings.TrimRight(strings.Join(p.words[from:from+n], " "), ".,;:")
}
