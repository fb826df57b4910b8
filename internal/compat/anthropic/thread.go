package anthropic

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/textkit"
)

// A message thread is a conversation whose messages the server keeps. A request that continues one
// names the last answer and has only the new messages. The package expands it to a request with all
// messages.

const messagePrefix = "msg_"

// A threadParam begins a message thread, or continues one.
type threadParam struct {
	Type     string `json:"type"` // create or continue
	Previous string `json:"previous_message_id"`
}

// A threadRecord is the request of an answer that can be continued. It is an internal event on the
// thread of the answer.
type threadRecord struct {
	ID       string          `json:"id"`                 // of the answer
	Previous string          `json:"previous,omitempty"` // the record that this one extends, on the same thread
	System   json.RawMessage `json:"system,omitempty"`
	Tools    []tool          `json:"tools,omitempty"`
	Messages []message       `json:"messages"`
}

// A threadMark records that a request continued an answer.
type threadMark struct {
	ID     string `json:"id"`   // the continued answer
	Next   string `json:"next"` // the answer of the request
	Digest string `json:"digest"`
}

const (
	threadSensor = "anthropic.thread"
	markSensor   = "anthropic.continued"
)

// A predecessor is the answer that a request continues.
type predecessor struct {
	work   compat.Job
	id     string
	record threadRecord // with the messages of all records before it
	marks  []threadMark
}

// The codes of the errors of threads, which the SDKs recognize.
const (
	codeNotFound    = "thread_not_found"
	codeContinued   = "thread_already_continued"
	codeInFlight    = "thread_continue_in_flight"
	codeFingerprint = "thread_fingerprint_mismatch"
)

// expandThread adds the messages, system prompt and tools of a continued thread to in.
func (a *api) expandThread(ctx context.Context, owner string, in *body) error {
	switch t := in.Thread; {
	case t == nil || t.Type == "create":
		return nil
	case t.Type != "continue":
		return compat.InvalidField("thread.type", "thread.type: expected create or continue")
	case t.Previous == "":
		return compat.InvalidField("thread.previous_message_id", "thread.previous_message_id: Field required")
	case len(in.Messages) == 0:
		return compat.InvalidField("messages", "messages: expected at least one message that continues the thread")
	}
	p, err := a.findPredecessor(ctx, owner, in.Thread.Previous)
	if err != nil {
		return err
	}
	for field, differs := range map[string]bool{
		"system": len(in.System) > 0 && !equalJSON(in.System, p.record.System), "tools": in.Tools != nil && !equalJSON(in.Tools, p.record.Tools),
	} {
		if differs {
			f := compat.InvalidField(field, "%s: it differs from the thread; leave it out, or send the whole conversation with thread: {\"type\": \"create\"}", field)
			f.Code = codeFingerprint
			return f
		}
	}
	whole, err := a.desk.WaitAnswer(ctx, p.work, func() {})
	if err != nil {
		return err
	}
	content, err := json.Marshal(contentPieces(whole))
	if err != nil {
		return fmt.Errorf("read the answer %s: %w", p.id, err)
	}
	own := in.Messages
	in.Messages = append(p.record.Messages[:len(p.record.Messages):len(p.record.Messages)], message{"assistant", content})
	in.System, in.Tools, in.Messages, in.predecessor = p.record.System, p.record.Tools, append(in.Messages, own...), p
	return nil
}

