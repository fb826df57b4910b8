package thread

import (
	"strconv"
	"strings"

	"ponder/knowledge/document"
)

// leastScore is the score below which a session is about something else. In
// rank_test.go, related ones get 0.29 and more, others 0.23 and less.
const leastScore = 0.26

// prefix begins the names of documents, which no word of a question is.
const prefix = "_session"

// A match is a session that has to do with a question, and how much.
type match struct {
	summary
	score float64
}

// related returns at most n sessions that have to do with a question, the best
// first.
//
// The measure is the question itself: it is ranked among the sessions as if it
// were one that asked the same and answered nothing, and a session scores by how
// near it comes to that. So a score means the same whatever the question's length
// and however common its words are.
func related(question string, sessions []summary, n int) []match {
	docs := make([]*document.Document, 0, len(sessions)+1)
	for i, s := range sessions {
		docs = append(docs, written(prefix+strconv.Itoa(i), s.Question, s.Answer))
	}
	self := written(prefix, question, "")
	docs = append(docs, self)
	ranked := document.NewCollection(docs).Rank(question, len(docs))
	whole := 0.0
	for _, r := range ranked {
		if r.Document == self {
			whole = r.Score
		}
	}
	var list []match
	for _, r := range ranked {
		score := min(1, r.Score/whole)
		if len(list) == n || whole == 0 || score < leastScore {
			break
		}
		if i, err := strconv.Atoi(strings.TrimPrefix(r.Document.Source, prefix)); err == nil {
			list = append(list, match{sessions[i], score})
		}
	}
	return list
}

// written returns a session as it is ranked: its question is its title and its
// first paragraph.
func written(source, question, answer string) *document.Document {
	c := document.Markdown(answer)
	c.Title = question
	c.Blocks = append([]document.Block{{Text: question}}, c.Blocks...)
	return document.NewDocument(source, question, c)
}
