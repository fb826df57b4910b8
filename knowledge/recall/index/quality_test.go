package index

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ponder/internal/racetest"
)

// readTestdata returns a folder of benchmark data, or skips the test.
func readTestdata(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "..", "shared", "data", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("benchmark data: %v", err)
	}
	return dir
}

func eachLine(t testing.TB, name string, f func([]byte)) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := bufio.NewScanner(file)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		f(s.Bytes())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}

type record struct{ ID, Title, Text string }

func readRecords(t testing.TB, name string) (out []record) {
	eachLine(t, name, func(b []byte) {
		var r struct {
			ID          string `json:"_id"`
			Title, Text string
		}
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, record{r.ID, r.Title, r.Text})
	})
	return out
}

func readJudgements(t testing.TB, name string) map[string]map[string]float64 {
	out := map[string]map[string]float64{}
	eachLine(t, name, func(b []byte) {
		var q, d string
		var score float64
		if _, err := fmt.Sscan(string(b), &q, &d, &score); err != nil {
			return
		}
		if out[q] == nil {
			out[q] = map[string]float64{}
		}
		out[q][d] = score
	})
	return out
}

func ndcg(ranking []string, rel map[string]float64) float64 {
	gain := func(scores []float64) (g float64) {
		for i, s := range scores[:min(10, len(scores))] {
			g += s / math.Log2(float64(i+2))
		}
		return g
	}
	var got, ideal []float64
	for _, id := range ranking {
		got = append(got, rel[id])
	}
	for _, s := range rel {
		ideal = append(ideal, s)
	}
	slices.Sort(ideal)
	slices.Reverse(ideal)
	return gain(got) / gain(ideal)
}

func precision(ranking []string, rel map[string]float64) float64 {
	sum, hits, all := 0.0, 0.0, 0.0
	for _, s := range rel {
		if s > 0 {
			all++
		}
	}
	for i, id := range ranking {
		if rel[id] > 0 {
			hits++
			sum += hits / float64(i+1)
		}
	}
	return sum / max(1, all)
}

type collection struct {
	x       *Index
	ids     map[int64]string
	queries []record
	rel     map[string]map[string]float64
}

func newCollection(t testing.TB, name string) collection {
	dir := readTestdata(t, filepath.Join("ir", name))
	x, _ := newIndex(t)
	c := collection{x: x, ids: map[int64]string{}, rel: readJudgements(t, filepath.Join(dir, "qrels.tsv"))}
	var docs []Doc
	for i, r := range readRecords(t, filepath.Join(dir, "corpus.jsonl")) {
		d := Doc{ID: int64(i + 1), Title: r.Title, Language: "en", Passages: []Passage{{End: len(r.Text), Text: r.Text}}}
		c.ids[d.ID] = r.ID
		docs = append(docs, d)
	}
	for part := range slices.Chunk(docs, 500) {
		addDocs(t, x, part...)
	}
	for _, q := range readRecords(t, filepath.Join(dir, "queries.jsonl")) {
		if len(c.rel[q.ID]) > 0 {
			c.queries = append(c.queries, q)
		}
	}
	return c
}

func (c collection) measureQuery(t testing.TB, q Query) (gain, average float64) {
	for _, r := range c.queries {
		q.Terms = []Term{{Word: r.Text}}
		var ranking []string
		for _, h := range searchHits(t, c.x, q, 1000) {
			ranking = append(ranking, c.ids[h.Doc])
		}
		gain += ndcg(ranking, c.rel[r.ID]) / float64(len(c.queries))
		average += precision(ranking, c.rel[r.ID]) / float64(len(c.queries))
	}
	return gain, average
}

