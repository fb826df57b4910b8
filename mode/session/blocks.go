package session

import (
	"ponder/llm/structured"
	"regexp"
	"strings"
	"unicode"
)

// A block is a paragraph of an answer, or an item of a list with what is below it.
type block struct {
	lines  []string
	bullet string // before its first line; empty if it is no item
	indent int
	values map[string]string
}

// A blocker makes blocks of the lines of an answer.
type blocker struct {
	list  []*block
	cur   *block // that goes on; nil if none does
	gap   bool   // a blank line came since
	fence bool   // in a code block
}

// blocks returns the blocks of a text that has no labels but those of values, such as
// "Confidence: 0.7" below a paragraph.
func blocks(text string) []*block {
	var b blocker
	for _, t := range tokens(unfenced(text), thoughtLabels, thoughtInline) {
		line := t.text
		if t.line != "" {
			line = t.line
		}
		switch {
		case t.kind == fence:
			b.add(line)
			b.fence = !b.fence
		case b.fence:
			b.add(line)
		case t.kind == blank:
			b.gap = true
		case t.kind == rule:
			b.cur = nil
		case t.kind == label && t.label == "thought":
			if b.cur = nil; t.text != "" {
				b.line(t.text)
			}
		case t.kind == label && t.label != "question":
			if b.cur != nil {
				b.cur.values[t.label] = t.text
			}
		default:
			b.line(line)
		}
	}
	return b.list
}

// add adds a line to the block at hand.
func (b *blocker) add(line string) {
	if b.cur == nil {
		b.cur = &block{values: make(map[string]string)}
		b.list = append(b.list, b.cur)
	}
	if b.gap && len(b.cur.lines) > 0 {
		b.cur.lines = append(b.cur.lines, "")
	}
	b.cur.lines, b.gap = append(b.cur.lines, line), false
}

// line takes a line, which may begin a block.
func (b *blocker) line(line string) {
	mark := bullet.FindString(line)
	indent := len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
	if cur := b.cur; cur != nil {
		_, tag := tagged(line)
		within := indent > cur.indent && cur.bullet != ""
		leads := strings.HasSuffix(cur.lines[len(cur.lines)-1], ":") || cur.bullet == "" && len(cur.lines) > 1
		switch {
		case tag, len(cur.values) > 0, len(cur.lines) == 1 && isIntro(cur.text()),
			b.gap && !within && (mark == "" || cur.bullet != "" || !leads),
			mark != "" && !within && cur.bullet != "" && numbered(mark) == numbered(cur.bullet):
			b.cur, b.gap = nil, false
		}
	}
	begins := b.cur == nil
	if b.add(line); begins {
		b.cur.bullet, b.cur.indent = mark, indent
	}
}

func numbered(bullet string) bool { return strings.ContainsFunc(bullet, unicode.IsDigit) }

// text returns what a block says, without its bullet.
func (b *block) text() string {
	text := strings.Join(b.lines, "\n")
	return strings.TrimSpace(text[len(b.bullet):])
}

// thought returns a block as a thought, and whether it has the marks of one: its kind, or
// how sure it is.
func (b *block) thought() (h heard, ok bool) {
	text := b.text()
	h = heard{Text: text, Confidence: notGiven, Cites: citesIn(b.values["cites"])}
	first, rest, _ := strings.Cut(text, "\n")
	head := unlisted(strings.TrimLeft(first, "# "))
	if t, is := tagged(head); is {
		h.Kind, h.Confidence, ok = t.Kind, t.Confidence, true
		h.Text = strings.TrimSpace(t.Text + "\n" + rest)
	} else if word := strings.Trim(head, "*_: "); rest != "" && isKind(word) && !strings.Contains(word, " ") {
		h.Kind, h.Text, ok = word, strings.TrimSpace(rest), true
	}
	if n, before, is := tailOf(h.Text); is {
		h, ok = n.on(h, nil), true
		h.Text = before
	}
	for _, name := range []string{"type", "confidence", "importance"} {
		v, is := b.values[name]
		switch ok = ok || is; {
		case !is:
		case name == "type":
			h.Kind = v
		case name == "confidence":
			h.Confidence = share(v)
		default:
			h.Importance = share(v)
		}
	}
	return h, ok
}

// tellingOf returns the blocks that have the marks of thoughts, and the items of a list that
// has some that do.
func tellingOf(list []*block) (kept []heard) {
	items := false
	for _, b := range list {
		_, ok := b.thought()
		items = items || ok && b.bullet != ""
	}
	for _, b := range list {
		if h, ok := b.thought(); ok || items && b.bullet != "" {
			kept = append(kept, h)
		}
	}
	return kept
}

