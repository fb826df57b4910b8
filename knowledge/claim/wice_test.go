package claim

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

type wice struct {
	Label    string   `json:"label"`
	Claim    string   `json:"claim"`
	Evidence []string `json:"evidence"`
}

// readWice reads the data set beside the project, or skips the test.
func readWice(t testing.TB) (list []wice) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "claims", "wice-claim-dev.jsonl"))
	if err != nil {
		t.Skip("the data of this test is not there:", err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var w wice
		if err := json.Unmarshal(in.Bytes(), &w); err != nil {
			t.Fatal(err)
		}
		list = append(list, w)
	}
	return list
}

func (w wice) toQuotes() (list []Quote) {
	title := ""
	var lines []string
	for _, e := range w.Evidence {
		if rest, ok := strings.CutPrefix(e, "(meta data) "); ok {
			title += strings.TrimPrefix(rest, "TITLE: ") + "\n"
			continue
		}
		lines = append(lines, e)
	}
	const size, step = 8, 6
	for i := 0; i < max(1, len(lines)); i += step {
		text := strings.Join(lines[i:min(len(lines), i+size)], "\n")
		list = append(list, Quote{ID: "e" + strconv.Itoa(len(list)+1), Text: text, Context: title, Voice: "page"})
		if i+size >= len(lines) {
			break
		}
	}
	return list
}

// computeAUROC returns the probability that a positive score exceeds a negative one.
func computeAUROC(scores []float64, positive []bool) float64 {
	idx := make([]int, len(scores))
	for i := range idx {
		idx[i] = i
	}
	sort.Slice(idx, func(i, j int) bool { return scores[idx[i]] < scores[idx[j]] })
	sum, np, nn := 0.0, 0.0, 0.0
	for i := 0; i < len(idx); {
		j := i
		for j < len(idx) && scores[idx[j]] == scores[idx[i]] {
			j++
		}
		rank := float64(i+j+1) / 2
		for k := i; k < j; k++ {
			if positive[idx[k]] {
				sum += rank
				np++
			} else {
				nn++
			}
		}
		i = j
	}
	return (sum - np*(np+1)/2) / (np * nn)
}

func TestWice(t *testing.T) {
	list := readWice(t)
	var scores []float64
	var positive []bool
	verdicts := map[string]map[Verdict]int{}
	for _, w := range list {
		f := NewCorpus(w.toQuotes()).Verify(Sentence{Text: w.Claim, Factual: true})
		scores = append(scores, f.Score)
		positive = append(positive, w.Label == "supported")
		if verdicts[w.Label] == nil {
			verdicts[w.Label] = map[Verdict]int{}
		}
		verdicts[w.Label][f.Verdict]++
	}
	a := computeAUROC(scores, positive)
	t.Logf("AUROC of supported v rest: %.3f; verdicts: %v", a, verdicts)
	if a < 0.80 {
		t.Errorf("AUROC %.3f, want at least 0.80", a)
	}
}
