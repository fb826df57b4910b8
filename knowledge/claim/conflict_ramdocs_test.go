package claim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ponder"
)

type ramQuestion struct {
	Question  string `json:"question"`
	Documents []struct{ Text, Type, Answer string }
	Gold      []string `json:"gold_answers"`
	Wrong     []string `json:"wrong_answers"`
}

func loadRAMDocs(t *testing.T) (list []ramQuestion) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "claims", "ramdocs-first-100.jsonl"))
	if err != nil {
		t.Skip("the collection is not there: ", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var q ramQuestion
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		list = append(list, q)
	}
	return list
}

func (q ramQuestion) toQuotes() (list []Quote) {
	for i, d := range q.Documents {
		list = append(list, Quote{ID: fmt.Sprintf("e%d", i+1), Text: d.Text, Voice: fmt.Sprint(i)})
	}
	return list
}

// isAnswer reports whether the value of a side is an answer: the words of one contain
// those of the other.
func isAnswer(s ponder.Side, answers []string) bool {
	for _, a := range answers {
		if sameWords(s.Value, a) {
			return true
		}
	}
	return false
}

func sameWords(a, b string) bool {
	x, y := strings.Fields(answerForm(a)), strings.Fields(answerForm(b))
	if len(x) > len(y) {
		x, y = y, x
	}
	for _, w := range x {
		if !strings.Contains(" "+strings.Join(y, " ")+" ", " "+w+" ") {
			return false
		}
	}
	return len(x) > 0
}

func answerForm(s string) string {
	s = strings.NewReplacer(",", "", ".", "", "-language", "", "The ", "", "the ", "", "people", "", "About", "", "about", "").Replace(s)
	return strings.ToLower(s)
}

// TestRAMDocs measures recall over questions with wrong documents. A conflict is right
// if one side has the right answer and another a wrong one; any other conflict is
// false.
func TestRAMDocs(t *testing.T) {
	asked, found, right, shown := 0, 0, 0, 0
	for _, q := range loadRAMDocs(t) {
		all := ConflictsAbout(q.Question, q.toQuotes())
		hit := false
		for _, c := range all {
			gold, wrong := -1, -1
			for i, s := range c.Sides {
				if isAnswer(s, q.Gold) {
					gold = i
				}
				if isAnswer(s, q.Wrong) {
					wrong = i
				}
			}
			shown++
			ok := gold >= 0 && wrong >= 0 && gold != wrong
			if ok {
				right++
			}
			hit = hit || ok
		}
		if len(q.Wrong) > 0 {
			asked++
			if hit {
				found++
			}
		}
	}
	if shown < 20 || float64(right) < 0.9*float64(shown) || float64(found) < 0.35*float64(asked) {
		t.Errorf("found %d of %d; of %d shown %d are right", found, asked, shown, right)
	}
	t.Logf("%d questions with wrong answers: %d found (recall %.2f); %d conflicts shown, %d right (precision %.2f)", asked, found, float64(found)/float64(asked), shown, right, float64(right)/float64(max(1, shown)))
}
