package config

import (
	"fmt"
	"math"
	"ponder/internal/textkit"
	"slices"
	"strconv"
	"strings"
)

// Research says how questions are researched. What is zero is left to the program.
type Research struct {
	MaxRounds              int      `toml:"maxRounds"`              // of looking, 1 to [MaxRounds]
	MaxItemsPerSource      int      `toml:"maxItemsPerSource"`      // passages that a search may bring, 1 to [MaxItems]
	MaxParallelQueries     int      `toml:"maxParallelQueries"`     // of the memory, and of the web, 1 to [MaxQueries]
	ForceWebSearch         bool     `toml:"forceWebSearch"`         // search the web though it seems needless
	EnableCaching          *bool    `toml:"enableCaching"`          // results of a while ago will do
	MinConfidenceThreshold float64  `toml:"minConfidenceThreshold"` // the least score of a passage, 0 to 1
	SynthesisStrategy      string   `toml:"synthesisStrategy"`      // one of [Strategies]
	For                    Duration `toml:"for"`                    // time for one
}

// The most that research may be told to do.
const (
	MaxRounds  = 20
	MaxItems   = 40
	MaxQueries = 10
)

// Strategies are those of the synthesis: a model writes the answer, though nothing
// was found, or the answer is made of quotes.
func Strategies() []string { return []string{"auto", "force", "never"} }

// Strategy checks the name of a strategy.
func Strategy(v string) (string, error) {
	v = strings.ToLower(strings.TrimSpace(v))
	if !slices.Contains(Strategies(), v) {
		return "", fmt.Errorf("%q is none of %s", textkit.Truncate(v, 20), strings.Join(Strategies(), ", "))
	}
	return v, nil
}

// Share reads a number from 0 to 1.
func Share(v string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1 {
		return 0, fmt.Errorf("%q is not a number from 0 to 1", textkit.Truncate(v, 20))
	}
	return f, nil
}

func share(v string) (string, error) {
	f, err := Share(v)
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s, err
}

// countTo returns what reads a whole number from 1 to most.
func countTo(most int) func(string) (string, error) {
	return func(v string) (string, error) {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > most {
			return "", fmt.Errorf("%q is not a whole number from 1 to %d", textkit.Truncate(v, 20), most)
		}
		return strconv.Itoa(n), nil
	}
}

// researchKeys are the settings of research, with the names that they have there.
func researchKeys() []Key {
	return []Key{
		{"research.maxRounds", "rounds of looking, in research, at most", countTo(MaxRounds)},
		{"research.maxItemsPerSource", "passages that a search may bring", countTo(MaxItems)},
		{"research.maxParallelQueries", "searches of the memory, and of the web, that go on at a time", countTo(MaxQueries)},
		{"research.forceWebSearch", "search the web though it seems needless: true or false", boolean},
		{"research.enableCaching", "use what searches found a while ago: true or false", boolean},
		{"research.minConfidenceThreshold", "the least score of a passage, from 0 to 1", share},
		{"research.synthesisStrategy", "auto, force (a model answers though nothing was found) or never (quotes are the answer)", oneOf(Strategies()...)},
		{"research.for", "time for research, like 3m", span},
	}
}
