package subconscious

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
)

// Keys and messages that a look and its tick share.
const (
	roleKey  = "role-"
	lookKey  = "look-"
	noAnswer = "no model answers"
)

// maxAsked is the number of attempts per answer.
const maxAsked = 2

func lookMode(o Options) ponder.Mode {
	start := func(r ponder.Run) *lookState {
		s := &lookState{}
		s.fault = s.read(o, r)
		return s
	}
	return ponder.Mode{
		Name: RoleMode, Version: 1, Layout: 1,
		Doc:    "Have a role of the subconscious look at what is new to it.",
		Redact: o.Redact,
		Start:  func(r ponder.Run) ponder.State { return start(r) },
		Load: func(r ponder.Run, js []byte) (ponder.State, error) {
			s := start(r)
			if err := json.Unmarshal(js, s); err != nil {
				return nil, err
			}
			return s, nil
		},
	}
}

type lookState struct {
	role  Role
	in    lookInput
	fault error // why the run fails at once

	Bad    []llm.Message `json:"bad,omitempty"`
	Why    string        `json:"why,omitempty"`
	Report *look         `json:"report,omitempty"`
	Failed string        `json:"failed,omitempty"`
}

func (s *lookState) read(o Options, r ponder.Run) error {
	if err := json.Unmarshal(r.Options, &s.in); err != nil {
		return fmt.Errorf("what it is to look at cannot be read: %w", err)
	}
	i := slices.IndexFunc(o.Roles, func(r Role) bool { return r.Name == s.in.Role })
	if i < 0 {
		return fmt.Errorf("there is no role %q any more", s.in.Role)
	}
	s.role = o.Roles[i]
	return nil
}

func (s *lookState) Apply(ev ponder.Event) ponder.State {
	c := *s
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		if key, _, _ := strings.Cut(ev.Cause, "#"); key == c.key() && c.fault == nil {
			c.answered(b)
		}
	case ponder.BudgetSpent:
		if c.Report == nil && c.Failed == "" {
			c.Failed = "the budget is spent: " + b.What
		}
	}
	return &c
}

func (s *lookState) key() string { return fmt.Sprintf("%s%d", lookKey, len(s.Bad)+1) }

func (s *lookState) answered(b ponder.CallFinished) {
	switch {
	case b.Refused && b.Class == llm.Payment:
		s.Failed = b.Error
		return
	case b.Error != "":
		s.Failed = noAnswer + ": " + b.Error
		return
	}
	report, err := ParseReport(s.role, llm.Spoken(b.Message.Text()), s.in.Seen, s.in.State)
	if err == nil && b.Finish == llm.FinishLength {
		err = errors.New("it breaks off: say less")
	}
	if err != nil {
		said := llm.Say(llm.Assistant, textkit.TruncateBytes(textkit.CleanTrim(b.Message.Text()), maxMessage))
		s.Bad, s.Why = append(slices.Clip(s.Bad), said), textkit.Line(err.Error(), maxLine)
		if len(s.Bad) >= maxAsked {
			s.Failed = "no answer could be used: " + s.Why
		}
		return
	}
	report.Exposed, report.Untrusted = exposed(s.in.State, s.in.Seen)
	s.Report = &look{Report: report, Given: s.in.Given}
}

func (s *lookState) Next(ponder.Moment) []ponder.Action {
	switch {
	case s.fault != nil:
		return []ponder.Action{ponder.Finish{Status: ponder.Failed, Reason: s.fault.Error()}}
	case s.Failed != "":
		return []ponder.Action{ponder.Finish{Status: ponder.Failed, Reason: s.Failed}}
	case s.Report != nil:
		js, err := json.Marshal(s.Report)
		if err != nil {
			return []ponder.Action{ponder.Finish{Status: ponder.Failed, Reason: err.Error()}}
		}
		return []ponder.Action{ponder.Finish{Answer: string(js)}}
	}
	req := Prompt(s.role, s.in.State, s.in.Seen, s.in.At)
	if n := len(s.Bad); n > 0 {
		req = *llm.Reask(&req, s.Bad[n-1], errors.New(s.Why))
	}
	req.Background = true
	return []ponder.Action{ponder.Call{Key: s.key(), Role: ModelOf(s.role.Name), Request: req}}
}
