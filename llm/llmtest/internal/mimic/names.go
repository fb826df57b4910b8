package mimic

import (
	"slices"
	"strconv"
	"strings"
)

// named writes the text that a property or a label of this name would hold, in
// about n sentences if it is prose.
func (w *Writer) named(name string, n int) string {
	name = strings.ToLower(name)
	switch {
	case w.say != "":
		return w.say
	case like(name, "question", "remaining", "unknown", "gap", "open"):
		return w.question()
	case like(name, "confidence", "probability", "likelihood", "certainty"):
		return strconv.FormatFloat(w.number(0.3, 0.95, 2), 'f', -1, 64)
	case like(name, "priority", "importance", "score", "rating"):
		return strconv.Itoa(w.between(1, 10))
	case like(name, "type", "kind", "category"):
		return pick(w, []string{"exploration", "critique", "connection", "insight"})
	case like(name, "title", "name", "label", "topic", "focus", "query", "queries", "keyword", "term", "tag"):
		return w.phrase()
	case like(name, "url", "link", "uri"):
		return "https://example.org/" + slug(w.phrase())
	case like(name, "quote", "excerpt", "verbatim") && len(w.passages) > 0:
		return w.quote(pick(w, w.passages))
	case name == "id" || strings.HasSuffix(name, "_id"):
		return slug(w.phrase())
	case like(name, "summary", "synthesis", "answer", "report", "understanding", "content", "conclusion"):
		return w.sentences(n + 1)
	}
	return w.sentences(1 + w.rng.IntN(n))
}

// topic is what a tool would be asked for: the first thing the prompt is about.
func (w *Writer) topic() string {
	if w.say != "" {
		return w.say
	}
	if len(w.phrases) == 0 {
		return spare[0]
	}
	return w.phrases[w.rng.IntN(min(2, len(w.phrases)))]
}

// usual returns the range that numbers of this name have where a schema does
// not bound them.
func usual(kind, name string) (lo, hi float64) {
	name = strings.ToLower(name)
	switch {
	case kind == "number" && like(name, "confidence", "probability", "likelihood", "score", "importance", "weight", "ratio", "relevance"):
		return 0, 1
	case like(name, "confidence", "percent"):
		return 0, 100
	case like(name, "year"):
		return 1950, 2025
	}
	return 1, 10
}

// refs reports whether an array of this name refers to passages.
func refs(name string) bool {
	return like(strings.ToLower(name), "source", "cite", "citation", "passage", "refs", "reference")
}

func like(name string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
}
