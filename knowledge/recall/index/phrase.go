package index

import (
	"context"
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
)

const (
	// maxPhraseChecks is how many passages are read at most to see whether they
	// have a phrase: the best of those that have all its words.
	maxPhraseChecks = 2_000

	// phraseStep is how many are read at a time.
	phraseStep = 64
)

// withPhrases returns the first n that have all phrases, in one of their texts.
func (s *search) withPhrases(ctx context.Context, list []found, n int) (out []found, err error) {
	var phrases [][]string
	for _, p := range s.q.Phrases {
		if f := folded(p); len(f) > 0 {
			phrases = append(phrases, f)
		}
	}
	titles := map[int64][]string{}
	for part := range slices.Chunk(list, phraseStep) {
		texts, err := s.passages(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, f := range part {
			e, ok := texts[f.num]
			if !ok {
				return nil, errDamaged
			}
			if titles[e.Doc] == nil {
				if titles[e.Doc], err = s.title(ctx, e.Doc); err != nil {
					return nil, err
				}
			}
			fields := append([]string{e.Text, e.Heading, e.Speaker}, titles[e.Doc]...)
			if hasAll(fields, phrases) {
				if out = append(out, f); len(out) == n {
					return out, nil
				}
			}
		}
	}
	return out, nil
}

// folded returns the words of a text without case and accents.
func folded(text string) (out []string) {
	lexical.Tokens(text, func(t lexical.Token) { out = append(out, lexical.Fold(text[t.Start:t.End])) })
	return out
}

// hasAll reports whether each phrase is in one of the texts.
func hasAll(texts []string, phrases [][]string) bool {
	in := make([][]string, len(texts))
	for i, t := range texts {
		in[i] = folded(t)
	}
	return !slices.ContainsFunc(phrases, func(p []string) bool {
		return !slices.ContainsFunc(in, func(t []string) bool { return contains(t, p) })
	})
}

// contains reports whether words have others among them that follow each other.
func contains(text, phrase []string) bool {
	for i := 0; i+len(phrase) <= len(text); i++ {
		if slices.Equal(text[i:i+len(phrase)], phrase) {
			return true
		}
	}
	return false
}

// passages reads passages that were found.
func (s *search) passages(ctx context.Context, list []found) (map[int64]Entry, error) {
	const query = `SELECT num, doc, heading, speaker, body FROM index_passage WHERE num IN (?`
	args := make([]any, 0, len(list))
	for _, f := range list {
		args = append(args, f.num)
	}
	rows, err := s.tx.QueryContext(ctx, s.x.db.Bind(query+strings.Repeat(", ?", len(list)-1)+")"), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[int64]Entry{}
	for rows.Next() {
		var e Entry
		if err := rows.Scan(&e.Num, &e.Doc, &e.Heading, &e.Speaker, &e.Text); err != nil {
			return nil, err
		}
		out[e.Num] = e
	}
	return out, rows.Err()
}

// title returns what a document is called and by whom it is.
func (s *search) title(ctx context.Context, doc int64) ([]string, error) {
	var title, names string
	err := s.tx.QueryRowContext(ctx, s.x.db.Bind(`SELECT title, names FROM index_doc WHERE id = ?`), doc).Scan(&title, &names)
	return append([]string{title}, strings.Split(names, "\n")...), err
}
