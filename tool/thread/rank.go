package thread

import (
	"strconv"
	"strings"

	"ponder/knowledge/document"
)

// minScore is the score below which a session is unrelated. In rank_test.go, related
// sessions score at least 0.29, and others at most 0.23.
const minScore = 0.26

// prefix starts the names of documents. No question contains it.
const prefix = "_session"

// A match is a related session and its score.
type match struct {
	summary
	score float64
}

// relatedSessions returns up to n sessions that are related to a question, the best first.
//
// It ranks the question among the sessions, as a session with the same question and no
// answer. The score of a session is relative to the score of the question itself. Scores
// therefore do not depend on the length of the question or on the frequency of its words.
func relatedSessions(question string, sessions []summary, n int) []match {
	docs := make([]*document.Document, 0, len(sessions)+1)
	for i, s := range sessions {
		docs = append(docs, sessionDocument(prefix+strconv.Itoa(i), s.Question, s.Answer))
	}
	self := sessionDocument(prefix, question, "")
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
		if len(list) == n || whole == 0 || score < minScore {
			break
		}
		if i, err := strconv.Atoi(strings.TrimPrefix(r.Document.Source, prefix)); err == nil {
			list = append(list, match{sessions[i], score})
		}
	}
	return list
}

// sessionDocument returns the document of a session. Its title and first paragraph are the
// question.
func sessionDocument(source, question, answer string) *document.Document {
	c := document.Markdown(answer)
	c.Title = question
	c.Blocks = append([]document.Block{{Text: question}}, c.Blocks...)
	return document.NewDocument(source, question, c)
}
