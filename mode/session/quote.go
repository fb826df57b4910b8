package session

import (
	"slices"
	"strings"
	"unicode"

	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
)

// Confidence in a quotation, and the most in any answer that no model wrote. It is low,
// for that a document says something does not make it true, and nobody has judged whether
// it fits the question.
const (
	leastQuoted = 0.1
	mostQuoted  = 0.6
)

// quotedConfidence returns the confidence in a quotation: 0.1 + score/2, at most
// 0.6. The score is that of the search, from 0 to 1: how much of the question the
// sentence speaks of.
func quotedConfidence(score float64) float64 {
	return lookup.Rounded(min(mostQuoted, leastQuoted+max(0, score)/2))
}

// thoughtOf makes a thought of a passage: the quotation and where it is from.
func thoughtOf(e evidence, others []evidence) heard {
	return heard{
		Text: "“" + e.Quote + "” [" + e.id() + "]", Kind: kindOfQuote(e, others),
		Confidence: quotedConfidence(e.Score), Cites: []string{e.id()},
	}
}

// quotation reports whether a thought is a quotation: see thoughtOf.
func quotation(text string) bool { return strings.HasPrefix(text, "“") }

// kindOfQuote says what a quotation is, by simple rules: a question if it asks, a
// critique if it objects, a connection if it has two terms that a passage of
// another source has too, else exploration.
func kindOfQuote(e evidence, others []evidence) string {
	switch {
	case strings.ContainsAny(lastRune(e.Quote), "?？؟"):
		return "question"
	case objecting(e.Quote):
		return "critique"
	}
	for _, o := range others {
		if o.voice() != e.voice() && lookup.Shared(e.Terms, o.Terms) >= 2 {
			return "connection"
		}
	}
	return "exploration"
}

// lastRune returns the last character of a quotation, without quotation marks.
func lastRune(text string) string {
	text = strings.TrimRight(text, " \"'”’»)")
	for i := len(text) - 1; i >= 0; i-- {
		if text[i]&0xC0 != 0x80 {
			return text[i:]
		}
	}
	return "."
}

// objections are words that turn against what was said.
var objections = []string{"but", "however", "although", "though", "not", "cannot", "yet", "contrary", "despite", "nevertheless", "unlike", "whereas", "no"}

// objecting reports whether a sentence has a word of contrast or negation.
func objecting(text string) bool {
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' }) {
		if slices.Contains(objections, w) || strings.HasSuffix(w, "n't") || strings.HasSuffix(w, "n’t") {
			return true
		}
	}
	return false
}

// A topic is something that hits are about.
type topic struct {
	Name string `json:"name"`
	Hits int    `json:"hits"`
}

// note remembers the topics of a hit, as they are written first.
func (s *state) note(names []string) {
	s.Topics = slices.Clone(s.Topics)
	for _, name := range names[:min(len(names), maxTerms)] {
		name = textkit.OneLine(name)
		if name == "" || len(name) > 60 {
			continue
		}
		if i := slices.IndexFunc(s.Topics, func(t topic) bool { return strings.EqualFold(t.Name, name) }); i >= 0 {
			s.Topics[i].Hits++
		} else if len(s.Topics) < maxTopics {
			s.Topics = append(s.Topics, topic{name, 1})
		}
	}
	if len(s.Topics) == 0 {
		s.Topics = nil
	}
}

// topicQuestions makes questions of the topics that came up most and are not in
// the user's question.
func (s *state) topicQuestions() (list []asked) {
	all := slices.Clone(s.Topics)
	slices.SortStableFunc(all, func(a, b topic) int { return b.Hits - a.Hits })
	input := lookup.Words(s.run.Input)
	for _, t := range all {
		q := asked{
			Text: s.topicQuestion() + t.Name + "?", Priority: min(3+t.Hits, 10),
			Why: "It comes up beside what was found.",
		}
		if len(list) == maxQuestions || subset(lookup.Words(t.Name), input) {
			continue
		}
		if _, known := s.known(feel(q.Text)); known {
			continue
		}
		list = append(list, q)
	}
	return list
}

// How a question about a topic begins; the second where not only documents are
// searched. What is searched for is the topic and the user's question.
const (
	topicQuestion = "What do the documents say about "
	topicAnywhere = "What is known about "
)

// topic returns what a question about a topic is about; nothing for another focus.
func (f focus) topic() string {
	for _, start := range []string{topicQuestion, topicAnywhere} {
		if topic, ok := strings.CutPrefix(f.Text, start); ok {
			return strings.TrimSuffix(topic, "?")
		}
	}
	return ""
}

// beside reports whether a hit was found only for the user's words, and does not speak
// of the topic, whose words are sorted. One that was found without words may.
func beside(h hit, topic []string) bool {
	return len(h.Terms) > 0 && lookup.Shared(lookup.Words(strings.Join(h.Terms, " ")), topic) == 0 && lookup.Shared(lookup.Words(h.Quote), topic) == 0
}

// topicQuestion returns how a question about a topic begins.
func (s *state) topicQuestion() string {
	if s.opts.Memory || s.opts.Web {
		return topicAnywhere
	}
	return topicQuestion
}

// subset reports whether all of a are in the sorted list b.
func subset(a, b []string) bool { return lookup.Shared(a, b) == len(a) }
