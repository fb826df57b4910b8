package evidence

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var reports = []string{
	`The harbour bridge was closed to lorries on Tuesday after inspectors found cracks in two of its main cables. The city said that cars may still use it at 30 kilometres per hour, and that a full inspection
		would take at least six weeks. Haulage firms expect detours of up to forty minutes. "We will not take risks with a structure that forty thousand people cross every day," the head of the works department told the council.`,
	`Cracks in the cables of the harbour bridge mean that heavy vehicles must go around the bay until further notice. According to the council, engineers noticed the damage during routine maintenance and are now checking
		all hangers. Passenger cars are let through slowly. Business associations fear for the weeks before the holidays, when most goods come in through the port, and ask for a ferry.`,
	`How safe is the harbour bridge? The question is asked all over town since lorries were banned this week. Built in 1968, the bridge was meant to last a century, but it carries four times the traffic that its
		designers had in mind. Experts have warned since 2011 that its cables corrode from the inside, where no inspector can look. A replacement would cost 900 million and take eight years.`,
}

func changeWords(text string, share float64, r *rand.Rand) string {
	list := strings.Fields(text)
	for i := range list {
		if r.Float64() < share {
			list[i] = fmt.Sprintf("word%d", r.IntN(10_000))
		}
	}
	return strings.Join(list, " ")
}

