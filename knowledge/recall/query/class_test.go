package query

import (
	"os"
	"strings"
	"testing"
)

// Every second query was held out while the rules were written; late.tsv came last, in
// freer words.
func readLabelledQueries(t *testing.T, file string) (build, held []Query, want [2][]Class) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		class, query, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("line %d has no tab", i+1)
		}
		q := Parse(query, now)
		if i%2 == 0 {
			build, want[0] = append(build, q), append(want[0], Class(class))
		} else {
			held, want[1] = append(held, q), append(want[1], Class(class))
		}
	}
	return build, held, want
}

func classAccuracy(list []Query, want []Class) (right, sure float64) {
	for i, q := range list {
		if q.Class == want[i] {
			right++
		}
		sure += q.Confidence
	}
	n := float64(len(list))
	return right / n, sure / n
}

func TestClasses(t *testing.T) {
	for file, minAccuracy := range map[string]float64{"classes.tsv": 0.95, "late.tsv": 0.85} {
		build, held, want := readLabelledQueries(t, file)
		for i, list := range [][]Query{build, held} {
			right, sure := classAccuracy(list, want[i])
			t.Logf("%s, half %d: %d queries, accuracy %.3f, mean confidence %.3f", file, i, len(list), right, sure)
			if right < minAccuracy {
				t.Errorf("%s, half %d: accuracy is %.3f, want %.2f", file, i, right, minAccuracy)
			}
		}
	}
}

// Wrong classes have less confidence than correct ones.
func TestConfidence(t *testing.T) {
	build, held, want := readLabelledQueries(t, "late.tsv")
	var sum, n [2]float64
	for i, q := range append(build, held...) {
		k := 0
		if q.Class == append(want[0], want[1]...)[i] {
			k = 1
		}
		sum[k], n[k] = sum[k]+q.Confidence, n[k]+1
	}
	if wrong, right := sum[0]/n[0], sum[1]/n[1]; wrong >= right {
		t.Errorf("mean confidence is %.2f where it is wrong, %.2f where it is right", wrong, right)
	}
}
