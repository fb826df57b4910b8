package responses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/compat"
)

// A requestRecord has the request data of a response. It is an internal event on the response's thread.
type requestRecord struct {
	Model        string            `json:"model"`
	Input        json.RawMessage   `json:"input,omitempty"`
	Instructions json.RawMessage   `json:"instructions,omitempty"`
	Previous     string            `json:"previous_response_id,omitempty"`
	Conversation string            `json:"conversation,omitempty"`
	Tools        []tool            `json:"tools,omitempty"`
	ToolChoice   json.RawMessage   `json:"tool_choice,omitempty"`
	Text         json.RawMessage   `json:"text,omitempty"`
	Effort       string            `json:"effort,omitempty"`
	Summary      string            `json:"summary,omitempty"`
	Include      []string          `json:"include,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	MaxOutput    *int              `json:"max_output_tokens,omitempty"`
	MaxTools     *int              `json:"max_tool_calls,omitempty"`
	Temperature  *float64          `json:"temperature,omitempty"`
	TopP         *float64          `json:"top_p,omitempty"`
	Store        bool              `json:"store"`
	Background   bool              `json:"background,omitempty"`
	Safety       *string           `json:"safety_identifier,omitempty"`
	CacheKey     *string           `json:"prompt_cache_key,omitempty"`
	Created      int64             `json:"created_at,omitempty"` // zero: the start of the work
	Gone         bool              `json:"gone,omitempty"`       // removed

	Refs map[string]toolRef `json:"tool_refs,omitempty"` // see request
}

func (in *request) toRecord() requestRecord {
	n := requestRecord{
		Model: in.Model, Input: in.Input, Instructions: in.Instructions, Previous: in.Previous, Conversation: conversationOf(in.Conversation), Tools: in.Tools,
		ToolChoice: in.ToolChoice, Text: in.Text, Include: in.Include, Metadata: in.Metadata, MaxOutput: in.MaxOutput, MaxTools: in.MaxTools,
		Temperature: in.Temperature, TopP: in.TopP, Store: in.Store == nil || *in.Store, Background: in.Background, Safety: in.Safety, CacheKey: in.CacheKey,
		Refs: in.refs,
	}
	if in.Reasoning != nil {
		n.Effort, n.Summary = in.Reasoning.Effort, in.Reasoning.Summary
	}
	return n
}

func (n requestRecord) includeOptions() includeOptions {
	return includeOptions{
		sources:   slices.Contains(n.Include, "web_search_call.action.sources"),
		results:   slices.Contains(n.Include, "file_search_call.results"),
		questions: slices.Contains(n.Include, "ponder.events"),
	}
}

const recordSensor = "openai.response"

// noteCause makes notes unique.
func (j job) noteCause(what string) string { return what + "-" + j.id() }

func (n requestRecord) toObservation() (ponder.Observation, error) {
	js, err := json.Marshal(n)
	if err != nil {
		return ponder.Observation{}, fmt.Errorf("save a response: %w", err)
	}
	return ponder.Observation{Content: string(js), Sensor: recordSensor}, nil
}

// storeRecord stores the note, unless it came with the message, and links the conversation.
func (a *api) storeRecord(ctx context.Context, j job) error {
	if !j.work.Noted || j.segment > 0 {
		if err := a.appendRecord(ctx, j, j.noteCause("note"), j.record); err != nil {
			return err
		}
	}
	name, ok := strings.CutPrefix(j.record.Conversation, conversationPrefix)
	if id := ponder.ThreadID("thr_" + name); ok && id != j.work.Thread {
		return a.desk.StoreRecord(ctx, id, j.noteCause("work"), workNoted, j.id())
	}
	return nil
}

// hideResponse hides a response and keeps its conversation.
func (a *api) hideResponse(ctx context.Context, j job) error {
	return a.appendRecord(ctx, j, j.noteCause("gone"), requestRecord{Gone: true})
}

func (a *api) appendRecord(ctx context.Context, j job, cause string, n requestRecord) error {
	return a.desk.StoreRecord(ctx, j.work.Thread, cause, recordSensor, n)
}

// loadRecord loads the note. It returns false for removed responses. Work of other surfaces is valid without a
// note.
func (a *api) loadRecord(ctx context.Context, j *job) (found bool, err error) {
	j.record = requestRecord{Model: "ponder/" + string(j.work.Kind), Store: true, Background: true}
	if j.segment > 0 {
		if is, err := a.hasSegment(ctx, *j); err != nil || !is {
			return false, err
		}
	}
	with := "" // the note's cause if it came with the message
	for ev, err := range a.desk.Events(ctx, j.work) {
		if err != nil {
			return false, fmt.Errorf("read %s: %w", j.work.Thread, err)
		}
		if ev.Seq == j.work.After+1 && j.work.Kind == compat.Chat && j.segment == 0 {
			with = app.NoteCause(ev.Cause)
		}
		b, ok := ev.Body.(ponder.Observation)
		if !ok || b.Sensor != recordSensor {
			continue
		}
		switch ev.Cause {
		case j.noteCause("note"), with:
			n := requestRecord{}
			if err := json.Unmarshal([]byte(b.Content), &n); err == nil {
				j.record = n
			}
		case j.noteCause("gone"):
			return false, nil
		}
	}
	return true, nil
}

// isShared reports whether the conversation has other messages.
func (a *api) isShared(ctx context.Context, j job) (bool, error) {
	if j.record.Conversation != "" {
		return true, nil
	}
	said := 0
	for ev, err := range a.desk.Store.Events(ctx, j.work.Thread, 0) {
		if err != nil {
			return false, fmt.Errorf("read %s: %w", j.work.Thread, err)
		}
		if _, ok := ev.Body.(ponder.UserMessage); ok || ev.Cause == conversationCause {
			said++
		}
	}
	return said > 1, nil
}

const (
	pageItems = 20
	maxItems  = 100
)

func (a *api) listInputs(w http.ResponseWriter, r *http.Request, owner string) error {
	j, err := a.findJob(r.Context(), owner, r.PathValue("id"))
	if err != nil {
		return err
	}
	return replyPage(w, r, inputItems(j))
}

// selectPage selects from an ascending list.
func selectPage(q url.Values, list []map[string]any) (rest []map[string]any, limit int, err error) {
	limit = pageItems
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxItems {
			return nil, 0, compat.InvalidField("limit", "limit: expected a number from 1 to %d", maxItems)
		}
	}
	switch q.Get("order") {
	case "", "desc":
		slices.Reverse(list)
	case "asc":
	default:
		return nil, 0, compat.InvalidField("order", "order: expected asc or desc")
	}
	if after := q.Get("after"); after != "" {
		i := slices.IndexFunc(list, func(it map[string]any) bool { return it["id"] == after })
		if i < 0 {
			return nil, 0, compat.InvalidField("after", "after: there is no such item")
		}
		list = list[i+1:]
	}
	return list, limit, nil
}

func pageOf(list []map[string]any, limit int) map[string]any {
	more := len(list) > limit
	list = list[:min(len(list), limit)]
	page := map[string]any{"object": "list", "data": list, "has_more": more, "first_id": nil, "last_id": nil}
	if len(list) > 0 {
		page["first_id"], page["last_id"] = list[0]["id"], list[len(list)-1]["id"]
	}
	return page
}

func inputItems(j job) (list []map[string]any) {
	list = []map[string]any{}
	var text string
	if json.Unmarshal(j.record.Input, &text) == nil {
		list = append(list, map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}}})
	} else if json.Unmarshal(j.record.Input, &list) != nil {
		return []map[string]any{}
	}
	fillItems(list, "in_"+j.work.ID())
	return list
}

// fillItems adds missing fields and replaces null items.
func fillItems(list []map[string]any, name string) {
	for i, it := range list {
		if it == nil {
			it = map[string]any{}
			list[i] = it
		}
		if s, _ := it["id"].(string); s == "" {
			it["id"] = fmt.Sprintf("%s_%d", name, i)
		}
		if it["type"] == nil {
			it["type"] = "message"
		}
		if content, ok := it["content"].(string); ok && it["type"] == "message" {
			kind := "input_text"
			if it["role"] == "assistant" {
				kind = "output_text"
			}
			it["content"] = []any{map[string]any{"type": kind, "text": content}}
		}
		if it["status"] == nil {
			it["status"] = completed
		}
	}
}

// A steered run has several responses, its segments. A segment ends where the run applies a steer.

// steerPrefix starts the causes of splitting steers; the submission's id follows.
const steerPrefix = "resp-steer-"

func endsSegment(p compat.Part) bool {
	return p.Kind == compat.Steered && !p.Refused && strings.HasPrefix(p.Item, steerPrefix)
}

// errSteered ends reading at a successor.
var errSteered = errors.New("steered")

// streamParts calls each for the parts of a response.
func (a *api) streamParts(ctx context.Context, j job, each func(compat.Part) error, flush, quiet func() error) (compat.End, error) {
	at := 0
	end, err := a.desk.Wait(ctx, j.work, func(p compat.Part) error {
		switch {
		case endsSegment(p) && at == j.segment:
			return errSteered
		case endsSegment(p):
			at++
		case at == j.segment:
			return each(p)
		}
		return nil
	}, flush, quiet)
	if errors.Is(err, errSteered) {
		return compat.End{Status: ponder.Completed, Finish: finishSteered}, nil
	}
	if err != nil {
		return end, err
	}
	return a.adjustEnd(ctx, j, end)
}

// currentParts returns the parts so far, and the state.
func (a *api) currentParts(ctx context.Context, j job) (list []compat.Part, end compat.End, err error) {
	all, end, err := a.desk.Result(ctx, j.work)
	if err != nil {
		return nil, end, err
	}
	at := 0
	for _, p := range all {
		switch {
		case endsSegment(p) && at == j.segment:
			return list, compat.End{Status: ponder.Completed, Finish: finishSteered}, nil
		case endsSegment(p):
			at++
		case at == j.segment:
			list = append(list, p)
		}
	}
	end, err = a.adjustEnd(ctx, j, end)
	return list, end, err
}

// adjustEnd reports cancellation by a steer as steered.
func (a *api) adjustEnd(ctx context.Context, j job, end compat.End) (compat.End, error) {
	if end.Status != ponder.Cancelled || j.work.Kind == compat.Session || j.work.Kind == compat.Research {
		return end, nil
	}
	for ev, err := range a.desk.Store.Events(ctx, j.work.Thread, j.work.After) {
		if err != nil {
			return end, fmt.Errorf("read %s: %w", j.work.Thread, err)
		}
		if ev.Cause == j.noteCause("steered") {
			end.Status, end.Finish, end.Reason = ponder.Completed, finishSteered, ""
		}
	}
	return end, nil
}

func (a *api) hasSegment(ctx context.Context, j job) (bool, error) {
	all, _, err := a.desk.Result(ctx, j.work)
	if err != nil {
		return false, err
	}
	n := 0
	for _, p := range all {
		if endsSegment(p) {
			n++
		}
	}
	return n >= j.segment, nil
}
