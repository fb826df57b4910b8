package vector

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFuse(t *testing.T) {
	tests := []struct {
		name           string
		lexical, dense []ScoredPassage
		weight         float64
		want           []ScoredPassage
	}{
		{"nothing", nil, nil, 0.5, []ScoredPassage{}},
		{"one leg alone", []ScoredPassage{{1, 9}, {2, 5}, {3, 1}}, nil, 0.5, []ScoredPassage{{1, 1}, {2, 0.5}, {3, 0}}},
		{"other leg alone", nil, []ScoredPassage{{1, 0.5}, {2, 0.75}}, 0.25, []ScoredPassage{{2, 1}, {1, 0}}},
		{"both", []ScoredPassage{{1, 10}, {2, 5}, {3, 0}}, []ScoredPassage{{2, 0.5}, {4, 0.25}, {5, 0}}, 0.5, []ScoredPassage{{2, 0.75}, {1, 0.5}, {4, 0.25}, {3, 0}, {5, 0}}},
		{"all the same", []ScoredPassage{{2, 3}, {1, 3}}, []ScoredPassage{{3, 1}}, 0.25, []ScoredPassage{{1, 0.75}, {2, 0.75}, {3, 0.25}}},
		{"twice", []ScoredPassage{{1, 1}, {2, 2}, {1, 3}}, nil, 0, []ScoredPassage{{1, 1}, {2, 0}}},
		{"weight too large", []ScoredPassage{{1, 2}, {2, 1}}, []ScoredPassage{{2, 2}, {1, 1}}, 7, []ScoredPassage{{2, 1}, {1, 0}}},
		{"below zero", []ScoredPassage{{1, -1}, {2, -3}}, nil, 0.5, []ScoredPassage{{1, 1}, {2, 0}}},
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
	ranking := func(from, n int) (out []ScoredPassage) {
		for i := range n {
			out = append(out, ScoredPassage{Passage: int64(from + i), Score: float64(-i)})
		}
		return out
	}
	tests := []struct {
		name           string
		lexical, dense []ScoredPassage
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
