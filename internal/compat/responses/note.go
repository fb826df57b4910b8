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

// A note has the request data of a response. It is an internal event on the response's thread.
type note struct {
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
}

func (in *request) note() note {
	n := note{
		Model: in.Model, Input: in.Input, Instructions: in.Instructions, Previous: in.Previous, Conversation: conversationOf(in.Conversation), Tools: in.Tools,
		ToolChoice: in.ToolChoice, Text: in.Text, Include: in.Include, Metadata: in.Metadata, MaxOutput: in.MaxOutput, MaxTools: in.MaxTools,
		Temperature: in.Temperature, TopP: in.TopP, Store: in.Store == nil || *in.Store, Background: in.Background, Safety: in.Safety, CacheKey: in.CacheKey,
	}
	if in.Reasoning != nil {
		n.Effort, n.Summary = in.Reasoning.Effort, in.Reasoning.Summary
	}
	return n
}

func (n note) wants() wants {
	return wants{
		sources:   slices.Contains(n.Include, "web_search_call.action.sources"),
		results:   slices.Contains(n.Include, "file_search_call.results"),
		questions: slices.Contains(n.Include, "ponder.events"),
	}
}

const noted = "openai.response"

// cause makes notes unique.
func (j job) cause(what string) string { return what + "-" + j.id() }

func (n note) observation() (ponder.Observation, error) {
	js, err := json.Marshal(n)
	if err != nil {
		return ponder.Observation{}, fmt.Errorf("keep a response: %w", err)
	}
	return ponder.Observation{Content: string(js), Sensor: noted}, nil
}

// keep stores the note, unless it came with the message, and links the conversation.
func (a *api) keep(ctx context.Context, j job) error {
	if !j.work.Noted || j.segment > 0 {
		if err := a.appendNote(ctx, j, j.cause("note"), j.note); err != nil {
			return err
		}
	}
	name, ok := strings.CutPrefix(j.note.Conversation, conversationPrefix)
	if id := ponder.ThreadID("thr_" + name); ok && id != j.work.Thread {
		return a.remark(ctx, id, j.cause("work"), workNoted, j.id())
	}
	return nil
}

// forget hides a response and keeps its conversation.
func (a *api) forget(ctx context.Context, j job) error {
	return a.appendNote(ctx, j, j.cause("gone"), note{Gone: true})
}

func (a *api) appendNote(ctx context.Context, j job, cause string, n note) error {
	remark, err := n.observation()
	if err != nil {
		return err
	}
	return a.append(ctx, j.work.Thread, cause, remark)
}

// append stores an event once for a cause.
func (a *api) append(ctx context.Context, id ponder.ThreadID, cause string, remark ponder.Observation) error {
	_, err := a.desk.Store.Append(ctx, id, 0, ponder.Event{ID: ponder.NewID("evt"), Cause: cause, Internal: true, Body: remark})
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		return fmt.Errorf("keep a remark: %w", err)
	}
	return nil
}

// read loads the note. It returns false for removed responses. Work of other surfaces is valid without a
// note.
func (a *api) read(ctx context.Context, j *job) (found bool, err error) {
	j.note = note{Model: "ponder/" + string(j.work.Way), Store: true, Background: true}
	if j.segment > 0 {
		if is, err := a.isParted(ctx, *j); err != nil || !is {
			return false, err
		}
	}
	with := "" // the note's cause if it came with the message
	for ev, err := range a.desk.Events(ctx, j.work) {
		if err != nil {
			return false, fmt.Errorf("read %s: %w", j.work.Thread, err)
		}
		if ev.Seq == j.work.After+1 && j.work.Way == compat.Chat && j.segment == 0 {
			with = app.NoteCause(ev.Cause)
		}
		b, ok := ev.Body.(ponder.Observation)
		if !ok || b.Sensor != noted {
			continue
		}
		switch ev.Cause {
		case j.cause("note"), with:
			n := note{}
			if err := json.Unmarshal([]byte(b.Content), &n); err == nil {
				j.note = n
			}
		case j.cause("gone"):
			return false, nil
		}
	}
	return true, nil
}

