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
	minQuoteConfidence = 0.1
	maxQuoteConfidence = 0.6
)

// quoteConfidence returns 0.1 + score/2, at most 0.6. The score is the share of the question that
// the sentence covers, 0 to 1.
func quoteConfidence(score float64) float64 {
	return lookup.RoundCents(min(maxQuoteConfidence, minQuoteConfidence+max(0, score)/2))
}

// quoteThought makes a thought of a passage and its citation.
func quoteThought(e evidence, others []evidence) modelThought {
	return modelThought{
		Text: "“" + e.Quote + "” [" + e.id() + "]", Kind: quoteKind(e, others),
		Confidence: quoteConfidence(e.Score), Cites: []string{e.id()},
	}
}

// isQuotation reports whether a thought came from quoteThought.
func isQuotation(text string) bool { return strings.HasPrefix(text, "“") }

// quoteKind classifies a quotation by rules: question, critique (with an objection), connection
// (sharing two terms with another source) or exploration.
func quoteKind(e evidence, others []evidence) string {
	switch {
	case strings.ContainsAny(lastRune(e.Quote), "?？؟"):
		return "question"
	case hasObjection(e.Quote):
		return "critique"
	}
	for _, o := range others {
		if o.voiceKey() != e.voiceKey() && lookup.CountShared(e.Terms, o.Terms) >= 2 {
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

func hasObjection(text string) bool {
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

func (s *state) addTopics(names []string) {
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
func (s *state) topicQuestions() (list []modelQuestion) {
	all := slices.Clone(s.Topics)
	slices.SortStableFunc(all, func(a, b topic) int { return b.Hits - a.Hits })
	input := lookup.DistinctWords(s.run.Input)
	for _, t := range all {
		q := modelQuestion{
			Text: s.topicPrefix() + t.Name + "?", Priority: min(3+t.Hits, 10),
			Why: "It occurs next to the evidence.",
		}
		if len(list) == maxQuestions || isSubset(lookup.DistinctWords(t.Name), input) {
			continue
		}
		if _, known := s.findKnown(normalizeText(q.Text)); known {
			continue
		}
		list = append(list, q)
	}
	return list
}

// Prefixes of topic questions: documents only, or any source. The search uses the topic and the
// user's question.
const (
	docsTopicPrefix = "What do the documents say about "
	anyTopicPrefix  = "What is known about "
)

// topicName returns the topic of a topic question, or "".
func (f focus) topicName() string {
	for _, start := range []string{docsTopicPrefix, anyTopicPrefix} {
		if topic, ok := strings.CutPrefix(f.Text, start); ok {
			return strings.TrimSuffix(topic, "?")
		}
	}
	return ""
}

// isOffTopic reports whether a hit matched only the user's words, not the sorted topic words. A hit
// without matched words is not beside.
func isOffTopic(h hit, topic []string) bool {
	return len(h.Terms) > 0 && lookup.CountShared(lookup.DistinctWords(strings.Join(h.Terms, " ")), topic) == 0 && lookup.CountShared(lookup.DistinctWords(h.Quote), topic) == 0
}

func (s *state) topicPrefix() string {
	if s.opts.Memory || s.opts.Web {
		return anyTopicPrefix
	}
	return docsTopicPrefix
}

func isSubset(a, b []string) bool { return lookup.CountShared(a, b) == len(a) }
