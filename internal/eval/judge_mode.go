package eval

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"ponder"
	"ponder/llm"
)

// A judge is a mode: it is asked which of two answers is better, and once more if it
// does not say.
const (
	judgeMode              = "judge"
	judgeRole  ponder.Role = "judge"
	judgeTries             = 2
)

// newJudge returns the mode. The options of a run are the request.
func newJudge() ponder.Mode {
	return ponder.Mode{Name: judgeMode, Version: 1, Doc: "Say which of two answers is better.", Start: func(r ponder.Run) ponder.State {
		s := &judging{}
		if err := json.Unmarshal(r.Options, &s.req); err != nil {
			s.err = "the request can't be read"
		}
		return s
	}}
}

// A judging is what is known of a judgement.
type judging struct {
	req    llm.Request // the next one
	tries  int
	answer string // the judgement as JSON
	err    string
}

// Apply implements [ponder.State].
func (s *judging) Apply(ev ponder.Event) ponder.State {
	b, ok := ev.Body.(ponder.CallFinished)
	if !ok || !strings.HasPrefix(ev.Cause, s.key()+"#") || s.answer != "" || s.err != "" {
		return s
	}
	c := *s
	c.tries++
	if b.Error != "" {
		c.err = b.Error
		return &c
	}
	j, err := ReadJudgement(b.Message.Text())
	switch {
	case err == nil:
		c.answer = marshal(j)
	case c.tries >= judgeTries:
		c.err = fmt.Sprintf("the judge does not say which is better: %v", err)
	default:
		c.req = *llm.Reask(&c.req, b.Message, err)
	}
	return &c
}

func (s *judging) key() string { return "judge-" + strconv.Itoa(s.tries+1) }

// Next implements [ponder.State].
func (s *judging) Next(ponder.Moment) []ponder.Action {
	switch {
	case s.answer != "":
		return []ponder.Action{ponder.Finish{Answer: s.answer}}
	case s.err != "":
		return []ponder.Action{ponder.Finish{Status: ponder.Failed, Reason: s.err}}
	}
	return []ponder.Action{ponder.Call{Key: s.key(), Role: judgeRole, Request: s.req}}
}

func marshal(v any) string {
	js, err := json.Marshal(v)
	if err != nil {
		return "{}" // of plain values, it can always be
	}
	return string(js)
}
