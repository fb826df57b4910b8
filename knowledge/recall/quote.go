package recall

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ponder/internal/textkit/lexical"
	"ponder/knowledge/document"
	"ponder/knowledge/recall/index"
)

const (
	shortQuote = 60 // shorter sentences are quoted with the next
	maxSnippet = 240
	maxContext = 1200
)

// quoteCandidates makes hits of candidates, each with its best sentence. Candidates without an
// allowed sentence are left out.
func (s *search) quoteCandidates(list []*candidate) []Hit {
	docs := make([]*document.Document, len(list))
	hits := make([]*Hit, len(list))
	excluded := s.excludedSpans()
	wanted := s.quoteTerms(list)
	parallelParts(indexRange(len(list)), func(part []int) {
		known := wordForms{languages: s.languages}
		for _, i := range part {
			c := list[i]
			d := passageDocument(c.passage, c.item.Title, i)
			docs[i] = d
			if start, end, ok := pickQuote(d, wanted.rankSentences(d, &known), c, excluded[c.item.Hash[:placeHash]]); ok {
				h := s.newHit(c, start, end)
				hits[i] = &h
			}
		}
	})
	s.addTopics(docs, hits)
	var out []Hit
	for _, h := range hits {
		if h != nil && len(out) < s.o.N {
			out = append(out, *h)
		}
	}
	return out
}

