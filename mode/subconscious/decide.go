package subconscious

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
)

const (
	decideLimit  = 5 * time.Minute
	decideRounds = 4
	maxToolCalls = 4
	maxUnusable  = 2
	maxMessage   = 1500
	maxResult    = 4000 // bytes of a tool result
	decidedKey   = "decided"
)

const (
	Messaged   = "message"
	Acted      = "act"
	Remembered = "remember"
	Dismissed  = "dismiss"
)

// decideMode is the mode of a decision. Its input is the id of an escalation, or its event as JSON.
func decideMode(o Options) ponder.Mode {
	return threadMode(o, DecideMode, "Decide what to do about an escalation of the subconscious.", decideLimit,
		func(r ponder.Run, k knowledge) *decision { return newDecision(o, r, k) })
}

func (d *decision) foldedKnowledge() knowledge { return d.Known }

type decision struct {
	run ponder.Run
	o   Options
	id  string

	Known         knowledge     `json:"known"`
	Msgs          []llm.Message `json:"msgs,omitempty"` // messages after the first question
	Round         int           `json:"round,omitempty"`
	Unusable      int           `json:"bad,omitempty"`   // unusable answers
	Calls         []toolUse     `json:"uses,omitempty"`  // calls of this round
	ToolOutcomes  []toolOutcome `json:"deeds,omitempty"` // results of tools
	Verdict       *verdict      `json:"verdict,omitempty"`
	StoredOutcome string        `json:"said,omitempty"` // the stored outcome
}

type toolUse struct {
	Key    string          `json:"key,omitempty"`
	Call   llm.ToolCall    `json:"call"`
	Result *llm.ToolResult `json:"result,omitempty"`
}

type toolOutcome struct {
	Tool   string `json:"tool"`
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

type verdict struct {
	Outcome string `json:"outcome"`
	Text    string `json:"text,omitempty"`
	Model   string `json:"model,omitempty"`
	Unaided bool   `json:"unaided,omitempty"`
}

func newDecision(o Options, r ponder.Run, k knowledge) *decision {
	d := &decision{run: r, o: o, Known: k, id: strings.TrimSpace(r.Input)}
	var ev ponder.Event
	if strings.HasPrefix(d.id, "{") && json.Unmarshal([]byte(d.id), &ev) == nil {
		if b, ok := ev.Body.(ponder.Escalation); ok {
			d.id = b.ID
		}
	}
	return d
}

func (d *decision) Apply(ev ponder.Event) ponder.State {
	c := *d
	c.Known = c.Known.applyEvent(ev, c.o.Roles)
	key, _, _ := strings.Cut(ev.Cause, "#")
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		if c.Verdict == nil && len(c.Calls) == 0 && key == c.callKey() {
			c.applyAnswer(b)
		}
	case ponder.ToolResult:
		c.applyToolResult(key, b)
	case ponder.Escalation:
		if ev.Run == c.run.ID && b.Outcome != "" {
			c.StoredOutcome = b.Outcome
		}
	case ponder.BudgetSpent:
		c.decideWithoutModel()
	case ponder.Steer:
		if b.Do == ponder.AnswerNow {
			c.decideWithoutModel()
		}
	}
	return &c
}

func (d *decision) callKey() string { return fmt.Sprintf("decide-%d", d.Round+1) }

func (d *decision) decideWithoutModel() {
	d.Calls = nil
	if d.Verdict == nil {
		d.Verdict = &verdict{Outcome: Messaged, Unaided: true}
	}
}

func (d *decision) Next(ponder.Moment) []ponder.Action {
	e, _, ok := d.Known.findRaised(d.id)
	var do []ponder.Action
	for _, u := range d.Calls {
		if u.Result == nil {
			do = append(do, ponder.Do{Key: u.Key, Tool: u.Call.Name, Args: u.Call.Input})
		}
	}
	v := d.Verdict
	if v == nil && d.o.NoDecider {
		v = &verdict{Outcome: Messaged, Unaided: true}
	}
	switch {
	case d.StoredOutcome != "":
		return []ponder.Action{ponder.Finish{Answer: "Decided: " + d.StoredOutcome + "."}}
	case !ok:
		return []ponder.Action{ponder.Finish{Answer: "No open escalation is left to decide."}}
	case len(do) > 0:
		return do
	case v != nil:
		return []ponder.Action{ponder.Write{Key: decidedKey, Bodies: []ponder.Body{d.buildEscalation(e, *v)}}}
	}
	return []ponder.Action{ponder.Call{Key: d.callKey(), Role: ponder.Frontier, Request: d.buildRequest(e), Answer: true}}
}

