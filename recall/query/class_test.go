package query

import (
	"os"
	"strings"
	"testing"
)

// labelled are queries with their class. Every second one is held back: no rule was
// written with a look at how it does.
func labelled(t *testing.T) (build, held []Query, want [2][]Class) {
	t.Helper()
	text, err := os.ReadFile("testdata/classes.tsv")
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

// accuracy returns the share of queries that are classified right, and the mean
// confidence.
func accuracy(list []Query, want []Class) (right, sure float64) {
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
	build, held, want := labelled(t)
	for _, half := range []struct {
		name string
		list []Query
		want []Class
		min  float64
	}{
		{"build", build, want[0], 0.95},
		{"held", held, want[1], 0.80},
	} {
		right, sure := accuracy(half.list, half.want)
		t.Logf("%s: %d queries, accuracy %.3f, mean confidence %.3f", half.name, len(half.list), right, sure)
		if right < half.min {
			t.Errorf("%s: accuracy is %.3f, want %.2f", half.name, right, half.min)
		}
		if half.name == "build" {
			for i, q := range half.list {
				if q.Class != half.want[i] {
					t.Logf("%q is %s (%.2f: %s), want %s", q.Text, q.Class, q.Confidence, q.Why, half.want[i])
				}
			}
		}
	}
}
