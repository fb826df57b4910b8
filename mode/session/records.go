package session

import (
	"ponder/internal/textkit"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A record is what belongs together in an answer: a text, and a value for each
// other label.
type record struct {
	text   []string
	whole  bool   // all of text belongs to it; else what comes before the first blank line
	note   string // in brackets behind its label
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
		r.list = append(r.list, record{text: []string{t.text}, note: t.note, values: make(map[string]string)})
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
// "- [critique 0.8] text" and others with the marks of thoughts.
func thoughtsInText(text string) (list []heard) {
	text = laidOut(text, thoughtLabels, "thought")
	for _, r := range records(tokens(text, thoughtLabels, thoughtInline), "thought") {
		list = append(list, r.thoughts()...)
	}
	if len(list) > 0 {
		return list
	}
	return tellingOf(blocks(text))
}

// thoughts returns what a record says: a thought, or, under a heading, a list of them.
func (r record) thoughts() []heard {
	text := r.String()
	if looksLikeJSON(text) || !said(text) {
		return nil
	}
	if len(r.values) == 0 && r.text[0] == "" && unlisted(text) != text {
		r.whole = true
		return thoughtsIn(blocks(r.String()))
	}
	h := heard{Text: text, Kind: r.values["type"], Confidence: share(r.values["confidence"]), Cites: citesIn(r.values["cites"])}
	if n, ok := noteOf(r.note); ok {
		h = n.on(h, r.values)
	}
	if importance, ok := r.values["importance"]; ok {
		h.Importance = share(importance)
	}
	return []heard{h}
}

func citesIn(text string) (ids []string) {
	for _, id := range evidenceID.FindAllString(text, maxItems) {
		ids = append(ids, strings.ToLower(id))
	}
	return ids
}

var evidenceID = regexp.MustCompile(`\b[eE]\d{1,6}\b`)

// questionsInText reads labelled questions, or else the questions of a list.
func questionsInText(text string) (list []asked) {
	if list = labelledQuestions(text, questionLabels); len(list) > 0 || looksLikeJSON(unfenced(text)) {
		return list
	}
	for line := range strings.SplitSeq(textkit.CleanTrim(text), "\n") {
		if bare := unlisted(line); bare != strings.TrimSpace(line) {
			list = append(list, asking(bare)...)
		}
	}
	return list
}

// labelledQuestions reads labelled questions, or those of a list under a label.
func labelledQuestions(text string, all labels) (list []asked) {
	text = laidOut(text, all, "question")
	if list = questionsBelow(text, all); len(list) > 0 {
		return list
	}
	for _, r := range records(tokens(text, all, questionInline), "question") {
		text := r.String()
		if looksLikeJSON(text) || !strings.ContainsFunc(text, unicode.IsLetter) {
			continue
		}
		q := asked{Text: text, Priority: priority(r.values["priority"]), Why: r.values["why"], Parent: r.values["parent"]}
		if _, ok := r.values["priority"]; !ok && r.note != "" {
			q.Priority = priority(r.note)
		}
		list = append(list, q)
	}
	return list
}

// questionsBelow reads the questions of a list right below a label.
func questionsBelow(text string, all labels) (list []asked) {
	below := false
	for line := range strings.SplitSeq(textkit.CleanTrim(text), "\n") {
		line = strings.TrimSpace(line)
		bare := unlisted(line)
		name, _, rest, ok := labelled(line, all)
		switch q := asking(bare); {
		case line == "":
		case ok && name == "question":
			below = rest == ""
		case below && bare != line:
			list = append(list, q...)
		default:
			below = false
		}
	}
	return list
}

// questionsInProse reads each line that asks.
func questionsInProse(text string) (list []asked) {
	if text = unfenced(text); looksLikeJSON(text) {
		return nil
	}
	for line := range strings.SplitSeq(textkit.CleanTrim(text), "\n") {
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

// unfenced returns text without a code fence around all of it.
func unfenced(text string) string {
	text = textkit.CleanTrim(text)
	if !strings.HasPrefix(text, "```") {
		return text
	}
	_, text, _ = strings.Cut(text, "\n")
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "```"))
}

func looksLikeJSON(text string) bool {
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[{") || strings.HasPrefix(text, `["`)
}
