package placement

import (
	"strings"
	"testing"
)

const zeros = " 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 "

func TestParseStat(t *testing.T) {
	tests := []struct {
		name  string
		stat  string
		start string
		there liveness
	}{
		{"alive", "12 (ponder) S" + zeros + "2750 4096 0", "2750", processAlive},
		{"a name made to mislead", "12 (a) Z 1) (b) R" + zeros + "2750 4096 0", "2750", processAlive},
		{"dead, and not reaped", "12 (ponder) Z" + zeros + "2750 4096 0", "", processGone},
		{"empty", "", "", processUnknown},
		{"short", "12 (ponder) S 1 1", "", processUnknown},
		{"no name", "12 ponder S 1 1", "", processUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start, there := parseStat([]byte(tt.stat))
			if start != tt.start || there != tt.there {
				t.Errorf("start %q, there %v; want %q, %v", start, there, tt.start, tt.there)
			}
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (ponder) S" + zeros + "2750 4096 0"))
	f.Add([]byte(")"))
	f.Fuzz(func(t *testing.T, stat []byte) {
		if start, there := parseStat(stat); there == processAlive && (start == "" || !strings.Contains(string(stat), start)) {
			t.Errorf("start %q of %q", start, stat)
		}
	})
}
