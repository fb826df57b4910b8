package chat

import (
	"fmt"
	"testing"
)

// TestAppendTurnBranches checks that versions appending to the same turns are independent.
func TestAppendTurnBranches(t *testing.T) {
	var base state
	for i := range 3 {
		base.appendTurn(Turn{Message: Message{Text: fmt.Sprint(i)}})
	}
	texts := func(s *state) (list string) {
		for _, turn := range s.Turns {
			list += turn.Message.Text
		}
		return list
	}
	for range 100 {
		left, right := base, base
		left.appendTurn(Turn{Message: Message{Text: "l"}})
		right.appendTurn(Turn{Message: Message{Text: "r"}})
		again := left
		left.appendTurn(Turn{Message: Message{Text: "x"}})
		again.appendTurn(Turn{Message: Message{Text: "y"}})
		old := texts(&base)
		for _, c := range []struct{ got, want string }{
			{texts(&left), old + "lx"}, {texts(&again), old + "ly"}, {texts(&right), old + "r"},
		} {
			if c.got != c.want {
				t.Fatalf("turns %q, want %q", c.got, c.want)
			}
		}
		base.appendTurn(Turn{Message: Message{Text: "b"}})
	}
}

// TestAppendTurnCost checks that appending copies a constant number of turns on average.
func TestAppendTurnCost(t *testing.T) {
	var s state
	var copied int
	for range 10_000 {
		before := s.tip
		n := len(s.Turns)
		s.appendTurn(Turn{})
		if s.tip != before {
			copied += n
		}
	}
	if copied > 10*10_000 {
		t.Errorf("10,000 turns copied %d turns", copied)
	}
}