func indexRange(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func (s *search) addTopics(docs []*document.Document, hits []*Hit) {
	if s.o.Topics <= 0 {
		return
	}
	all := document.NewCollection(docs)
	for i, h := range hits {
		if h != nil {
			h.Topics = all.KeyTerms(docs[i].Text, s.o.Topics)
		}
	}
}

const placeHash = 12

type span struct{ start, end int }

func (s *search) excludedSpans() map[string][]span {
	out := map[string][]span{}
	for _, id := range s.o.Exclude {
		if hash, start, end, ok := document.ParseRangeID(id); ok {
			out[hash] = append(out[hash], span{start, end})
		}
	}
	return out
}

// pickQuote returns the range to quote: the best sentence that is not excluded. After an
// exclusion it takes only matched sentences.
func pickQuote(d *document.Document, found []int, c *candidate, excluded []span) (start, end int, ok bool) {
	out := func(a, b int) bool {
		return slices.ContainsFunc(excluded, func(e span) bool { return c.passage.Start+a < e.end && e.start < c.passage.Start+b })
	}
	some := false
	for _, i := range found {
		start, end = d.Sentences[i].Start, d.Sentences[i].End
		if out(start, end) {
			some = true
			continue
		}
		if next := i + 1; end-start < shortQuote && next < len(d.Sentences) && d.Sentences[next].Kind != document.Heading &&
			d.Sentences[next].End-start < 4*shortQuote && !out(start, d.Sentences[next].End) {
			end = d.Sentences[next].End
		}
		return start, end, true
	}
	if some {
		return 0, 0, false
	}
	first := -1
	for i, u := range d.Sentences {
		if out(u.Start, u.End) {
			return 0, 0, false
		}
		if first < 0 || d.Sentences[first].Kind == document.Heading && u.Kind != document.Heading {
			first = i
		}
	}
	if first < 0 {
		return 0, 0, false
	}
	return d.Sentences[first].Start, d.Sentences[first].End, true
}

func (s *search) newHit(c *candidate, start, end int) Hit {
	p, it := c.passage, c.item
	it.Text, it.Raw = "", ""
	h := Hit{
		Item: it, Date: it.Date, Quote: p.Text[start:end], Start: p.Start + start, End: p.Start + end, Page: p.Page, Section: p.Heading,
		Speaker: p.Speaker, Score: min(1, max(0, c.score)), Terms: c.words, Similar: c.similar, MatchedBy: matchKind(c),
	}
	h.ID = fmt.Sprintf("%s:%d-%d", it.Hash[:placeHash], h.Start, h.End)
	h.Cluster = c.wordsHash[:placeHash]
	h.Context = strings.TrimSpace(excerptAround(p.Text, start, end, maxContext))
	h.Snippet = markWords(strings.TrimSpace(excerptAround(p.Text, start, end, maxSnippet)), s.snippetMatcher(c))
	return h
}

func matchKind(c *candidate) string {
	switch {
	case c.byWords && c.byMeaning:
		return "words and meaning"
	case c.byMeaning:
		return "meaning"
	case c.byWords:
		return "words"
	case c.related:
		return "related words"
	}
	return "date"
}

// passageDocument returns a passage as a document with equal text.
func passageDocument(p index.Passage, title string, n int) *document.Document {
	d := &document.Document{Title: title, Source: title, Text: p.Text, Hash: hashOf(p.Text, strconv.Itoa(n))}
	section := -1
	for at := 0; at < len(p.Text); {
		end := len(p.Text)
		if i := strings.IndexByte(p.Text[at:], '\n'); i >= 0 {
			end = at + i
		}
		kind := document.Prose
		if l := p.Text[at:end]; isHeading(l, p.Heading, title) {
			if section >= 0 {
				d.Sections[section].End = at
			}
			section, kind = len(d.Sections), document.Heading
			d.Sections = append(d.Sections, document.Section{Title: l, Level: 1, Start: at, End: len(p.Text), Parent: -1})
		}
		d.Sentences = append(d.Sentences, lineSentences(p.Text[at:end], at, kind, section)...)
		at = end + 1
	}
	return d
}

// isHeading reports whether a line is a heading of the passage.
func isHeading(line, headings, title string) bool {
	if line == "" {
		return false
	}
	if line == title {
		return true
	}
	for h := range strings.SplitSeq(headings, " > ") {
		if h == line {
			return true
		}
	}
	return false
}

func lineSentences(line string, at int, kind document.Kind, section int) []document.Sentence {
	text := strings.TrimSpace(line)
	if text == "" {
		return nil
	}
	d := document.NewDocument("", "", document.Content{Blocks: []document.Block{{Kind: document.Prose, Text: line}}})
	if kind == document.Heading || d.Text != line {
		start := at + strings.Index(line, text)
		return []document.Sentence{{Start: start, End: start + len(text), Kind: kind, Section: section}}
	}
	for i := range d.Sentences {
		u := &d.Sentences[i]
		u.Start, u.End, u.Section = u.Start+at, u.End+at, section
	}
	return d.Sentences
}

// excerptAround returns at most n bytes around a range, cut between words.
func excerptAround(text string, start, end, n int) string {
	if len(text) <= n {
		return text
	}
	room := max(0, n-(end-start))
	from := max(0, start-room/3)
	to := min(len(text), max(from+n, end))
	from, to = wordBound(text, from, start), wordBoundEnd(text, to, end)
	return text[from:to]
}

func wordBound(text string, at, maxStart int) int {
	if at == 0 {
		return 0
	}
	if i := strings.IndexAny(text[at:maxStart], " \n"); i >= 0 {
		return at + i + 1
	}
	return maxStart
}

func wordBoundEnd(text string, at, minEnd int) int {
	if at >= len(text) {
		return len(text)
	}
	if i := strings.LastIndexAny(text[minEnd:at], " \n"); i >= 0 {
		return minEnd + i
	}
	return minEnd
}

// snippetMatcher returns the test for words to mark: forms of matched words, and words with the
// query's prefixes.
func (s *search) snippetMatcher(c *candidate) func(word string) bool {
	wanted := map[string]bool{}
	add := func(text string) {
		lexical.Tokens(text, func(t lexical.Token) {
			w := text[t.Start:t.End]
			wanted[lexical.Fold(w)] = true
			for _, lang := range s.languages {
				wanted[lexical.Stem(w, lang)] = true
			}
		})
	}
	for _, w := range c.words {
		add(w)
	}
	for _, w := range c.corrected {
		add(w)
	}
	var prefixes []string
	for _, w := range s.query.Words {
		if w.Prefix {
			prefixes = append(prefixes, lexical.Fold(w.Text))
		}
	}
	return func(word string) bool {
		folded := lexical.Fold(word)
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(folded, p) }) {
			return true
		}
		return wanted[folded] || slices.ContainsFunc(s.languages, func(l lexical.Language) bool { return wanted[lexical.Stem(word, l)] })
	}
}

// markWords returns a text on one line with marked words. It joins overlapping marks, as
// of pairs of letters.
func markWords(text string, mark func(word string) bool) string {
	text = strings.NewReplacer(MarkOpen, "", MarkClose, "", "\n", " ").Replace(text)
	var spans []span
	lexical.Tokens(text, func(t lexical.Token) {
		if !mark(text[t.Start:t.End]) {
			return
		}
		if n := len(spans); n > 0 && t.Start <= spans[n-1].end {
			spans[n-1].end = max(spans[n-1].end, t.End)
			return
		}
		spans = append(spans, span{t.Start, t.End})
	})
	var b strings.Builder
	at := 0
	for _, m := range spans {
		b.WriteString(text[at:m.start] + MarkOpen + text[m.start:m.end] + MarkClose)
		at = m.end
	}
	b.WriteString(text[at:])
	return b.String()
}
