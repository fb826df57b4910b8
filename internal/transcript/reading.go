package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"ponder/internal/textkit"
	"strings"
	"time"

	"ponder"
)

type reader struct {
	Transcript
	header    map[string]json.RawMessage
	original  string // thread ID in the file
	preserved int    // preserved unknown fields
}

// keepForeignHeader keeps the header of another program before its events, if our header loses fields.
func (r *reader) keepForeignHeader() {
	if r.Foreign {
		r.keepHeader(false)
	}
}

// finishTranscript keeps the unknown header fields of a newer version after the events.
func (r *reader) finishTranscript() (Transcript, error) {
	if !r.Foreign {
		r.keepHeader(len(r.Events) > 0)
	}
	hideThinking(r.Events)
	if r.Thread.Created.IsZero() && len(r.Events) > 0 {
		r.Thread.Created = r.Events[0].Time
	}
	if r.Foreign && r.Thread.Title == "" {
		r.Thread.Title = titleOf(r.Events)
	}
	return r.Transcript, nil
}

// maxTitle limits a generated title in characters.
const maxTitle = 60

// titleOf returns the start of the first message.
func titleOf(events []ponder.Event) string {
	for _, ev := range events {
		b, ok := ev.Body.(ponder.UserMessage)
		if line := textkit.Truncate(strings.Join(strings.Fields(b.Content), " "), maxTitle); ok && line != "" {
			return line
		}
	}
	return ""
}

func (r *reader) keepHeader(internal bool) {
	js, err := json.Marshal(r.Thread)
	if err != nil {
		return // unreachable: parseTime rejects such years
	}
	extra := lostFields(r.header, js)
	if len(extra) == 0 {
		return
	}
	r.addEvent(ponder.Event{
		Time: r.Thread.Created, Internal: internal,
		Body: ponder.SystemNote{Content: "the header of the file that this was imported from", Reason: "import"},
	}, extra)
}

func (r *reader) addEvent(ev ponder.Event, extra map[string]json.RawMessage) {
	if len(extra) > 0 {
		ev.Extra = extra
	}
	ev.Thread, ev.Seq = r.Thread.ID, ponder.Seq(len(r.Events)+1)
	r.Events = append(r.Events, ev)
}

// Limits on filled gaps. A visible event has at most some dozens of internal ones.
const (
	baseGaps     = 1000
	gapsPerEvent = 100
)

// addOwn adds a line in our own form.
func (r *reader) addOwn(l line) error {
	var at struct {
		Seq ponder.Seq `json:"seq"`
	}
	if err := json.Unmarshal(l.js, &at); err != nil || at.Seq < 1 {
		if _, err := l.parseFields(); err != nil {
			return err
		}
		return errors.New("seq is missing; the lines before have one")
	}
	next := ponder.Seq(len(r.Events) + 1)
	read := len(r.Events) - r.Filled
	room := ponder.Seq(min(baseGaps+gapsPerEvent*(read+1)-r.Filled, MaxEvents-len(r.Events)))
	switch {
	case at.Seq < next:
		return fmt.Errorf("seq %d is not above the previous seq %d", at.Seq, next-1)
	case at.Seq-next >= room:
		return fmt.Errorf("seq %d is too far from the previous seq %d", at.Seq, next-1)
	}
	ev, err := r.ownEvent(l, at.Seq)
	if err != nil {
		return err
	}
	for seq := next; seq < at.Seq; seq++ {
		r.Filled++
		r.addEvent(ponder.Event{Time: ev.Time, Internal: true, Erased: true, Body: ponder.SystemNote{}}, nil)
	}
	r.Events = append(r.Events, ev)
	return nil
}

// withoutAuthority returns the body of an imported event that approves nothing. A file may contain
// a question and a decision that no user has seen.
func withoutAuthority(ev ponder.Event) ponder.Body {
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		b.Decisions = nil
		return b
	case ponder.ApprovalRequested:
		b.Expires = time.Time{}
		return b
	}
	return ev.Body
}

// ownEvent returns the event of a line in our own form.
func (r *reader) ownEvent(l line, seq ponder.Seq) (ponder.Event, error) {
	var ev ponder.Event
	err := json.Unmarshal(l.js, &ev)
	if err == nil {
		ev.Thread, ev.Body = r.Thread.ID, withoutAuthority(ev)
		if js, err := ev.MarshalJSON(); err == nil && string(js) == string(l.js) {
			return ev, nil
		}
	}
	fields, ferr := l.parseFields()
	if ferr != nil {
		return ev, ferr
	}
	if err == nil {
		if whole, err := r.preserveFields(ev, fields); err == nil {
			return whole, nil
		}
	}
	ev = r.preserveLine(fields)
	ev.Seq = seq
	return r.preserveFields(ev, fields)
}

func (r *reader) preserveFields(ev ponder.Event, fields map[string]json.RawMessage) (ponder.Event, error) {
	if id, ok := jsonText(fields["thread_id"]); ok && id == r.original {
		delete(fields, "thread_id") // the header has it
	}
	stored := ev.Stamp(r.Thread.ID, ev.Seq, ev.Time)
	stored.ID, stored.Time = ev.ID, ev.Time // keep missing values missing
	js, err := stored.MarshalJSON()
	if err != nil {
		return ev, err
	}
	extra := lostFields(fields, js)
	if len(extra) == 0 {
		return stored, nil
	}
	for name, value := range stored.Extra {
		extra[name] = value // lostFields returns unique names
	}
	if r.preserved += len(extra); r.preserved > maxPreserved {
		return ev, fmt.Errorf("more than %d unknown fields", maxPreserved)
	}
	stored.Extra = extra
	if _, unknown := stored.Body.(ponder.Unknown); !unknown {
		return stored, nil
	}
	if js, err = stored.MarshalJSON(); err != nil {
		return ev, err
	}
	var read ponder.Event // an unknown type stores all fields in data
	return read, json.Unmarshal(js, &read)
}
