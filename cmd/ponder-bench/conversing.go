package main

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"

	"ponder/knowledge/recall/index"
)

// A conversation holds turns by session, and questions with the turns that answer them.
type conversation struct {
	Turns []struct{ ID, Session, Speaker, Text, Caption string }
	Qs    []struct {
		Q   string
		Ev  []string
		Cat string
	}
}

// conversationScenario measures how many answering turns are among the first ten results, with the library's
// conversation search and with turns alone.
func conversationScenario(name string, minimum float64) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		file, err := requireData("memory", name)
		if err != nil {
			return nil, err
		}
		js, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var all []conversation
		if err := json.Unmarshal(js, &all); err != nil {
			return nil, err
		}
		sums, counts := make(map[string]float64), make(map[string]float64)
		alone, mean, n := 0.0, 0.0, 0.0
		for _, c := range all {
			err := c.evaluateSearch(ctx, func(category string, found, plain float64) {
				sums[category] += found
				counts[category]++
				mean, alone, n = mean+found, alone+plain, n+1
			})
			if err != nil {
				return nil, err
			}
		}
		figures := []figure{
			{Name: "recall@10", Value: mean / n, Goal: minimum, Minimum: true},
			{Name: "recall@10 by each turn alone", Value: alone / n},
		}
		for _, category := range slices.Sorted(maps.Keys(sums)) {
			figures = append(figures, figure{Name: "recall@10, questions of category " + category, Value: sums[category] / counts[category]})
		}
		return figures, nil
	}
}

func (c conversation) evaluateSearch(ctx context.Context, told func(category string, found, alone float64)) error {
	db, remove, err := newDatabase(ctx)
	if err != nil {
		return err
	}
	defer remove()
	x, err := index.Open(ctx, db)
	if err != nil {
		return err
	}
	turns, err := c.indexTurns(ctx, func(docs []index.Doc) error { return indexDocs(ctx, db, x, docs) }, x)
	if err != nil {
		return err
	}
	for _, q := range c.Qs {
		if len(q.Ev) == 0 {
			continue
		}
		share := func(query index.Query) (float64, error) {
			query.Terms = []index.Term{{Word: q.Q}}
			hits, err := x.Search(ctx, query, 10)
			found := 0.0
			for _, h := range hits {
				if slices.Contains(q.Ev, turns[h.Passage]) {
					found++
				}
			}
			return found / float64(len(q.Ev)), err
		}
		found, err := share(index.Query{Neighbours: index.ConversationNeighbours, Whole: index.ConversationWhole})
		if err != nil {
			return err
		}
		alone, err := share(index.Query{})
		if err != nil {
			return err
		}
		told(q.Cat, found, alone)
	}
	return nil
}

// indexTurns adds a conversation, one document per session, and returns the turn IDs by passage.
func (c conversation) indexTurns(ctx context.Context, add func([]index.Doc) error, x *index.Index) (map[int64]string, error) {
	at := make(map[string]int)
	var docs []index.Doc
	var ids [][]string
	for _, t := range c.Turns {
		i, ok := at[t.Session]
		if !ok {
			i = len(docs)
			at[t.Session] = i
			docs, ids = append(docs, index.Doc{ID: int64(i + 1), Language: "en"}), append(ids, nil)
		}
		text := t.Text
		if t.Caption != "" {
			text += " " + t.Caption
		}
		docs[i].Passages = append(docs[i].Passages, index.Passage{Text: text, Speaker: t.Speaker})
		ids[i] = append(ids[i], t.ID)
	}
	if err := add(docs); err != nil {
		return nil, err
	}
	turns := make(map[int64]string)
	for i := range docs {
		first, _, err := x.PassageRange(ctx, docs[i].ID)
		if err != nil {
			return nil, err
		}
		for j, id := range ids[i] {
			turns[first+int64(j)] = id
		}
	}
	return turns, nil
}
