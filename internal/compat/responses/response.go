package responses

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/compat/openai"
	"ponder/internal/stream"
	"ponder/llm"
)

// A response has all fields, because clients require them.
type response struct {
	ID           string            `json:"id"`
	Object       string            `json:"object"`
	Created      int64             `json:"created_at"`
	Completed    *int64            `json:"completed_at"`
	Status       string            `json:"status"`
	Incomplete   *incomplete       `json:"incomplete_details"`
	Model        string            `json:"model"`
	Previous     *string           `json:"previous_response_id"`
	Conversation *conversationRef  `json:"conversation,omitempty"`
	Instructions json.RawMessage   `json:"instructions"`
	Output       []any             `json:"output"`
	Error        *failure          `json:"error"`
	Tools        []tool            `json:"tools"`
	ToolChoice   json.RawMessage   `json:"tool_choice"`
	Truncation   string            `json:"truncation"`
	Parallel     bool              `json:"parallel_tool_calls"`
	Text         json.RawMessage   `json:"text"`
	TopP         float64           `json:"top_p"`
	Presence     float64           `json:"presence_penalty"`
	Frequency    float64           `json:"frequency_penalty"`
	TopLogs      int               `json:"top_logprobs"`
	Temperature  float64           `json:"temperature"`
	Reasoning    reasoning         `json:"reasoning"`
	Usage        *usage            `json:"usage"`
	MaxOutput    *int              `json:"max_output_tokens"`
	MaxTools     *int              `json:"max_tool_calls"`
	Store        bool              `json:"store"`
	Background   bool              `json:"background"`
	Tier         string            `json:"service_tier"`
	Metadata     map[string]string `json:"metadata"`
	Safety       *string           `json:"safety_identifier"`
	CacheKey     *string           `json:"prompt_cache_key"`

	refs map[string]toolRef // see request
}

