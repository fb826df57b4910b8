package session

import (
	"slices"
	"strings"
	"unicode"

	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
)

// Range of the confidence without a model. It is low, because a quote proves neither truth nor
// relevance.
const (
	leastQuoted = 0.1
	mostQuoted  = 0.6
)

// quotedConfidence returns 0.1 + score/2, at most 0.6. The score is the share of the question that
// the sentence covers, 0 to 1.
func quotedConfidence(score float64) float64 {
	return lookup.Rounded(min(mostQuoted, leastQuoted+max(0, score)/2))
}

// thoughtOf makes a thought of a passage and its citation.
func thoughtOf(e evidence, others []evidence) heard {
	return heard{
		Text: "“" + e.Quote + "” [" + e.id() + "]", Kind: kindOfQuote(e, others),
		Confidence: quotedConfidence(e.Score), Cites: []string{e.id()},
	}
}

// quotation reports whether a thought came from thoughtOf.
func quotation(text string) bool { return strings.HasPrefix(text, "“") }

// kindOfQuote classifies a quotation by rules: question, critique (with an objection), connection
// (sharing two terms with another source) or exploration.
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

func lastRune(text string) string {
	text = strings.TrimRight(text, " \"'”’»)")
	for i := len(text) - 1; i >= 0; i-- {
		if text[i]&0xC0 != 0x80 {
			return text[i:]
		}
	}
	return "."
}

var objections = []string{"but", "however", "although", "though", "not", "cannot", "yet", "contrary", "despite", "nevertheless", "unlike", "whereas", "no"}

func objecting(text string) bool {
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' }) {
		if slices.Contains(objections, w) || strings.HasSuffix(w, "n't") || strings.HasSuffix(w, "n’t") {
			return true
		}
	}
	return false
}

type topic struct {
	Name string `json:"name"`
	Hits int    `json:"hits"`
}

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

// topicQuestions asks about the most frequent topics that the user's question lacks.
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

// Prefixes of topic questions: documents only, or any source. The search uses the topic and the
// user's question.
const (
	topicQuestion = "What do the documents say about "
	topicAnywhere = "What is known about "
)

// topic returns the topic of a topic question, or "".
func (f focus) topic() string {
	for _, start := range []string{topicQuestion, topicAnywhere} {
		if topic, ok := strings.CutPrefix(f.Text, start); ok {
			return strings.TrimSuffix(topic, "?")
		}
	}
	return ""
}

// beside reports whether a hit matched only the user's words, not the sorted topic words. A hit
// without matched words is not beside.
func beside(h hit, topic []string) bool {
	return len(h.Terms) > 0 && lookup.Shared(lookup.Words(strings.Join(h.Terms, " ")), topic) == 0 && lookup.Shared(lookup.Words(h.Quote), topic) == 0
}

func (s *state) topicQuestion() string {
	if s.opts.Memory || s.opts.Web {
		return topicAnywhere
	}
	return topicQuestion
}

func subset(a, b []string) bool { return lookup.Shared(a, b) == len(a) }
