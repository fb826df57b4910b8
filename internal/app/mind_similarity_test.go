package app

import (
	"context"
	"errors"
	"testing"

	"ponder/knowledge/recall/vector"
)

func TestMeaning(t *testing.T) {
	asked := 0
	vectors := map[string][]float32{"the disk is full": {1, 0.1}, "no space is left": {1, 0.2}, "lunch at noon": {0, 1}, "empty": {0, 0}}
	m := &semanticMatcher{vectors: make(map[string][]float32), Embedder: vector.Embedder{Embed: func(_ context.Context, texts []string) ([][]float32, error) {
		asked++
		if v, ok := vectors[texts[0]]; ok {
			return [][]float32{v}, nil
		}
		return nil, errors.New("no such model")
	}}}
	if !m.isSimilar("the disk is full", "no space is left") || m.isSimilar("the disk is full", "lunch at noon") || m.isSimilar("the disk is full", "empty") {
		t.Error("vectors are compared wrongly")
	}
	if asked != 4 {
		t.Errorf("asked %d times about 4 texts", asked)
	}
	if m.isSimilar("the disk is full", "unknown") || m.isSimilar("the disk is full", "other") || asked != 5 {
		t.Errorf("a model that fails was asked again: %d times", asked)
	}
}
