package mimic

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// statements are about A, B and C.
var statements = [...]string{
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

var asks = [...]string{
	"How does A change when B is absent?",
	"Which evidence would tell A from B?",
	"What is the role of C between A and B?",
	"Is A a cause of B, or do both follow from C?",
	"Under which conditions does A fail?",
	"How large is the effect of A on B?",
	"Who would disagree that A needs B, and why?",
	"Does what holds for A also hold for C?",
}

// spare topics fit most questions.
var spare = [...]string{
	"scale", "context", "time", "history", "measurement", "cost", "feedback", "selection", "structure", "variation",
	"prior knowledge", "the environment", "individual differences", "chance", "incentives", "the method of study",
}

// phrase returns a topic of the prompt, or a spare one.
func (w *Writer) phrase() string {
	n := len(w.phrases)
	switch roll := w.rng.IntN(6); {
	case n == 0 || roll == 0 || roll < 3 && n < 4:
		return pick(w, spare[:])
	case roll < 4:
		return w.phrases[w.rng.IntN(min(4, n))] // of the question
	}
	return pick(w, w.phrases)
}

// sentence returns a new statement, which may cite or quote a passage.
func (w *Writer) sentence() string {
	if w.say != "" {
		return w.say
	}
	return w.unsaid(w.statement)
}

// unsaid retries for a new text.
func (w *Writer) unsaid(write func() string) string {
	for range 5 {
		s := write()
		if !slices.Contains(w.said, s) {
			if len(w.said) < maxSaid {
				w.said = append(w.said, s)
			}
			return s
		}
	}
	return write()
}

func (w *Writer) statement() string {
	if len(w.passages) > 0 && w.rng.IntN(4) == 0 {
		p := pick(w, w.passages)
		return w.cite(p.label) + ` says "` + w.quote(p) + `".`
	}
	s := w.instance(pick(w, statements[:]))
	if len(w.passages) > 0 && w.rng.IntN(2) == 0 {
		s = strings.TrimSuffix(s, ".") + " " + w.cite(pick(w, w.passages).label) + "."
	}
	return s
}

func (w *Writer) question() string {
	if w.say != "" {
		return w.say
	}
	return w.unsaid(func() string { return w.instance(pick(w, asks[:])) })
}

// sentences returns n sentences, times Stretch.
func (w *Writer) sentences(n int) string {
	if w.say != "" {
		return w.say
	}
	return w.join(n * w.prompt.Stretch)
}

func (w *Writer) join(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.sentence())
	}
	return b.String()
}

const maxSaid = 100

func (w *Writer) instance(template string) string {
	a, b, c := w.phrase(), w.phrase(), w.phrase()
	for range 3 {
		if b == a {
			b = w.phrase()
		}
		if c == a || c == b {
			c = w.phrase()
		}
	}
	var out strings.Builder
	for i := range len(template) {
		alone := (i == 0 || template[i-1] == ' ') && (i+1 == len(template) || !letter(template[i+1]))
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
	return capital(out.String())
}

func letter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// cite returns a citation, which may be false.
func (w *Writer) cite(label string) string {
	if w.prompt.FalseCitations {
		label = strconv.Itoa(len(w.passages) + 1 + w.rng.IntN(90))
	}
	return "[" + label + "]"
}

func (w *Writer) quote(p passage) string {
	n := min(len(p.words), 5+w.rng.IntN(8))
	from := w.rng.IntN(len(p.words) - n + 1)
	return strings.TrimRight(strings.Join(p.words[from:from+n], " "), ".,;:")
}