// equalJSON reports whether two values have the same JSON, apart from white space.
func equalJSON(a, b any) bool {
	var values [2]any
	for i, v := range []any{a, b} {
		js, err := json.Marshal(v)
		if err != nil || json.Unmarshal(js, &values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// findPredecessor returns an answer that can be continued, or an APIError with the code thread_not_found.
func (a *api) findPredecessor(ctx context.Context, owner, id string) (*predecessor, error) {
	missing := &compat.APIError{
		Status: http.StatusNotFound, Field: "thread.previous_message_id", Code: codeNotFound,
		Detail: "thread.previous_message_id: there is no thread with the message " + textkit.Prefix(id, 60) + "; send the whole conversation with thread: {\"type\": \"create\"}",
	}
	name, ok := strings.CutPrefix(id, messagePrefix)
	if !ok {
		return nil, missing
	}
	p := &predecessor{id: id}
	var err error
	if p.work, err = a.desk.FindJob(ctx, owner, name); err != nil {
		if a.desk.APIErrorOf(err).Status == http.StatusNotFound {
			return nil, missing
		}
		return nil, err
	}
	found, err := a.loadThread(ctx, p)
	if err == nil && !found {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	if _, end, err := a.desk.Result(ctx, p.work); err != nil || end.Status != ponder.Completed {
		if err == nil {
			err = missing // the thread has no answer to continue
		}
		return nil, err
	}
	return p, nil
}

// loadThread loads the record of p, with those that it extends, and the marks.
func (a *api) loadThread(ctx context.Context, p *predecessor) (found bool, err error) {
	records := make(map[string]threadRecord)
	for ev, err := range a.desk.Store.Events(ctx, p.work.Thread, 0) {
		if err != nil {
			return false, fmt.Errorf("read %s: %w", p.work.Thread, err)
		}
		b, ok := ev.Body.(ponder.Observation)
		if !ok || !ev.Internal {
			continue
		}
		switch b.Sensor {
		case threadSensor:
			var r threadRecord
			if json.Unmarshal([]byte(b.Content), &r) == nil {
				records[r.ID] = r
			}
		case markSensor:
			var m threadMark
			if json.Unmarshal([]byte(b.Content), &m) == nil && m.ID == p.id {
				p.marks = append(p.marks, m)
			}
		}
	}
	record, found := records[p.id]
	for at := record; at.Previous != ""; {
		var ok bool
		delete(records, at.ID) // an imported log may have a circle
		if at, ok = records[at.Previous]; !ok {
			return false, nil // erased
		}
		record.System, record.Tools = at.System, at.Tools
		record.Messages = append(at.Messages[:len(at.Messages):len(at.Messages)], record.Messages...)
	}
	p.record = record
	return found, nil
}

// checkContinued returns an APIError if another request has continued the predecessor.
func (a *api) checkContinued(ctx context.Context, owner string, in *body, digest string) error {
	if in.predecessor == nil {
		return nil
	}
	for _, m := range in.predecessor.marks {
		if m.Digest == digest { // a repeat
			continue
		}
		work, err := a.desk.FindJob(ctx, owner, strings.TrimPrefix(m.Next, messagePrefix))
		if err != nil {
			continue // removed
		}
		_, end, err := a.desk.Result(ctx, work)
		if err != nil {
			return err
		}
		f := compat.InvalidField("thread.previous_message_id", "thread.previous_message_id: %s was continued by %s; continue that, or send the whole conversation with thread: {\"type\": \"create\"}", m.ID, m.Next)
		switch {
		case end.Status == ponder.Completed:
			f.Code = codeContinued
			return f
		case !end.Status.Ended():
			f.Code = codeInFlight
			return f
		}
	}
	return nil
}

// storeThread stores what a later request needs to continue the answer id. In a conversation, a
// record has only the messages after its predecessor's, because all records are in one log.
func (a *api) storeThread(ctx context.Context, work compat.Job, id string, in *body, digest string) error {
	if in.Thread == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	r := threadRecord{ID: id, System: in.System, Tools: in.Tools, Messages: in.Messages}
	p := in.predecessor
	if p != nil && p.work.Thread == work.Thread {
		r.Previous, r.System, r.Tools, r.Messages = p.id, nil, nil, in.Messages[len(p.record.Messages):]
	}
	if err := a.desk.StoreRecord(ctx, work.Thread, "thread-"+id, threadSensor, r); err != nil || p == nil {
		return err
	}
	return a.desk.StoreRecord(ctx, p.work.Thread, "continued-"+id, markSensor, threadMark{p.id, id, digest})
}

func digestOf(js []byte) string {
	sum := sha256.Sum256(js)
	return hex.EncodeToString(sum[:16])
}
