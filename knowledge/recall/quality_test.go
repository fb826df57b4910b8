package recall_test

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
	"ponder/knowledge/recall"
)

func readTestdata(t *testing.T, name string) string {
	path := filepath.Join("..", "..", "..", "shared", "data", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no benchmark data: %v", err)
	}
	return path
}

// Search ranks no worse than published figures of BM25.
func TestRankingQuality(t *testing.T) {
	racetest.Skip(t, "one goroutine, which ranks a collection")
	for set, minGain := range map[string]float64{"cranfield": 0.384, "cisi": 0.368} {
		t.Run(set, func(t *testing.T) {
			dir := readTestdata(t, filepath.Join("ir", set))
			r := newRig(t)
			var items []recall.Item
			eachRecord(t, filepath.Join(dir, "corpus.jsonl"), func(id, title, text string) {
				if strings.TrimSpace(title+text) != "" {
					items = append(items, recall.Item{Kind: recall.KindDocument, ExternalID: id, Title: title, Text: title + "\n\n" + text})
				}
			})
			for some := range slices.Chunk(items, 200) {
				r.rememberItems(some...)
			}
			relevant := readJudgements(t, filepath.Join(dir, "qrels.tsv"))
			sum, n := 0.0, 0.0
			eachRecord(t, filepath.Join(dir, "queries.jsonl"), func(id, _, text string) {
				if q := relevant[id]; len(q) > 0 {
					sum, n = sum+ndcg(r.searchText(text, recall.SearchOptions{N: 30}).Hits, q), n+1
				}
			})
			t.Logf("nDCG@10 %.4f", sum/n)
			if sum/n < minGain {
				t.Errorf("nDCG@10 %.4f, want %.3f", sum/n, minGain)
			}
		})
	}
}

func eachRecord(t *testing.T, file string, do func(id, title, text string)) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		var r struct {
			ID          string `json:"_id"`
			Title, Text string
		}
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		do(r.ID, r.Title, r.Text)
	}
}

func readJudgements(t *testing.T, file string) map[string]map[string]float64 {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]float64{}
	for l := range strings.Lines(string(raw)) {
		var query, doc string
		var score float64
		if n, err := fmt.Sscan(l, &query, &doc, &score); n != 3 || err != nil {
			continue
		}
		if out[query] == nil {
			out[query] = map[string]float64{}
		}
		out[query][doc] = score
	}
	return out
}

// ndcg returns the nDCG@10.
func ndcg(hits []recall.Hit, relevant map[string]float64) float64 {
	got, rank, seen := 0.0, 0, map[string]bool{}
	for _, h := range hits {
		id := h.Item.ExternalID
		if seen[id] || rank == 10 {
			continue
		}
		seen[id] = true
		got += relevant[id] / math.Log2(float64(rank+2))
		rank++
	}
	var best []float64
	for _, s := range relevant {
		best = append(best, s)
	}
	slices.Sort(best)
	slices.Reverse(best)
	ideal := 0.0
	for i, s := range best[:min(10, len(best))] {
		ideal += s / math.Log2(float64(i+2))
	}
	return got / ideal
}

// In conversations, search finds the answering turns.
func TestConversationQuality(t *testing.T) {
	racetest.Skip(t, "one goroutine, which ranks a collection")
	raw, err := os.ReadFile(readTestdata(t, "memory/locomo-dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	type turn struct{ ID, Time, Speaker, Text, Caption string }
	var all []struct {
		Turns []turn
		Qs    []struct {
			Q  string
			Ev []string
		}
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	sum, n := 0.0, 0.0
	for _, c := range all {
		var b strings.Builder
		text := map[string]string{}
		for _, u := range c.Turns {
			text[u.ID] = strings.Join(strings.Fields(u.Text+" "+u.Caption), " ")
			line, err := json.Marshal(map[string]string{"speaker": u.Speaker, "text": text[u.ID], "time": u.Time})
			if err != nil {
				t.Fatal(err)
			}
			b.Write(append(line, '\n'))
		}
		r := newRig(t)
		r.ingestPaths(recall.IngestOptions{}, writeFolder(t, map[string]string{"talk.jsonl": b.String()}))
		for _, q := range c.Qs {
			if len(q.Ev) == 0 {
				continue
			}
			hits, found := r.searchText(q.Q, recall.SearchOptions{N: 10}).Hits, 0.0
			for _, id := range q.Ev {
				if slices.ContainsFunc(hits, func(h recall.Hit) bool { return text[id] != "" && strings.Contains(h.Context, text[id]) }) {
					found++
				}
			}
			sum, n = sum+found/float64(len(q.Ev)), n+1
		}
	}
	t.Logf("evidence recall@10 %.3f of %.0f questions", sum/n, n)
	if sum/n < 0.745 {
		t.Errorf("evidence recall@10 %.3f, want 0.745", sum/n)
	}
}
