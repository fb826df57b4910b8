package transcript

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"ponder"
	"ponder/tool/approval"
)

// States of a question for an approval.
const (
	statePending  = "pending"
	stateApproved = "approved"
	stateDenied   = "denied"
	stateExpired  = "expired"
	stateClosed   = "closed" // a fork copied it, and only the original conversation answers it
)

// Approvals has the states of the questions of a thread.
type Approvals struct {
	list map[string]*askedCall // by event
}

type askedCall struct {
	expires time.Time
	state   string
}

// ReadApprovals reads the questions of a thread, and their answers.
func ReadApprovals(events iter.Seq2[ponder.Event, error]) (a Approvals, err error) {
	a.list = make(map[string]*askedCall)
	for ev, err := range events {
		if err != nil {
			return a, err
		}
		a.apply(ev)
	}
	return a, nil
}

func (a Approvals) apply(ev ponder.Event) {
	switch b := ev.Body.(type) {
	case ponder.ApprovalRequested:
		a.list[ev.ID] = &askedCall{b.Expires, statePending}
	case ponder.SystemNote:
		for _, q := range a.list {
			if b.From != "" && q.state == statePending {
				q.state = stateClosed
			}
		}
	case ponder.UserMessage:
		for _, d := range b.Decisions {
			q := a.list[d.ID]
			if q == nil || q.state != statePending || ev.Time.After(q.expires) {
				continue // only the first answer in time counts
			}
			if q.state = stateDenied; d.Approved {
				q.state = stateApproved
			}
		}
	}
}

// Gist returns the content of an event at a time as one line. A question begins with its state.
func (a Approvals) Gist(ev ponder.Event, now time.Time) string {
	b, ok := ev.Body.(ponder.ApprovalRequested)
	if !ok || ev.Erased {
		return Gist(ev)
	}
	state := statePending
	if q := a.list[ev.ID]; q != nil {
		state = q.state
	}
	if state == statePending && now.After(b.Expires) {
		state = stateExpired
	}
	return state + ": " + CallText(b)
}

// CallText describes the call of a question for people, with the exact arguments.
func CallText(b ponder.ApprovalRequested) string {
	text := "run " + approval.Escape(b.Tool)
	if args := argsText(b.Args); args != "" {
		text += " with " + args
	}
	if b.Reason != "" {
		text += " (" + approval.Escape(b.Reason) + ")"
	}
	return text
}

// argsText returns arguments as names and values, such as room "kitchen". Values are JSON, so they stay exact.
func argsText(args json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(args))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return showValue(args)
	}
	var list []string
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return showValue(args)
		}
		text, _ := name.(string)
		list = append(list, approval.Escape(text)+" "+showValue(value))
	}
	if _, err := d.Token(); err != nil {
		return showValue(args) // not whole
	}
	return strings.Join(list, ", ")
}

// showValue returns JSON on one line, with hidden characters escaped.
func showValue(js json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, js) != nil {
		b.Reset()
		b.Write(js)
	}
	return approval.Escape(b.String())
}
