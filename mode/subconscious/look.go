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

// maxAttempts is the number of attempts per answer.
const maxAttempts = 2

func lookMode(o Options) ponder.Mode {
	start := func(r ponder.Run) *lookState {
		s := &lookState{}
		s.startErr = s.readInput(o, r)
		return s
	}
	return ponder.Mode{
		Name: RoleMode, Version: 1, Layout: 1,
		Doc:    "Let a role of the subconscious examine new observations.",
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
	role     Role
	in       lookInput
	startErr error // why the run fails at once

	Unusable []llm.Message `json:"bad,omitempty"`
	Why      string        `json:"why,omitempty"`
	Looped   bool          `json:"looped,omitempty"` // the unusable answer only repeated itself
	Report   *lookResult   `json:"report,omitempty"`
	Failed   string        `json:"failed,omitempty"`
}

func (s *lookState) readInput(o Options, r ponder.Run) error {
	if err := json.Unmarshal(r.Options, &s.in); err != nil {
		return fmt.Errorf("parse the input of a look: %w", err)
	}
	i := slices.IndexFunc(o.Roles, func(r Role) bool { return r.Name == s.in.Role })
	if i < 0 {
		return fmt.Errorf("unknown role %q", s.in.Role)
	}
	s.role = o.Roles[i]
	return nil
}

func (s *lookState) Apply(ev ponder.Event) ponder.State {
	c := *s
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		if key, _, _ := strings.Cut(ev.Cause, "#"); key == c.callKey() && c.startErr == nil {
			c.applyAnswer(b)
		}
	case ponder.BudgetSpent:
		if c.Report == nil && c.Failed == "" {
			c.Failed = b.String()
		}
	}
	return &c
}

func (s *lookState) callKey() string { return fmt.Sprintf("%s%d", lookKey, len(s.Unusable)+1) }

func (s *lookState) applyAnswer(b ponder.CallFinished) {
	switch {
	case b.Refused && b.Class == llm.Payment:
		s.Failed = b.Error
		return
	case b.Error != "":
		s.Failed = noAnswer + ": " + b.Error
		return
	}
	text := llm.FinalText(b.Message.Text())
	if b.Finish.IsCut() {
		text = llm.CompletePart(text)
	}
	report, err := ParseReport(s.role, text, s.in.Seen, s.in.State)
	if err == nil && b.Finish.IsCut() && len(report.Findings) == 0 {
		if err = errors.New("it breaks off: say less"); b.Finish == llm.FinishLoop {
			err = errors.New("it only repeats itself")
		}
	}
	if err != nil && b.Finish == llm.FinishTime { // the next tick looks again
		s.Failed = "time limit reached"
		return
	}
	if err != nil {
		said := llm.Say(llm.Assistant, textkit.TruncateBytes(textkit.CleanTrim(b.Message.Text()), maxMessage))
		s.Unusable, s.Why = append(slices.Clip(s.Unusable), said), textkit.Line(err.Error(), maxLine)
		s.Looped = b.Finish == llm.FinishLoop
		if len(s.Unusable) >= maxAttempts {
			s.Failed = "no valid answer: " + s.Why
		}
		return
	}
	report.Exposed, report.Untrusted = exposedIDs(s.in.State, s.in.Seen)
	s.Report = &lookResult{Report: report, Given: s.in.Given}
}

func (s *lookState) Next(ponder.Moment) []ponder.Action {
	switch {
	case s.startErr != nil:
		return []ponder.Action{ponder.Finish{Status: ponder.Failed, Reason: s.startErr.Error()}}
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
	switch n := len(s.Unusable); {
	case n > 0 && s.Looped: // it would continue a repetition that it read
		req.Penalty = llm.RepetitionPenalty
	case n > 0:
		req = *llm.Reask(&req, s.Unusable[n-1], errors.New(s.Why))
	}
	req.Background = true
	return []ponder.Action{ponder.Call{Key: s.callKey(), Role: ModelOf(s.role.Name), Request: req, Answer: true, Until: s.in.Limit}}
}