type conversationRef struct {
	ID string `json:"id"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

// A failure has the two fields of OpenAI, and those that the AI SDK requires.
type failure struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
}

func failureOf(f *compat.APIError) *failure {
	out := openai.FailureOf(f)
	code := "server_error"
	if out.Code != nil {
		code = *out.Code
	}
	return &failure{code, f.Detail, out.Type, nil}
}

type reasoning struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type usage struct {
	Input    int `json:"input_tokens"`
	InDetail struct {
		Cached int `json:"cached_tokens"`
		Wrote  int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Output    int `json:"output_tokens"`
	OutDetail struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

func usageOf(u llm.Usage) *usage {
	out := &usage{Input: u.Input + u.CacheRead + u.CacheWrite, Output: u.Output, Total: u.Total()}
	out.InDetail.Cached, out.InDetail.Wrote, out.OutDetail.Reasoning = u.CacheRead, u.CacheWrite, u.Reasoning
	return out
}

// The output items. Their ids are permanent.
type (
	messageItem struct {
		ID      string `json:"id"`
		Type    string `json:"type"`
		Role    string `json:"role"`
		Status  string `json:"status"`
		Phase   string `json:"phase,omitempty"`
		Content []text `json:"content"`
	}
	text struct {
		Type        string       `json:"type"`
		Text        string       `json:"text"`
		Annotations []annotation `json:"annotations"`
		Logs        []struct{}   `json:"logprobs"`
	}
	annotation struct {
		Type     string `json:"type"` // url_citation or file_citation
		Start    *int   `json:"start_index,omitempty"`
		End      *int   `json:"end_index,omitempty"`
		URL      string `json:"url,omitempty"`
		Title    string `json:"title,omitempty"`
		FileID   string `json:"file_id,omitempty"`
		Filename string `json:"filename,omitempty"`
		Index    *int   `json:"index,omitempty"`
	}
	reasoningItem struct {
		ID      string    `json:"id"`
		Type    string    `json:"type"`
		Summary []summary `json:"summary"`
		Status  string    `json:"status,omitempty"`
	}
	summary struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	webItem struct {
		ID     string `json:"id"`
		Type   string `json:"type"`
		Status string `json:"status"`
		Action action `json:"action"`
	}
	action struct {
		Type    string   `json:"type"` // search or open_page
		Queries []string `json:"queries,omitempty"`
		Query   string   `json:"query,omitempty"`
		URL     string   `json:"url,omitempty"`
		Sources []source `json:"sources,omitempty"`
	}
	source struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	fileItem struct {
		ID      string   `json:"id"`
		Type    string   `json:"type"`
		Status  string   `json:"status"`
		Queries []string `json:"queries"`
		Results []found  `json:"results"`
	}
	found struct {
		FileID     string            `json:"file_id"`
		Filename   string            `json:"filename"`
		Score      float64           `json:"score"`
		Text       string            `json:"text"`
		Attributes map[string]string `json:"attributes"`
	}
	callItem struct {
		ID     string `json:"id"`
		Type   string `json:"type"`
		Status string `json:"status"`
		CallID string `json:"call_id"`
		Name   string `json:"name"`
		Space  string `json:"namespace,omitempty"`
		Args   string `json:"arguments"`
	}
	questionItem struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Status   string `json:"status"`
		Text     string `json:"text"`
		Priority int    `json:"priority"`
	}
)

// finishSteered is the finish of a replaced response.
const finishSteered llm.Finish = "steered"

const (
	queued      = "queued"
	inProgress  = "in_progress"
	completed   = "completed"
	failed      = "failed"
	cancelled   = "cancelled"
	incompleted = "incomplete"
)

func (r *response) setStatus(end compat.End, at int64) {
	switch end.Status {
	case ponder.Created:
		r.Status = queued
		return
	case ponder.Paused:
		r.Status = inProgress
		r.addMetadata("ponder_status", "paused")
		return
	case ponder.Failed:
		r.Status, r.Error = failed, failureOf(end.APIError())
	case ponder.Cancelled:
		r.Status = cancelled
	case ponder.Completed:
		r.Status = completed
		switch end.Finish {
		case llm.FinishLength:
			r.Status, r.Incomplete = incompleted, &incomplete{"max_output_tokens"}
		case finishSteered:
			r.Status, r.Incomplete = incompleted, &incomplete{string(finishSteered)}
		case llm.FinishFilter:
			r.Status, r.Incomplete = incompleted, &incomplete{"content_filter"}
		}
	default:
		r.Status = inProgress
		return
	}
	r.Usage = usageOf(end.Usage)
	if r.Status == completed {
		r.Completed = &at
	}
}

// addMetadata adds metadata; keys of the client win.
func (r *response) addMetadata(key, value string) {
	all := map[string]string{key: value}
	for k, v := range r.Metadata {
		all[k] = v
	}
	r.Metadata = all
}

func (j job) newResponse() *response {
	n := j.record
	r := &response{
		ID: j.id(), Object: "response", Created: j.work.Started.Unix(), Status: queued, Model: n.Model, Output: []any{},
		Instructions: orNull(n.Instructions), Tools: n.Tools, ToolChoice: jsonOr(n.ToolChoice, `"auto"`), Truncation: "disabled",
		Parallel: true, Text: jsonOr(n.Text, `{"format":{"type":"text"}}`), TopP: 1, Temperature: 1, Store: n.Store, Background: n.Background,
		Tier: "default", Metadata: n.Metadata, MaxOutput: n.MaxOutput, MaxTools: n.MaxTools, Safety: n.Safety, CacheKey: n.CacheKey,
		refs: n.Refs,
	}
	if n.Previous != "" {
		r.Previous = &n.Previous
	}
	if n.Conversation != "" {
		r.Conversation = &conversationRef{n.Conversation}
	}
	if n.Temperature != nil {
		r.Temperature = *n.Temperature
	}
	if n.TopP != nil {
		r.TopP = *n.TopP
	}
	if n.Effort != "" {
		r.Reasoning.Effort = &n.Effort
	}
	if n.Summary != "" {
		r.Reasoning.Summary = &n.Summary
	}
	if n.Created != 0 {
		r.Created = n.Created
	}
	if r.Tools == nil {
		r.Tools = []tool{}
	}
	if r.Metadata == nil {
		r.Metadata = map[string]string{}
	}
	return r
}

func jsonOr(js json.RawMessage, otherwise string) json.RawMessage {
	if len(js) == 0 || string(js) == "null" {
		return json.RawMessage(otherwise)
	}
	return js
}

func orNull(js json.RawMessage) json.RawMessage { return jsonOr(js, "null") }

// streamEvents sends the events after a number. Clients resume a stream that lacks [DONE].
func (a *api) streamEvents(w http.ResponseWriter, r *http.Request, j job, after int, answered func()) {
	ctx, cancel := a.untilGone(r.Context())
	defer cancel()
	out, pen := stream.NewPlainWriter(w), eventEncoder{}
	f := newFold(j.newResponse(), j.record.includeOptions(), func(e event) {
		if e.Number <= after {
			return
		}
		if js := pen.encodeEvent(e); js != nil {
			out.Event(ponder.Seq(e.Number), e.Type, js)
		}
	})
	err := a.emitEvents(ctx, j, f, out.Flush, func() error {
		out.Comment("keep-alive")
		return out.Flush()
	})
	if ctx.Err() != nil || err != nil && out.Flush() != nil {
		a.dropLater(j)
		return // disconnected
	}
	if err != nil {
		if js, err := json.Marshal(errorOf(a.desk.APIErrorOf(err), max(f.number, after+1))); err == nil {
			out.Event(0, "error", js)
		}
	}
	out.Event(0, "", []byte("[DONE]"))
	if out.Flush() == nil && err == nil {
		answered()
		if err := a.dropUnstored(r.Context(), j); err != nil {
			a.desk.APIErrorOf(err) // logs it
		}
	}
}

// An eventEncoder encodes events. Deltas of one text share a template. The zero value is ready.
type eventEncoder struct {
	previous event // the previous delta
	head     string
	rest     compat.JSONTemplate // after the number
	js       []byte
}

// encodeEvent returns an encoded event, valid until the next write; nil on failure.
func (p *eventEncoder) encodeEvent(e event) []byte {
	if e.Delta == nil {
		js, err := json.Marshal(e)
		if err != nil {
			return nil
		}
		return js
	}
	if !p.previous.addsAs(e) {
		gap, blank := compat.Placeholder, e
		blank.Number, blank.Delta = 0, &gap
		p.previous, p.head = e, `{"type":"`+e.Type+`","sequence_number":`
		p.rest = compat.NewJSONTemplate(blank).TrimPrefix(p.head + "0")
	}
	p.js = strconv.AppendInt(append(p.js[:0], p.head...), int64(e.Number), 10)
	p.js = p.rest.Append(p.js, *e.Delta)
	return p.js
}

// addsAs reports whether both are deltas of the same text.
func (e event) addsAs(other event) bool {
	same := func(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }
	return e.Delta != nil && e.Type == other.Type && e.ItemID == other.ItemID && same(e.Index, other.Index) && same(e.Content, other.Content) && same(e.Summary, other.Summary)
}

func errorOf(fault *compat.APIError, number int) event {
	f := failureOf(fault)
	return event{Type: "error", Number: number, Code: f.Code, Message: f.Message, Error: f}
}

// untilGone also ends when the server stops.
func (a *api) untilGone(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(a.desk.Gone, func() { cancel(errGone) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// emitEvents emits all events of a response. It calls flush after each batch, and quiet when a heartbeat is due.
func (a *api) emitEvents(ctx context.Context, j job, f *fold, flush, quiet func() error) error {
	f.emitStart()
	if err := flush(); err != nil {
		j.work.Forget()
		return err
	}
	end, err := a.streamParts(ctx, j, func(p compat.Part) error {
		f.applyPart(p)
		return nil
	}, flush, quiet)
	if err != nil {
		return err
	}
	f.emitEnd(end, end.At.Unix())
	return flush()
}
