package main

import (
	"context"
	"encoding/json"
	"path/filepath"

	"ponder/mode/subconscious"
)

// findingsMinimum is the required precision and recall.
const findingsMinimum = 0.9

// measureFindingHalves measures the recognition of findings with the same meaning on labelled pairs: the half
// used for fitting and the held-out half.
func measureFindingHalves(context.Context) ([]figure, error) {
	var figures []figure
	for _, half := range []struct {
		name string
		held bool
	}{{"held", true}, {"build", false}} {
		m, err := measureFindings(filepath.Join("mode", "subconscious", "testdata", "pairs.jsonl"), half.held)
		if err != nil {
			return nil, err
		}
		figures = append(figures,
			figure{Name: half.name + ": pairs", Value: m.pairs},
			figure{Name: half.name + ": precision", Value: m.right / max(1, m.merged), Goal: findingsMinimum, Minimum: true},
			figure{Name: half.name + ": recall", Value: m.right / max(1, m.same), Goal: findingsMinimum, Minimum: true},
			figure{Name: half.name + ": merged although one fact differs", Value: m.wrong},
		)
	}
	return figures, nil
}

type pairMeter struct {
	pairs, same, merged, right, wrong float64
}

func measureFindings(path string, held bool) (m pairMeter, err error) {
	err = eachLine(path, func(line []byte) error {
		var p struct {
			A, B, Label string
			Held        bool
		}
		if err := json.Unmarshal(line, &p); err != nil || p.Held != held {
			return err
		}
		m.addPair(p.Label, subconscious.SameFinding(p.A, p.B))
		return nil
	})
	return m, err
}

func (m *pairMeter) addPair(label string, merged bool) {
	m.pairs++
	if label == "same" {
		m.same++
	}
	switch {
	case !merged:
		return
	case label == "same":
		m.right++
	case label == "near":
		m.wrong++
	}
	m.merged++
}