func TestRankQuality(t *testing.T) {
	racetest.Skip(t, "one goroutine, which ranks a collection")
	for name, minimum := range map[string]struct{ gain, feedback float64 }{"cranfield": {0.384, 0.329}, "cisi": {0.368, 0.242}} {
		t.Run(name, func(t *testing.T) {
			c := newCollection(t, name)
			gain, average := c.measureQuery(t, Query{})
			feedbackGain, feedback := c.measureQuery(t, Query{Feedback: true})
			t.Logf("%d questions: nDCG@10 %.4f, MAP %.4f; with feedback %.4f, %.4f", len(c.queries), gain, average, feedbackGain, feedback)
			if gain < minimum.gain || feedback < minimum.feedback {
				t.Errorf("want nDCG@10 >= %.3f, and MAP with feedback >= %.3f", minimum.gain, minimum.feedback)
			}
		})
	}
}

type conversation struct {
	ID    string
	Turns []struct{ ID, Session, Time, Speaker, Text, Caption string }
	Qs    []struct {
		Q   string
		Ev  []string
		Cat string
	}
}

// An archive is a conversation as an index with a document per session.
type archive struct {
	conversation
	x     *Index
	turns map[int64]string
}

func readConversations(t testing.TB, name string) (out []archive) {
	b, err := os.ReadFile(filepath.Join(readTestdata(t, "memory"), name))
	if err != nil {
		t.Fatal(err)
	}
	var all []conversation
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for _, conv := range all {
		a := archive{conversation: conv, turns: map[int64]string{}}
		a.x, _ = newIndex(t)
		at := map[string]int{}
		var docs []Doc
		ids := [][]string{}
		for _, turn := range conv.Turns {
			i, ok := at[turn.Session]
			if !ok {
				i = len(docs)
				at[turn.Session] = i
				docs, ids = append(docs, Doc{ID: int64(i + 1), Language: "en"}), append(ids, nil)
			}
			text := turn.Text
			if turn.Caption != "" {
				text += " " + turn.Caption
			}
			docs[i].Passages = append(docs[i].Passages, Passage{Text: text, Speaker: turn.Speaker})
			ids[i] = append(ids[i], turn.ID)
		}
		addDocs(t, a.x, docs...)
		for i := range docs {
			first, _, err := a.x.PassageRange(t.Context(), docs[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			for j, id := range ids[i] {
				a.turns[first+int64(j)] = id
			}
		}
		out = append(out, a)
	}
	return out
}

// evidenceRecall returns the recall@10 of answering turns, by category.
func evidenceRecall(t testing.TB, all []archive, q Query) (mean float64, categories map[string]float64) {
	counts := map[string]float64{}
	categories = map[string]float64{}
	for _, a := range all {
		for _, question := range a.Qs {
			if len(question.Ev) == 0 {
				continue
			}
			q.Terms = []Term{{Word: question.Q}}
			hit := 0.0
			for _, h := range searchHits(t, a.x, q, 10) {
				if slices.Contains(question.Ev, a.turns[h.Passage]) {
					hit++
				}
			}
			counts[question.Cat]++
			categories[question.Cat] += hit / float64(len(question.Ev))
		}
	}
	n := 0.0
	for cat, c := range counts {
		mean += categories[cat]
		categories[cat] /= c
		n += c
	}
	return mean / n, categories
}

func TestEvidenceRecall(t *testing.T) {
	racetest.Skip(t, "one goroutine, which ranks a collection")
	for name, minimum := range map[string]struct{ plain, talk float64 }{"locomo-dev.json": {0.62, 0.769}, "qmsum-val.json": {0.14, 0.2}} {
		t.Run(name, func(t *testing.T) {
			all := readConversations(t, name)
			plain, _ := evidenceRecall(t, all, Query{})
			talk, categories := evidenceRecall(t, all, Query{Neighbours: ConversationNeighbours, Whole: ConversationWhole})
			t.Logf("evidence recall@10: %.3f, by passages alone %.3f; by category %v", talk, plain, categories)
			if plain < minimum.plain || talk < minimum.talk {
				t.Errorf("want at least %.3f and %.3f", minimum.talk, minimum.plain)
			}
		})
	}
}