// thoughtsIn returns all blocks as thoughts, but for what leads to them, and away.
func thoughtsIn(list []*block) (kept []heard) {
	for i, b := range list {
		text := b.text()
		if !strings.ContainsFunc(text, unicode.IsLetter) || i == 0 && strings.HasSuffix(text, ":") && !strings.Contains(text, "\n") ||
			structured.IsRefusal(text) || i == 0 && isIntro(text) || i == len(list)-1 && isOutro(text) {
			continue
		}
		h, _ := b.thought()
		kept = append(kept, h)
	}
	return kept
}

// thoughtsInProse reads a text that has no form. What looks like JSON has none.
func thoughtsInProse(text string) []heard {
	if looksLikeJSON(unfenced(text)) {
		return nil
	}
	return thoughtsIn(blocks(text))
}

// A remark is what stands in brackets beside a thought, as in (insight, 0.8).
type remark struct {
	kind       string
	confidence string
}

// on returns a thought with what a remark says that its values do not.
func (n remark) on(h heard, values map[string]string) heard {
	if _, ok := values["type"]; !ok && n.kind != "" {
		h.Kind = n.kind
	}
	if _, ok := values["confidence"]; !ok && n.confidence != "" {
		h.Confidence = share(n.confidence)
	}
	return h
}

// maxNote is how long a remark may be, in bytes.
const maxNote = 60

// noteOf reads a remark such as "insight, confidence 0.8", and reports whether it is one.
func noteOf(text string) (n remark, ok bool) {
	if text == "" || len(text) > maxNote {
		return n, false
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;|:=*_", r) }) {
		name, isLabel := thoughtLabels.of(word)
		switch {
		case strings.ContainsAny(fold(word), "0123456789"):
			n.confidence = word
		case isKind(word):
			n.kind = word
		case isLabel && (name == "type" || name == "confidence"):
			ok = true
		default:
			return n, false
		}
	}
	return n, n.kind != "" || ok && n.confidence != ""
}

// tailOf reads a remark at the end of a text, and returns the text before it.
func tailOf(text string) (n remark, before string, ok bool) {
	end := strings.TrimRight(text, " .*_")
	if end == "" || strings.IndexByte(")]", end[len(end)-1]) < 0 {
		return n, text, false
	}
	at := strings.LastIndexAny(end, "([")
	if at <= 0 || len(end)-at > maxNote {
		return n, text, false
	}
	n, ok = noteOf(end[at+1 : len(end)-1])
	return n, strings.TrimRight(end[:at], " *_"), ok
}

var (
	// tag matches "[critique 0.8] ", "**Insight** (0.7): " and the like, at the
	// beginning of a line without its bullet.
	tag = regexp.MustCompile(`^[*_]{0,3}[\[({]?[*_]{0,3}(\pL{4,20})[*_]{0,3}(?:\s*[,;:]?\s*[(\[]?(?:(?i:confidence)\s*[:=]?\s*)?(\p{Nd}[^\])}]{0,16}))?[\])}]{0,2}[*_]{0,3}\s*[:：–—-]?[*_]{0,3}\s+(.*)$`)

	// tail matches "(0.7)" and "(confidence: 70%)" at the end of a line.
	tail = regexp.MustCompile(`(?i)\s*[(\[]\s*(?:confidence\s*[:=]?\s*)?(\p{Nd}[^()\[\]\pL]{0,10})\s*[)\]]\.?$`)
)

// tagged reads a line that begins with a kind of thought.
func tagged(line string) (h heard, ok bool) {
	line = unlisted(line)
	m := tag.FindStringSubmatch(line)
	if m == nil || !isKind(m[1]) || !strings.ContainsAny(line[:len(line)-len(m[3])], "[](){}:：*") {
		return h, false
	}
	h = heard{Kind: m[1], Text: m[3], Confidence: notGiven}
	if t := tail.FindStringSubmatchIndex(h.Text); t != nil {
		h.Confidence, h.Text = share(h.Text[t[2]:t[3]]), h.Text[:t[0]]
	} else if _, ok := read(m[2]); ok {
		h.Confidence = share(m[2])
	}
	return h, said(h.Text)
}

// isKind reports whether a word names a kind of thought.
func isKind(word string) bool {
	return kindOf(word) != defaultKind || strings.HasPrefix(strings.ToLower(word), "explor")
}
