package sqlite

import (
	"testing"

	"ponder"
)

func TestNumber(t *testing.T) {
	tests := []struct {
		run     ponder.RunID
		cause   string
		byCause int64
		byTurn  int64
	}{
		{},
		{"run_1", "k", 0, 0},
		{"run_1", "think-12", 12, 12},
		{"run_1", "think-12#3", 12, 12},
		{"run_1", "thoughts-7/2.4", 7, 7},
		{"run_1", "a-1-2#1", 2, 2},
		{"run_1", "12", 12, 12},
		{"run_1", "12#1", 12, 12},
		{"run_1", "-", 0, 0},
		{"run_1", "k-99999999999999999999", 0, 0},
		{"run_1", "k--5", 5, 5},
		{"run_1", "01ARZ3NDEKTSV4RRFFQ69G5FAV", 0, 0},
		{"run_1", "k-1e3", 0, 0},
		{"run_1", "k-+1", 0, 0},
		{"run_chat.55", "", 0, 55},
		{"run_chat.55", "turn-55-1#1", 1, 55},
		{"run_chat.55", "say-55-2/1.1", 2, 55},
		{"run_chat.55", "end-55/1.1", 55, 55},
		{"run_chat.55/look-3", "turn-2", 2, 55},
		{"run_a.b", "", 0, 0},
		{"", "turn-55-1", 1, 55},
	}
	for _, tt := range tests {
		if got := byCause.keyNumber(tt.run, tt.cause); got != tt.byCause {
			t.Errorf("by cause, %s %q is %d, want %d", tt.run, tt.cause, got, tt.byCause)
		}
		if got := byTurn.keyNumber(tt.run, tt.cause); got != tt.byTurn {
			t.Errorf("by turn, %s %q is %d, want %d", tt.run, tt.cause, got, tt.byTurn)
		}
	}
}