func loadAbstracts(t *testing.T) (texts []string, pairs [][2]string) {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "data", "ir", "cranfield")
	f, err := os.Open(filepath.Join(dir, "corpus.jsonl"))
	if err != nil {
		t.Skip("the collection is not there: ", err)
	}
	defer f.Close()
	by := map[string]string{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var doc struct {
			ID   string `json:"_id"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(lines.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		if len(strings.Fields(doc.Text)) >= 80 {
			by[doc.ID], texts = doc.Text, append(texts, doc.Text)
		}
	}
	qrels, err := os.ReadFile(filepath.Join(dir, "qrels.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]string{}
	for line := range strings.Lines(string(qrels)) {
		field := strings.Fields(line)
		if len(field) < 3 || by[field[1]] == "" || field[2] == "0" {
			continue
		}
		if before := last[field[0]]; before != "" {
			pairs = append(pairs, [2]string{by[before], by[field[1]]})
		}
		last[field[0]] = field[1]
	}
	return texts, pairs
}

func copyScore(a, b string) float64 {
	if Fingerprint(a).IsCopyOf(Fingerprint(b)) {
		return 1
	}
	return 0
}

// TestCopies detects copies with up to a fifth of the words changed, and no pairs that
// only share a query.
func TestCopies(t *testing.T) {
	texts, pairs := loadAbstracts(t)
	r := rand.New(rand.NewPCG(1, 2))
	var a, b, c float64
	for _, text := range texts {
		a += copyScore(text, changeWords(text, 0.05, r)) / float64(len(texts))
		b += copyScore(text, changeWords(text, 0.20, r)) / float64(len(texts))
	}
	for _, p := range pairs {
		c += copyScore(p[0], p[1]) / float64(len(pairs))
	}
	t.Logf("%d texts: found with 5%% changed %.4f, with 20%% changed %.4f; of %d pairs on one subject %.4f", len(texts), a, b, len(pairs), c)
	if a < 0.999 || b < 0.95 || c > 0.005 {
		t.Errorf("found %.4f with 5%% changed, %.4f with 20%%, %.4f on one subject", a, b, c)
	}
}

func TestCluster(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name   string
		pieces []Piece
		want   []string
	}{
		{"nothing", nil, []string{}},
		{
			"a syndicated copy, slightly edited",
			[]Piece{{ID: "e1", URL: "https://a.example/1", Text: reports[0]}, {ID: "e2", URL: "https://b.example/2", Text: changeWords(reports[0], 0.05, r)}, {ID: "e3", URL: "https://c.example/3", Text: reports[1]}},
			[]string{"e1", "e1", "e3"},
		},
		{"reports of one event", []Piece{{ID: "e1", Text: reports[0]}, {ID: "e2", Text: reports[1]}, {ID: "e3", Text: reports[2]}}, []string{"e1", "e2", "e3"}},
		{
			"two places of one page",
			[]Piece{{ID: "e1", URL: "https://www.a.example/p/#top", Text: reports[0]}, {ID: "e2", URL: "http://A.example/p", Text: reports[1]}, {ID: "e3", URL: "https://a.example/p?id=2", Text: reports[2]}},
			[]string{"e1", "e1", "e3"},
		},
		{"two places of one file", []Piece{{ID: "e1", Source: "a.md", Text: "One thing."}, {ID: "e2", Source: "a.md", Text: "Another."}, {ID: "e3", Source: "b.md", Text: "A third."}}, []string{"e1", "e1", "e3"}},
		{"case and signs", []Piece{{ID: "e1", Text: "The sea is deep, and cold."}, {ID: "e2", Text: "the SEA is deep and cold"}}, []string{"e1", "e1"}},
		{"few words", []Piece{{ID: "e1", Text: "Yes"}, {ID: "e2", Text: "yes!"}, {ID: "e3", Text: "no"}}, []string{"e1", "e1", "e3"}},
		{"without words", []Piece{{Text: ""}, {Text: "…"}, {}}, []string{"1", "2", "3"}},
		{"joined by a third", []Piece{{ID: "e1", URL: "https://a.example", Text: reports[1]}, {ID: "e2", Text: reports[0]}, {ID: "e3", URL: "https://a.example", Text: reports[0]}}, []string{"e1", "e1", "e1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Cluster(c.pieces)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestClusterIsStable(t *testing.T) {
	list := []Piece{{ID: "e1", Text: reports[0]}, {ID: "e2", Text: reports[1]}}
	before := Cluster(list)
	after := Cluster(append(list, Piece{ID: "e3", Text: reports[1]}))
	if diff := cmp.Diff(append(before, "e2"), after); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCorroborate(t *testing.T) {
	const says, other, opposite = "The bridge was closed to lorries on Tuesday.", "On Tuesday the bridge was closed to lorries.", "The bridge was not closed to lorries on Tuesday."
	for _, c := range []struct {
		name   string
		pieces []Piece
		voices []int
		value  float64 // of the first
		said   string
	}{
		{"alone", []Piece{{ID: "e1", Text: says}}, []int{1}, 0.5, "No other source found says the same."},
		{
			"two sites", []Piece{{ID: "e1", URL: "https://a.example/1", Text: says}, {ID: "e2", URL: "https://b.example/1", Text: other}},
			[]int{2, 2}, 0.8, "One other source says the same (e2).",
		},
		{
			"three sites", []Piece{{ID: "e1", URL: "https://a.example/1", Text: says}, {ID: "e2", URL: "https://b.example/1", Text: other}, {ID: "e3", URL: "https://c.example/1", Text: "It rained all week. The bridge is closed to all lorries. It was on Tuesday that lorries found the bridge closed to them. To lorries, the bridge was closed on Tuesday."}},
			[]int{3, 3, 3}, 1, "2 other sources say the same (e2, e3).",
		},
		{
			"one site twice", []Piece{{ID: "e1", URL: "https://news.a.example/1", Text: says}, {ID: "e2", URL: "https://a.example/2", Text: other}},
			[]int{1, 1}, 0.5, "No other source found says the same.",
		},
		{
			"two authors of a forum", []Piece{{ID: "e1", URL: "https://reddit.com/1", Text: says}, {ID: "e2", URL: "https://reddit.com/2", Text: other}},
			[]int{2, 2}, 0.8, "One other source says the same (e2).",
		},
		{
			"one author on two sites", []Piece{{ID: "e1", URL: "https://a.example/1", Author: "Ada Byron", Text: says}, {ID: "e2", URL: "https://b.example/2", Author: "ada byron", Text: other}},
			[]int{1, 1}, 0.5, "No other source found says the same.",
		},
		{"a copy", []Piece{{ID: "e1", URL: "https://a.example/1", Text: says}, {ID: "e2", URL: "https://b.example/2", Text: says}}, []int{1, 1}, 0.5, "No other source found says the same."},
		{
			"one's own notes", []Piece{{ID: "e1", Kind: "memory", Source: "m1", Text: says}, {ID: "e2", Kind: "journal", Source: "m2", Text: other}},
			[]int{1, 1}, 0.5, "No other source found says the same.",
		},
		{
			"the opposite", []Piece{{ID: "e1", URL: "https://a.example/1", Text: says}, {ID: "e2", URL: "https://b.example/1", Text: opposite}},
			[]int{1, 1}, 0.2, "No other source found says the same. These say the opposite: e2.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := Corroborate(c.pieces, Cluster(c.pieces))
			var got []int
			for _, s := range list {
				got = append(got, s.Voices)
			}
			if diff := cmp.Diff(c.voices, got); diff != "" {
				t.Errorf("voices: -want +got:\n%s", diff)
			}
			if s := list[0].Signal; s.Value != c.value || s.Description != c.said {
				t.Errorf("is %.2f %q, want %.2f %q", s.Value, s.Description, c.value, c.said)
			}
		})
	}
}

func BenchmarkCluster(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([]Piece, 200)
	for i := range list {
		list[i] = Piece{Text: changeWords(reports[i%3], 0.9, r)}
	}
	b.ReportAllocs()
	for b.Loop() {
		Corroborate(list, Cluster(list))
	}
}