func (d *decision) applyAnswer(b ponder.CallFinished) {
	d.Round++
	e, _, ok := d.Known.findRaised(d.id)
	if b.Error != "" || !ok {
		d.decideWithoutModel()
		return
	}
	msg, uses := b.Message, []toolUse(nil)
	for i, c := range takeToolCalls(&msg) {
		u := toolUse{Call: c}
		v, err := parseVerdict(c)
		switch {
		case !d.isOffered(e, c.Name):
			u.refuseCall("there is no such tool")
		case err != nil:
			u.refuseCall(err.Error())
		case v != nil && d.Verdict == nil:
			v.Model = b.Model
			d.Verdict = v
			u.refuseCall("noted")
		case v != nil:
			u.refuseCall("it is decided already")
		case d.Round > decideRounds:
			u.refuseCall("no more tools may be used: decide")
		case d.o.Gate != nil && d.o.Gate(c) != "":
			u.refuseCall(d.o.Gate(c))
		default:
			u.Key = fmt.Sprintf("use-%d-%d", d.Round, i+1)
		}
		uses = append(uses, u)
	}
	d.applyRound(msg, uses, b.Model)
}

// takeToolCalls returns the calls of an answer and removes excess and duplicate calls from it.
func takeToolCalls(m *llm.Message) (list []llm.ToolCall) {
	var parts []llm.Part
	for _, p := range m.Parts {
		switch {
		case p.Call == nil:
		case len(list) == maxToolCalls || slices.ContainsFunc(list, func(o llm.ToolCall) bool { return o.ID == p.Call.ID }):
			continue
		default:
			list = append(list, *p.Call)
		}
		p.Text, p.Reasoning = strings.ToValidUTF8(p.Text, "\uFFFD"), strings.ToValidUTF8(p.Reasoning, "\uFFFD")
		parts = append(parts, p)
	}
	m.Parts = parts
	return list
}

// parseVerdict returns the verdict of a terminal call, or nil for other tools.
func parseVerdict(c llm.ToolCall) (*verdict, error) {
	var in struct{ Text, Reason string }
	if c.Name != messageTool && c.Name != dismissTool {
		return nil, nil
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return nil, errors.New("its input must be an object as the schema says")
	}
	v := &verdict{Outcome: Messaged, Text: textkit.TruncateBytes(textkit.CleanTrim(in.Text), maxMessage)}
	if c.Name == dismissTool {
		v.Outcome, v.Text = Dismissed, textkit.Line(in.Reason, maxLine)
	}
	if v.Text == "" {
		return nil, errors.New("say something")
	}
	return v, nil
}

func (u *toolUse) refuseCall(why string) {
	u.Result = &llm.ToolResult{ID: u.Call.ID, Name: u.Call.Name, Text: why, Failed: true}
}

func (d *decision) applyRound(msg llm.Message, uses []toolUse, model string) {
	works := slices.ContainsFunc(uses, func(u toolUse) bool { return u.Result == nil })
	switch {
	case works:
	case d.Verdict != nil:
		return
	case len(uses) == 0 && len(d.ToolOutcomes) > 0:
		d.Verdict = &verdict{Outcome: Dismissed, Text: textkit.TruncateBytes(textkit.CleanTrim(msg.Text()), maxMessage), Model: model}
		return
	default:
		if d.Unusable++; d.Unusable >= maxUnusable {
			d.decideWithoutModel()
			return
		}
	}
	if len(msg.Parts) == 0 {
		msg = llm.Say(llm.Assistant, "(no answer)")
	}
	msg.Role = llm.Assistant
	d.Msgs, d.Calls = append(slices.Clip(d.Msgs), msg), uses
	d.finishRound()
}

func (d *decision) applyToolResult(key string, b ponder.ToolResult) {
	i := slices.IndexFunc(d.Calls, func(u toolUse) bool { return u.Key == key && u.Result == nil })
	if i < 0 {
		return
	}
	d.Calls = slices.Clone(d.Calls)
	c := d.Calls[i].Call
	said := textkit.TruncateBytes(textkit.CleanTrim(b.Result+"\n"+b.Error), maxResult)
	d.Calls[i].Result = &llm.ToolResult{ID: c.ID, Name: c.Name, Text: said, Failed: b.Error != ""}
	d.ToolOutcomes = append(slices.Clip(d.ToolOutcomes), newToolOutcome(c, b))
	d.finishRound()
}

func (d *decision) finishRound() {
	if slices.ContainsFunc(d.Calls, func(u toolUse) bool { return u.Result == nil }) {
		return
	}
	m := llm.Message{Role: llm.User}
	for _, u := range d.Calls {
		m.Parts = append(m.Parts, llm.Part{Result: u.Result})
	}
	if len(d.Calls) == 0 {
		m = llm.Say(llm.User, "That decides nothing. Call "+messageTool+" or "+dismissTool+".")
	}
	d.Msgs, d.Calls = append(slices.Clip(d.Msgs), m), nil
}
