package research

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
	"ponder/mode/internal/lookup"
)

// Pages that a model read may influence its later queries. Such a query is sent only if it shares a
// word with the question, its terms or its parts, and adds no search operator.

var searchOperator = regexp.MustCompile(`(?i)\b(?:site|host|domain|inurl|allinurl|url|link|related|cache|ip|feed|loc|location|intitle|allintitle|intext|allintext|inanchor|filetype|ext|contains):\S+`)

// rejectReason returns why a query may not be asked, or "".
func (s *state) rejectReason(query string) string {
	for _, op := range searchOperator.FindAllString(query, -1) {
		if !strings.Contains(strings.ToLower(s.run.Input), strings.ToLower(op)) {
			return "it contains a search operator that the question lacks"
		}
	}
	about := append([]string{s.run.Input}, s.Plan.Terms...)
	for _, q := range s.Questions {
		about = append(about, q.Text)
	}
	for _, f := range s.Facts {
		about = append(about, f.Text)
	}
	if meant := contentWords(about...); len(meant) > 0 && !slices.ContainsFunc(contentWords(query), func(w string) bool { return slices.Contains(meant, w) }) {
		return "it is not about the question"
	}
	return ""
}

func contentWords(texts ...string) (list []string) {
	for _, t := range texts {
		lang, _ := lexical.Detect(t)
		lexical.Tokens(textkit.Prefix(t, maxReading), func(w lexical.Token) {
			fold := lexical.Fold(t[w.Start:w.End])
			if !lexical.Stop(fold, lang) && !lexical.Stop(fold, "en") && !inLexicon("asks", fold) && !inLexicon("filler", fold) {
				list = append(list, lexical.Stem(fold, "en"), fold)
			}
		})
	}
	return list
}

// filterQueries returns the allowed queries and notifies the user of the others.
func (s *state) filterQueries(queries []string) (kept []string) {
	for _, q := range queries {
		if why := s.rejectReason(q); why != "" {
			s.notifyUser(stageNote, "Query rejected", fmt.Sprintf("Query “%s” was rejected: %s.", lookup.Sanitize(q), why))
			continue
		}
		kept = append(kept, q)
	}
	return kept
}
