package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/steering"
)

// A steer arrives during a response. A session or research applies it and continues as a successor. Other
// work is cancelled and restarted with it.

func (s *socket) handleSteer(ctx context.Context, js json.RawMessage) {
	var in submission
	if json.Unmarshal(js, &in) != nil {
		s.steerFailed(ctx, in, "invalid_input", "the event cannot be read")
		return
	}
	var err error
	if in.text, err = userText(in.Input); err != nil {
		s.steerFailed(ctx, in, "invalid_input", s.desk.APIErrorOf(err).Detail)
		return
	}
	f := s.live
	switch {
	case f == nil || f.job.id() != in.To || f.endSent.Load():
		if s.past[in.To] || f != nil && f.job.id() == in.To {
			s.steerFailed(ctx, in, "response_already_completed", "the response has ended")
		} else {
			s.steerFailed(ctx, in, "response_not_found", "this connection has no such response")
		}
	case f.job.record.Conversation != "":
		s.steerFailed(ctx, in, "steering_not_supported", "a response with a conversation cannot be steered")
	case len(f.steers) >= maxSteers:
		s.steerFailed(ctx, in, "too_many_pending_steers", "too many steers are pending")
	default:
		in.ID = ponder.NewID("steer")
		_ = s.writeEvent(ctx, map[string]any{
			"type": "response.steer.accepted", "sequence_number": 0, "steer": map[string]string{"id": in.ID, "previous_response_id": in.To},
		})
		f.steers = append(f.steers, in)
		if err := s.applySteer(ctx, f, in); err != nil {
			f.steers = f.steers[:len(f.steers)-1]
			fault, code := s.desk.APIErrorOf(err), "response_not_active"
			if fault.Status == http.StatusBadRequest {
				code = "invalid_input"
			}
			s.steerFailed(ctx, in, code, fault.Detail)
		}
	}
}

// steerFailed returns a steer to the client.
func (s *socket) steerFailed(ctx context.Context, in submission, code, why string) {
	if in.Input == nil {
		in.Input = json.RawMessage(`""`)
	}
	_ = s.writeEvent(ctx, map[string]any{
		"type": "response.steer.failed", "sequence_number": 0, "steer": in,
		"error": map[string]string{"type": "invalid_request_error", "code": code, "message": why},
	})
}

// userText parses a string or user messages.
func userText(js json.RawMessage) (string, error) {
	items, err := itemsOf(js)
	if err != nil {
		return "", err
	}
	for i, it := range items {
		if it.Role != "user" || it.Type != "message" && it.Type != "" {
			return "", compat.InvalidField("input", "input[%d]: expected a message of the user", i)
		}
	}
	list, err := messagesOf(js, nil)
	if err != nil {
		return "", err
	}
	var all []string
	for _, m := range list {
		all = append(all, m.Text())
	}
	text := strings.TrimSpace(strings.Join(all, "\n\n"))
	if text == "" {
		return "", compat.InvalidField("input", "input: expected a text")
	}
	return text, nil
}

// canSteer reports whether the run can apply steers.
func canSteer(j job) bool { return j.work.Kind == compat.Session || j.work.Kind == compat.Research }

// applySteer sends the steer, or cancels the work.
func (s *socket) applySteer(ctx context.Context, f *liveResponse, in submission) error {
	if !canSteer(f.job) {
		if err := s.appendRecord(ctx, f.job, f.job.noteCause("steered"), requestRecord{}); err != nil {
			return err
		}
		return s.desk.Cancel(ctx, f.job.work)
	}
	command := steering.Request{Order: ponder.Correct, Content: in.text}
	if strings.Contains(in.text, "?") {
		command = compat.AddQuestion(in.text)
	}
	return s.desk.Steer(ctx, f.job.work, steerPrefix+in.ID, "input", command)
}

// startSuccessor starts the successor.
func (s *socket) startSuccessor(ctx context.Context, f *liveResponse) {
	waits := f.steers
	if len(waits) == 0 {
		return
	}
	var err error
	switch {
	case f.end.Status == cancelled || f.end.Status == failed:
		err = &compat.APIError{Status: http.StatusConflict, Detail: "the response failed or was cancelled"}
	case canSteer(f.job) && f.end.Incomplete != nil && f.end.Incomplete.Reason == string(finishSteered):
		err = s.continueRun(ctx, f)
	case canSteer(f.job):
		for _, in := range waits {
			s.steerFailed(ctx, in, "response_already_completed", "too late: the model already writes the answer")
		}
	case s.waitsForTools(ctx, f):
	default:
		in := f.in
		in.Previous = f.job.id()
		if in.Input, err = joinInputs(waits, nil); err == nil {
			js, _ := json.Marshal(waits) // distinguishes it from other requests
			err = s.beginResponse(ctx, in, js)
		}
	}
	if err != nil {
		for _, in := range waits {
			s.steerFailed(ctx, in, "successor_creation_failed", s.desk.APIErrorOf(err).Detail)
		}
	}
}

// continueRun streams the next segment. Each further steer splits the run again.
func (s *socket) continueRun(ctx context.Context, f *liveResponse) error {
	next := f.job
	next.segment++
	next.record.Previous, next.record.Created = f.job.id(), time.Now().Unix()
	input, err := json.Marshal(f.steers[0].text)
	if err != nil {
		return fmt.Errorf("continue a response: %w", err)
	}
	next.record.Input = input
	if err := s.storeRecord(context.WithoutCancel(ctx), next); err != nil {
		return err
	}
	if s.hooks != nil && next.record.Background {
		if err := s.hooks.expectEnd(context.WithoutCancel(ctx), next); err != nil {
			s.desk.APIErrorOf(err) // logs it
		}
	}
	in := f.in
	in.Previous, in.Input = f.job.id(), input
	s.startResponse(ctx, &liveResponse{job: next, in: in, answered: func() {}, steers: f.steers[1:]})
	return nil
}

// waitsForTools reports whether a response ends with client calls. Its steers then wait for the results.
func (s *socket) waitsForTools(ctx context.Context, f *liveResponse) bool {
	required := []any{}
	for _, it := range f.end.Output {
		if c, ok := it.(callItem); ok {
			required = append(required, map[string]string{"type": "function_call_output", "call_id": c.CallID, "output": ""})
		}
	}
	if len(required) == 0 || f.end.Status != completed {
		return false
	}
	id := f.job.id()
	s.heldSteers[id] = f.steers
	for _, in := range f.steers {
		_ = s.writeEvent(ctx, map[string]any{
			"type": "response.steer.pending", "sequence_number": 0, "reason": "waiting_for_required_input", "required_input": required,
			"steer": map[string]string{"id": in.ID, "previous_response_id": id},
		})
	}
	return true
}
