package session

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A plainReader reads JSON that is plain: members with the names that are asked for,
// no nulls, no exponents, no numbers of characters. At all else it is lost, and package json has to read it.
// So it takes a fifth of the time.
type plainReader struct {
	text    string
	at      int
	lost    bool
	numbers []float64 // that were read
}

// readPlain reads an answer, and reports whether it is plain. Then it is what
// [json.Unmarshal] makes of it.
func readPlain(text string) (f plainAnswer, ok bool) {
	r := plainReader{text: text, numbers: make([]float64, 0, 2*questionEvery)}
	r.object(func(name string) {
		switch {
		case name == "thoughts" && f.Thoughts == nil:
			f.Thoughts = make([]plainThought, 0, questionEvery)
			r.list(func() { f.Thoughts = append(f.Thoughts, r.thought()) })
		case name == "questions" && f.Questions == nil:
			f.Questions = make([]plainQuestion, 0, maxQuestions)
			r.list(func() { f.Questions = append(f.Questions, r.question()) })
		case name == "ranked" && f.Ranked == nil:
			f.Ranked = make([]plainRank, 0, questionEvery)
			r.list(func() { f.Ranked = append(f.Ranked, r.rank()) })
		case name == "settled":
			f.Settled = r.truth()
		default:
			r.lost = true
		}
	})
	return f, !r.lost && r.peek() == 0 && r.at == len(text)
}

// readPlainSummary reads a synthesis or an answer, and reports whether it is plain.
func readPlainSummary(text string) (sum summary, ok bool) {
	r := plainReader{text: text}
	sum.Confidence = notGiven
	r.object(func(name string) {
		switch name {
		case "synthesis", "answer":
			r.lost = r.lost || sum.Text != "" // that of the two which counts is not told apart here
			sum.Text = r.string()
		case "insights":
			sum.Insights = r.strings()
		case "remaining":
			sum.Remaining = r.strings()
		case "confidence":
			sum.Confidence = scaled(*r.number())
		default:
			r.lost = true
		}
	})
	return sum, !r.lost && r.peek() == 0 && r.at == len(text) && strings.TrimSpace(sum.Text) != ""
}

func (r *plainReader) thought() (t plainThought) {
	r.object(func(name string) {
		switch name {
		case "thought":
			t.Thought = r.string()
		case "type":
			t.Type = r.quoted() // of which only the kind that it means is kept
		case "confidence":
			t.Confidence = r.number()
		case "importance":
			t.Importance = r.number()
		case "cites":
			t.Cites = r.strings()
		default:
			r.lost = true
		}
	})
	return t
}

func (r *plainReader) question() (q plainQuestion) {
	r.object(func(name string) {
		switch name {
		case "question":
			q.Question = r.string()
		case "priority":
			q.Priority = r.number()
		case "why":
			q.Why = r.string()
		case "parent":
			q.Parent = r.string()
		default:
			r.lost = true
		}
	})
	return q
}

func (r *plainReader) rank() (p plainRank) {
	r.object(func(name string) {
		switch name {
		case "id":
			p.ID = r.string()
		case "priority":
			p.Priority = r.number()
		default:
			r.lost = true
		}
	})
	return p
}

// peek returns the byte that follows white space, 0 at the end.
func (r *plainReader) peek() byte {
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; c {
		case ' ', '\n', '\r', '\t':
		default:
			return c
		}
	}
	return 0
}

// take takes a byte behind white space, and reports whether it was there.
func (r *plainReader) take(c byte) bool {
	if r.lost || r.peek() != c {
		return false
	}
	r.at++
	return true
}

// must takes a byte that has to be there.
func (r *plainReader) must(c byte) { r.lost = !r.take(c) }

// object reads an object, whose members are to be read by name.
func (r *plainReader) object(member func(name string)) {
	r.must('{')
	if r.take('}') {
		return
	}
	for !r.lost {
		name := r.quoted()
		r.must(':')
		if r.lost {
			return
		}
		if member(name); !r.take(',') {
			r.must('}')
			return
		}
	}
}

// list reads a list, whose elements are to be read.
func (r *plainReader) list(element func()) {
	r.must('[')
	if r.take(']') {
		return
	}
	for !r.lost {
		if element(); !r.take(',') {
			r.must(']')
			return
		}
	}
}

func (r *plainReader) strings() (list []string) {
	list = []string{}
	r.list(func() {
		if len(list) == 0 {
			list = make([]string, 0, maxQuestions) // as many as are cited
		}
		list = append(list, r.string())
	})
	return list
}

// string reads a text, which does not keep the answer that it is of.
func (r *plainReader) string() string { return strings.Clone(r.quoted()) }

// quoted reads a text.
func (r *plainReader) quoted() string {
	r.must('"')
	if r.lost {
		return ""
	}
	from, all, escaped := r.at, byte(0), false
	for at := from; at < len(r.text); at++ {
		switch c := r.text[at]; {
		case c == '"':
			text := r.text[from:at]
			if r.at = at + 1; escaped {
				text = r.escaped(r.text[from-1 : r.at])
			}
			r.lost = r.lost || all >= utf8.RuneSelf && !utf8.ValidString(text)
			return text
		case c == '\\':
			escaped = true
			at++
		case c < ' ':
			r.lost = true
			return ""
		default:
			all |= c
		}
	}
	r.lost = true
	return ""
}

// escaped returns a text in quotes that has escapes.
func (r *plainReader) escaped(js string) string {
	text := make([]byte, 0, len(js))
	for i := 1; i < len(js)-1; i++ {
		c := js[i]
		if c == '\\' {
			i++
			switch c = js[i]; c {
			case '"', '\\', '/':
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			default: // such as \u00e9
				r.lost = true
				return ""
			}
		}
		text = append(text, c)
	}
	return string(text)
}

// number reads a number such as 7 or 0.7.
func (r *plainReader) number() *float64 {
	r.peek()
	x, whole := r.digits(0)
	if whole == 0 || whole > 1 && r.text[r.at-whole] == '0' {
		r.lost = true
	}
	parts, below := 0, 1.0
	if r.at < len(r.text) && r.text[r.at] == '.' {
		r.at++
		x, parts = r.digits(x)
		r.lost = r.lost || parts == 0
	}
	if whole+parts > 15 { // more than are exact
		r.lost = true
	}
	for range parts {
		below *= 10
	}
	r.numbers = append(r.numbers, x/below)
	return &r.numbers[len(r.numbers)-1]
}

// digits takes digits that follow those of x, and returns how many those are.
func (r *plainReader) digits(x float64) (all float64, n int) {
	for ; r.at < len(r.text) && '0' <= r.text[r.at] && r.text[r.at] <= '9'; r.at++ {
		x = 10*x + float64(r.text[r.at]-'0')
		n++
	}
	return x, n
}

// truth reads true or false.
func (r *plainReader) truth() bool {
	r.peek()
	words := []string{"true", "false"}
	i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(r.text[r.at:], w) })
	if i < 0 {
		r.lost = true
		return false
	}
	r.at += len(words[i])
	return i == 0
}
