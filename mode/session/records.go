package session

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A record is what belongs together in an answer: a text, and a value for each
// other label.
type record struct {
	text   []string
	whole  bool // all of text belongs to it; else what comes before the first blank line
	values map[string]string
}

// String returns the text.
func (r record) String() string {
	lines := r.text
	if !r.whole {
		for len(lines) > 0 && lines[0] == "" {
			lines = lines[1:]
		}
		if i := slices.Index(lines, ""); i >= 0 {
			lines = lines[:i]
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// A recorder makes records of tokens. Values may come before or after the text
// of their record.
type recorder struct {
	head    string // the label that begins a record
	list    []record
	early   map[string]string // values that came before a record
	open    string            // the label whose text goes on
	between bool              // a rule came since
}

// records reads the records that begin with the label head.
func records(list []token, head string) []record {
	r := recorder{head: head, early: make(map[string]string)}
	for _, t := range list {
		r.add(t)
	}
	if n := len(r.list); n > 0 {
		r.fill(&r.list[n-1])
	}
	return r.list
}

func (r *recorder) add(t token) {
	switch {
	case t.kind == label && t.label == r.head:
		r.list = append(r.list, record{text: []string{t.text}, values: make(map[string]string)})
		r.fill(&r.list[len(r.list)-1])
		r.open, r.between = r.head, false
	case t.kind == label:
		r.value(t)
	case t.kind == rule:
		r.open, r.between = "", true
	case t.kind == fence:
	case r.open == r.head:
		cur := &r.list[len(r.list)-1]
		cur.text = append(cur.text, strings.TrimSpace(t.text))
	case r.open == "why" && t.kind == plain, r.open != "" && t.kind == plain && r.get(r.open) == "":
		if old := r.get(r.open); len(old) < maxItem {
			r.put(r.open, strings.TrimSpace(old+" "+strings.TrimSpace(t.text)))
		}
	case t.kind == plain, r.open == "why":
		r.open = ""
	}
}

// value takes a value for the record at hand, if it has none, or the next.
func (r *recorder) value(t token) {
	if n := len(r.list); n > 0 && r.open == r.head {
		r.list[n-1].whole = true
	}
	if n := len(r.list); n > 0 && !r.between {
		if _, ok := r.list[n-1].values[t.label]; !ok {
			r.list[n-1].values[t.label] = t.text
			r.open = t.label
			return
		}
	}
	r.between = true
	r.early[t.label], r.open = t.text, t.label
}

func (r *recorder) get(name string) string {
	if r.between {
		return r.early[name]
	}
	return r.list[len(r.list)-1].values[name]
}

func (r *recorder) put(name, text string) {
	if r.between {
		r.early[name] = text
		return
	}
	r.list[len(r.list)-1].values[name] = text
}

// fill gives the values that came early to a record.
func (r *recorder) fill(rec *record) {
	for name, text := range r.early {
		if _, ok := rec.values[name]; !ok {
			rec.values[name] = text
		}
	}
	clear(r.early)
}

// thoughtsInText reads labelled thoughts, or else lines like
// "- [critique 0.8] text".
func thoughtsInText(text string) (list []heard) {
	if looksLikeJSON(unfenced(text)) {
		return nil
	}
	for _, r := range records(tokens(text, thoughtLabels, thoughtInline), "thought") {
		h := heard{Text: r.String(), Kind: r.values["type"], Confidence: share(r.values["confidence"])}
		for _, id := range evidenceID.FindAllString(r.values["cites"], maxItems) {
			h.Cites = append(h.Cites, strings.ToLower(id))
		}
		if said(h.Text) {
			list = append(list, h)
		}
	}
	if len(list) > 0 {
		return list
	}
	for line := range strings.SplitSeq(clean(text), "\n") {
		if h, ok := tagged(line); ok {
			list = append(list, h)
		}
	}
	return list
}

var (
	evidenceID = regexp.MustCompile(`\b[eE]\d{1,6}\b`)

	// tag matches "[critique 0.8] ", "**Insight** (0.7): " and the like, at the
	// beginning of a line without its bullet.
	tag = regexp.MustCompile(`^[*_]{0,3}[\[({]?[*_]{0,3}([A-Za-z]{4,12})[*_]{0,3}(?:\s*[,;:]?\s*[(\[]?(?:(?i:confidence)\s*[:=]?\s*)?(\p{Nd}[^\])}]{0,16}))?[\])}]{0,2}[*_]{0,3}\s*[:：–—-]?[*_]{0,3}\s+(.*)$`)

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
	h = heard{Kind: m[1], Text: m[3], Confidence: defaultConfidence}
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

// questionsInText reads labelled questions, or else the questions of a list.
func questionsInText(text string) (list []asked) {
	if looksLikeJSON(unfenced(text)) {
		return nil
	}
	for _, r := range records(tokens(text, questionLabels, questionInline), "question") {
		if q := (asked{Text: r.String(), Priority: priority(r.values["priority"]), Why: r.values["why"]}); said(q.Text) {
			list = append(list, q)
		}
	}
	if len(list) > 0 {
		return list
	}
	for line := range strings.SplitSeq(clean(text), "\n") {
		if bare := unlisted(line); bare != strings.TrimSpace(line) {
			list = append(list, asking(bare)...)
		}
	}
	return list
}

// questionsInProse reads each line that asks.
func questionsInProse(text string) (list []asked) {
	if text = unfenced(text); looksLikeJSON(text) {
		return nil
	}
	for line := range strings.SplitSeq(clean(text), "\n") {
		list = append(list, asking(unlisted(line))...)
	}
	return list
}

var bracketedPriority = regexp.MustCompile(`(?i)[(\[]\s*(?:priority)?\s*[:=]?\s*([^()\[\]]{1,20})[)\]]`)

// asking reads a line such as "What is it? (priority 8) - it would help".
func asking(line string) []asked {
	line = strings.Trim(line, "*_")
	i := strings.IndexAny(line, "?？؟")
	if i < 0 {
		return nil
	}
	end := i + 1
	for end < len(line) && line[end]&0xC0 == 0x80 {
		end++
	}
	q := asked{Text: line[:end], Priority: defaultPriority}
	rest := strings.Trim(line[end:], " *_")
	if m := bracketedPriority.FindStringSubmatchIndex(rest); m != nil && m[0] == 0 {
		q.Priority, rest = priority(rest[m[2]:m[3]]), rest[m[1]:]
	}
	q.Why = strings.TrimLeft(rest, " *_-–—:.")
	if !strings.ContainsFunc(q.Text, unicode.IsLetter) {
		return nil
	}
	return []asked{q}
}

// bullet matches what stands before an item of a list.
var bullet = regexp.MustCompile(`^[\s>]*(?:[-*+•‣◦▪–—·]\s+|[・●○]\s*|\(?\p{Nd}{1,3}[.)\]、．:]\s*|\(?[a-z][.)]\s+|[qQ]\p{Nd}{1,2}[.:)]\s*|\[[ xX]\]\s+)+`)

// unlisted returns a line without its bullet or number.
func unlisted(line string) string {
	return strings.TrimSpace(line[len(bullet.FindString(line)):])
}

// paragraphs returns the paragraphs of a text that has no form, at most
// maxThoughts. What looks like JSON is none.
func paragraphs(text string) (list []string) {
	text = unfenced(text)
	if looksLikeJSON(text) {
		return nil
	}
	for p := range strings.SplitSeq(text, "\n\n") {
		p = strings.TrimSpace(p)
		if len(list) < maxThoughts && strings.ContainsFunc(p, unicode.IsLetter) && !isRule(p) && !strings.HasSuffix(p, ":") {
			list = append(list, unlisted(p))
		}
	}
	return list
}

// unfenced returns text without a code fence around all of it.
func unfenced(text string) string {
	text = clean(text)
	if !strings.HasPrefix(text, "```") {
		return text
	}
	_, text, _ = strings.Cut(text, "\n")
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "```"))
}

func looksLikeJSON(text string) bool {
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[{") || strings.HasPrefix(text, `["`)
}