// shared reports whether the conversation has other messages.
func (a *api) shared(ctx context.Context, j job) (bool, error) {
	if j.note.Conversation != "" {
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
	mostItems = 100
)

func (a *api) inputs(w http.ResponseWriter, r *http.Request, owner string) error {
	j, err := a.job(r.Context(), owner, r.PathValue("id"))
	if err != nil {
		return err
	}
	return page(w, r, inputItems(j))
}

// paged selects from an ascending list.
func paged(q url.Values, list []map[string]any) (rest []map[string]any, limit int, err error) {
	limit = pageItems
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > mostItems {
			return nil, 0, compat.Wrong("limit", "limit: expected a number from 1 to %d", mostItems)
		}
	}
	switch q.Get("order") {
	case "", "desc":
		slices.Reverse(list)
	case "asc":
	default:
		return nil, 0, compat.Wrong("order", "order: expected asc or desc")
	}
	if after := q.Get("after"); after != "" {
		i := slices.IndexFunc(list, func(it map[string]any) bool { return it["id"] == after })
		if i < 0 {
			return nil, 0, compat.Wrong("after", "after: there is no such item")
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
	if json.Unmarshal(j.note.Input, &text) == nil {
		list = append(list, map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}}})
	} else if json.Unmarshal(j.note.Input, &list) != nil {
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

// wishPrefix starts the causes of splitting steers; the submission's id follows.
const wishPrefix = "resp-steer-"

func parts(p compat.Part) bool {
	return p.Kind == compat.Steered && !p.Refused && strings.HasPrefix(p.Item, wishPrefix)
}

// errSteered ends reading at a successor.
var errSteered = errors.New("steered")

// tell calls each for the parts of a response.
func (a *api) tell(ctx context.Context, j job, each func(compat.Part) error, flush, quiet func() error) (compat.End, error) {
	at := 0
	end, err := a.desk.Wait(ctx, j.work, func(p compat.Part) error {
		switch {
		case parts(p) && at == j.segment:
			return errSteered
		case parts(p):
			at++
		case at == j.segment:
			return each(p)
		}
		return nil
	}, flush, quiet)
	if errors.Is(err, errSteered) {
		return compat.End{Status: ponder.Completed, Finish: steered}, nil
	}
	if err != nil {
		return end, err
	}
	return a.ended(ctx, j, end)
}

// result returns the parts so far, and the state.
func (a *api) result(ctx context.Context, j job) (list []compat.Part, end compat.End, err error) {
	all, end, err := a.desk.Result(ctx, j.work)
	if err != nil {
		return nil, end, err
	}
	at := 0
	for _, p := range all {
		switch {
		case parts(p) && at == j.segment:
			return list, compat.End{Status: ponder.Completed, Finish: steered}, nil
		case parts(p):
			at++
		case at == j.segment:
			list = append(list, p)
		}
	}
	end, err = a.ended(ctx, j, end)
	return list, end, err
}

// ended reports cancellation by a steer as steered.
func (a *api) ended(ctx context.Context, j job, end compat.End) (compat.End, error) {
	if end.Status != ponder.Cancelled || j.work.Way == compat.Session || j.work.Way == compat.Research {
		return end, nil
	}
	for ev, err := range a.desk.Store.Events(ctx, j.work.Thread, j.work.After) {
		if err != nil {
			return end, fmt.Errorf("read %s: %w", j.work.Thread, err)
		}
		if ev.Cause == j.cause("steered") {
			end.Status, end.Finish, end.Reason = ponder.Completed, steered, ""
		}
	}
	return end, nil
}

func (a *api) isParted(ctx context.Context, j job) (bool, error) {
	all, _, err := a.desk.Result(ctx, j.work)
	if err != nil {
		return false, err
	}
	n := 0
	for _, p := range all {
		if parts(p) {
			n++
		}
	}
	return n >= j.segment, nil
}
