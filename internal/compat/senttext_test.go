package compat

import (
	"errors"
	"strings"
	"testing"

	"ponder"
)

// The sent text only grows, or the stream ends.
func TestScript(t *testing.T) {
	say := func(list ...string) (parts []Part) {
		for _, text := range list {
			rest, again := strings.CutPrefix(text, "^")
			parts = append(parts, Part{Kind: Text, Text: rest, Again: again})
		}
		return parts
	}
	round := Part{Kind: TextEnd}
	for name, tt := range map[string]struct {
		parts []Part
		end   ponder.Status
		want  string
		fails bool
	}{
		"once":                   {append(say("It ", "is."), round), ponder.Completed, "It is.", false},
		"again before all":       {append(say("^It ", "is."), round), ponder.Completed, "It is.", false},
		"the same":               {append(say("It ", "is", "^It is", " so."), round), ponder.Completed, "It is so.", false},
		"cut elsewhere":          {append(say("It ", "is", "^I", "t ", "is", " ", "so."), round), ponder.Completed, "It is so.", false},
		"twice":                  {append(say("It ", "^It is", "^", "It is so."), round), ponder.Completed, "It is so.", false},
		"other at once":          {append(say("It ", "is", "^So", " it is."), round), ponder.Completed, "It is", true},
		"other in a later piece": {append(say("It ", "is", "^It ", "was."), round), ponder.Completed, "It is", true},
		"less":                   {append(say("It ", "is", "^It "), round), ponder.Completed, "It is", true},
		"without repetition":     {append(say("It ", "is. ", "It is. ", "^It is."), Part{Kind: TextEnd, Less: true}), ponder.Completed, "It is. It is. ", false},
		"a second round":         {append(append(say("It ", "is"), round), append(say("\n\nYes", "^It is", "\n\nNo"), round)...), ponder.Completed, "It is\n\nYes", true},
		"taken back at the end":  {append(append(say("It is"), round), say("\n\nAnd", "^It is")...), ponder.Completed, "It is\n\nAnd", true},
		"failed":                 {say("It ", "is", "^"), ponder.Failed, "It is", false},
		"cancelled":              {say("It ", "is", "^"), ponder.Cancelled, "It is", false},
	} {
		told := ""
		s := sentText{forward: func(p Part) {
			if told += p.Text; p.Kind == Text && p.Text == "" || p.Again {
				t.Errorf("%s: told %+v", name, p)
			}
		}}
		var err error
		for _, p := range tt.parts {
			if err == nil {
				err = s.forwardPart(p)
			}
		}
		if err == nil {
			err = s.checkEnd(End{Status: tt.end})
		}
		if told != tt.want || errors.Is(err, errRestarted) != tt.fails || err != nil && !tt.fails {
			t.Errorf("%s: told %q, %v", name, told, err)
		}
	}
}
