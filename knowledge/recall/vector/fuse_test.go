package vector

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFuse(t *testing.T) {
	tests := []struct {
		name           string
		lexical, dense []Scored
		weight         float64
		want           []Scored
	}{
		{"nothing", nil, nil, 0.5, []Scored{}},
		{"one leg alone", []Scored{{1, 9}, {2, 5}, {3, 1}}, nil, 0.5, []Scored{{1, 1}, {2, 0.5}, {3, 0}}},
		{"other leg alone", nil, []Scored{{1, 0.5}, {2, 0.75}}, 0.25, []Scored{{2, 1}, {1, 0}}},
		{"both", []Scored{{1, 10}, {2, 5}, {3, 0}}, []Scored{{2, 0.5}, {4, 0.25}, {5, 0}}, 0.5, []Scored{{2, 0.75}, {1, 0.5}, {4, 0.25}, {3, 0}, {5, 0}}},
		{"all the same", []Scored{{2, 3}, {1, 3}}, []Scored{{3, 1}}, 0.25, []Scored{{1, 0.75}, {2, 0.75}, {3, 0.25}}},
		{"twice", []Scored{{1, 1}, {2, 2}, {1, 3}}, nil, 0, []Scored{{1, 1}, {2, 0}}},
		{"weight too large", []Scored{{1, 2}, {2, 1}}, []Scored{{2, 2}, {1, 1}}, 7, []Scored{{2, 1}, {1, 0}}},
		{"below zero", []Scored{{1, -1}, {2, -3}}, nil, 0.5, []Scored{{1, 1}, {2, 0}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Fuse(test.lexical, test.dense, test.weight)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWeight(t *testing.T) {
	ranking := func(from, n int) (out []Scored) {
		for i := range n {
			out = append(out, Scored{Passage: int64(from + i), Score: float64(-i)})
		}
		return out
	}
	tests := []struct {
		name           string
		lexical, dense []Scored
		want           float64
	}{
		{"nothing", nil, ranking(0, 5), 0.6},
		{"all agree", ranking(0, 100), ranking(0, 100), 0.6},
		{"half", ranking(0, 100), ranking(10, 100), 0.5},
		{"half of few", ranking(0, 4), ranking(2, 100), 0.5},
		{"none", ranking(0, 100), ranking(50, 100), 0.3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Weight(test.lexical, test.dense); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
