package document

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ponder/internal/racetest"
)

func dataDir(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "data", name)
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
}

type record struct{ ID, Title, Text string }

func readRecords(t testing.TB, name string) []record {
	var out []record
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
			return // the header
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
	slices.SortFunc(ideal, func(a, b float64) int { return compareFloats(b, a) })
	return gain(got) / gain(ideal)
}

func TestRankQuality(t *testing.T) {
	racetest.Skip(t, "one goroutine, which ranks a collection")
	for name, least := range map[string]float64{"cranfield": 0.38, "cisi": 0.36} {
		t.Run(name, func(t *testing.T) {
			dir := dataDir(t, filepath.Join("ir", name))
			var docs []*Document
			for _, r := range readRecords(t, filepath.Join(dir, "corpus.jsonl")) {
				docs = append(docs, NewDocument(r.ID, r.ID, Content{Title: r.Title, Blocks: []Block{{Text: r.Title}, {Text: r.Text}}}))
			}
			c := NewCollection(docs)
			rel := readJudgements(t, filepath.Join(dir, "qrels.tsv"))
			whole, sentence, n := 0.0, 0.0, 0.0
			for _, q := range readRecords(t, filepath.Join(dir, "queries.jsonl")) {
				if len(rel[q.ID]) == 0 {
					continue
				}
				n++
				var ranking, found []string
				for _, r := range c.Rank(q.Text, 10) {
					ranking = append(ranking, r.Document.Source)
				}
				for _, h := range c.Search(q.Text, 10, SearchOptions{PerSource: 1}) {
					found = append(found, h.Document.Source)
				}
				whole += ndcg(ranking, rel[q.ID])
				sentence += ndcg(found, rel[q.ID])
			}
			t.Logf("nDCG@10 of %.0f questions: documents %.3f, by their best sentence %.3f", n, whole/n, sentence/n)
			if whole/n < least {
				t.Errorf("nDCG@10 is %.3f, want at least %.2f", whole/n, least)
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

func TestEvidenceRecall(t *testing.T) {
	racetest.Skip(t, "one goroutine, which ranks a collection")
	for name, least := range map[string]float64{"locomo-dev.json": 0.65, "qmsum-val.json": 0} {
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(dataDir(t, "memory"), name))
			if err != nil {
				t.Fatal(err)
			}
			var all []conversation
			if err := json.Unmarshal(b, &all); err != nil {
				t.Fatal(err)
			}
			sum, n := 0.0, 0.0
			for _, conv := range all {
				c, turns := conversationDocs(conv)
				for _, q := range conv.Qs {
					if len(q.Ev) == 0 {
						continue
					}
					n++
					got := map[string]bool{}
					for _, h := range c.Search(q.Q, 40, SearchOptions{}) {
						if len(got) < 10 {
							got[turns[h.Document.Source][h.Document.Sentences[h.Sentence].block]] = true
						}
					}
					hit := 0.0
					for _, e := range q.Ev {
						if got[e] {
							hit++
						}
					}
					sum += hit / float64(len(q.Ev))
				}
			}
			t.Logf("evidence recall@10 of %.0f questions: %.3f", n, sum/n)
			if sum/n < least {
				t.Errorf("evidence recall@10 is %.3f, want at least %.2f", sum/n, least)
			}
		})
	}
}

func conversationDocs(conv conversation) (*Collection, map[string][]string) {
	turns := map[string][]string{}
	blocks := map[string][]Block{}
	var order []string
	for _, turn := range conv.Turns {
		if turns[turn.Session] == nil {
			order = append(order, turn.Session)
		}
		turns[turn.Session] = append(turns[turn.Session], turn.ID)
		text := strings.TrimSpace(turn.Speaker + ": " + turn.Text + " " + turn.Caption)
		blocks[turn.Session] = append(blocks[turn.Session], Block{Kind: Item, Text: text})
	}
	var docs []*Document
	for _, s := range order {
		docs = append(docs, NewDocument(s, s, Content{Blocks: blocks[s]}))
	}
	return NewCollection(docs), turns
}
