package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/openai"
	"ponder/internal/compat/protocoltest"
)

func newRig(t *testing.T, o protocoltest.Options, hooks *Hooks) *protocoltest.Rig {
	t.Helper()
	o.Routes = func(d *compat.Dispatcher) map[string]http.Handler { return New(d, hooks) }
	o.Refuse = func(w http.ResponseWriter, _ *http.Request, why *auth.Refusal) bool {
		openai.Refuse(w, &compat.APIError{Status: why.Status, Detail: why.Detail})
		return true
	}
	return protocoltest.New(t, o)
}

var keys = strings.Fields(`id object created_at completed_at status incomplete_details model previous_response_id instructions
	output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs
	temperature reasoning usage max_output_tokens max_tool_calls store background service_tier metadata safety_identifier prompt_cache_key`)

// checkFields returns the first violation.
func checkFields(r map[string]any) error {
	for _, k := range keys {
		if _, ok := r[k]; !ok {
			return fmt.Errorf("a response without %s", k)
		}
	}
	if r["object"] != "response" || r["output_text"] != nil {
		return fmt.Errorf("no response: %v", r)
	}
	reasoning, _ := r["reasoning"].(map[string]any)
	for _, k := range []string{"effort", "summary"} {
		if _, ok := reasoning[k]; !ok {
			return fmt.Errorf("reasoning without %s", k)
		}
	}
	for _, it := range r["output"].([]any) {
		it := it.(map[string]any)
		if it["id"] == "" || it["type"] == "" {
			return fmt.Errorf("an item without a name: %v", it)
		}
	}
	switch r["status"] {
	case queued, inProgress, completed, failed, cancelled, incompleted:
	default:
		return fmt.Errorf("the status %v", r["status"])
	}
	if (r["status"] == completed) != (r["completed_at"] != nil) || (r["status"] == failed) != (r["error"] != nil) || (r["status"] == incompleted) != (r["incomplete_details"] != nil) {
		return fmt.Errorf("%v, but %v %v %v", r["status"], r["completed_at"], r["error"], r["incomplete_details"])
	}
	return nil
}

// A streamChecker validates a stream like strict clients.
type streamChecker struct {
	number   int // of the next event
	response map[string]any
	items    []map[string]any
	parts    []int    // per item: complete summaries or contents
	texts    []string // per item: the open part
	open     []bool
	notes    []int
	last     string
	failure  bool
}

var known = strings.Fields(`response.created response.queued response.in_progress response.completed response.failed response.incomplete
	response.output_item.added response.output_item.done response.content_part.added response.content_part.done
	response.output_text.delta response.output_text.done response.output_text.annotation.added
	response.reasoning_summary_part.added response.reasoning_summary_part.done response.reasoning_summary_text.delta response.reasoning_summary_text.done
	response.web_search_call.in_progress response.web_search_call.searching response.web_search_call.completed
	response.file_search_call.in_progress response.file_search_call.searching response.file_search_call.completed
	response.function_call_arguments.delta response.function_call_arguments.done
	response.custom_tool_call_input.delta response.custom_tool_call_input.done error`)

func (c *streamChecker) checkEvent(name string, js []byte) error {
	var e map[string]any
	if err := json.Unmarshal(js, &e); err != nil {
		return err
	}
	kind, _ := e["type"].(string)
	switch {
	case kind != name || !slices.Contains(known, kind):
		return fmt.Errorf("the type %q of %q", kind, name)
	case e["sequence_number"] != float64(c.number):
		return fmt.Errorf("number %v, want %d", e["sequence_number"], c.number)
	case c.number == 0 && kind != "response.created":
		return fmt.Errorf("begins with %s", kind)
	case c.hasEnded():
		return fmt.Errorf("%s behind the end", kind)
	}
	c.number++
	c.last = kind
	if res, ok := e["response"].(map[string]any); ok {
		return c.checkLifecycle(kind, res)
	}
	if kind == "error" {
		c.failure = true
		inner, _ := e["error"].(map[string]any)
		if e["code"] == nil || e["message"] == nil || inner["code"] == nil || inner["message"] == nil {
			return fmt.Errorf("an error of one shape only: %v", e)
		}
		return nil
	}
	i, ok := e["output_index"].(float64)
	if !ok || i < 0 || i > float64(len(c.items)) {
		return fmt.Errorf("%s has the index %v", kind, e["output_index"])
	}
	if err := c.checkItem(kind, int(i), e); err != nil {
		return fmt.Errorf("%s: %w: %s", kind, err, js)
	}
	return nil
}

func (c *streamChecker) hasEnded() bool {
	return c.last == "response.completed" || c.last == "response.failed" || c.last == "response.incomplete"
}

func (c *streamChecker) checkLifecycle(kind string, res map[string]any) error {
	if c.response != nil && res["id"] != c.response["id"] {
		return fmt.Errorf("the id changes to %v", res["id"])
	}
	c.response = res
	if want := strings.TrimPrefix(kind, "response."); want != "created" && res["status"] != want {
		return fmt.Errorf("%s with the status %v", kind, res["status"])
	}
	if c.hasEnded() {
		output := res["output"].([]any)
		if len(output) != len(c.items) {
			return fmt.Errorf("%d items at the end, of %d", len(output), len(c.items))
		}
		for i, it := range output {
			if it.(map[string]any)["id"] != c.items[i]["id"] || c.open[i] {
				return fmt.Errorf("item %d is not the one that was added, or not done", i)
			}
		}
	}
	return checkFields(res)
}

func (c *streamChecker) checkItem(kind string, i int, e map[string]any) error {
	it, _ := e["item"].(map[string]any)
	if kind == "response.output_item.added" {
		if i != len(c.items) || it["id"] == "" || slices.ContainsFunc(c.items, func(o map[string]any) bool { return o["id"] == it["id"] }) {
			return fmt.Errorf("added twice, or out of order")
		}
		c.items, c.parts, c.texts, c.open, c.notes = append(c.items, it), append(c.parts, 0), append(c.texts, ""), append(c.open, true), append(c.notes, 0)
		return nil
	}
	if i >= len(c.items) || !c.open[i] {
		return fmt.Errorf("of an item that is not open")
	}
	if kind == "response.output_item.done" {
		c.open[i] = false
		if it["id"] != c.items[i]["id"] || it["status"] == inProgress {
			return fmt.Errorf("not the item, or not done")
		}
		c.items[i] = it
		return nil
	}
	if e["item_id"] != c.items[i]["id"] {
		return fmt.Errorf("another item")
	}
	return c.checkPiece(kind, i, e)
}

func (c *streamChecker) checkPiece(kind string, i int, e map[string]any) error {
	for _, k := range []string{"summary_index", "content_index"} {
		if at, ok := e[k]; ok && at != float64(c.parts[i]) {
			return fmt.Errorf("%s %v, want %d", k, at, c.parts[i])
		}
	}
	switch {
	case strings.HasSuffix(kind, ".delta"):
		c.texts[i] += e["delta"].(string)
	case strings.HasSuffix(kind, "_text.done"), strings.HasSuffix(kind, "arguments.done"):
		text, ok := e["text"]
		if !ok {
			text = e["arguments"]
		}
		if text != c.texts[i] {
			return fmt.Errorf("%q has the text %q", text, c.texts[i])
		}
	case strings.HasSuffix(kind, "part.done"):
		if e["part"].(map[string]any)["text"] != c.texts[i] {
			return fmt.Errorf("has the text %q", c.texts[i])
		}
		c.parts[i]++
		c.texts[i] = ""
	case strings.HasSuffix(kind, "annotation.added"):
		if e["annotation_index"] != float64(c.notes[i]) {
			return fmt.Errorf("out of order")
		}
		c.notes[i]++
	}
	return nil
}

// checkStream returns the events and the final response.
func checkStream(t *testing.T, s protocoltest.Stream) (list []protocoltest.Event, last map[string]any) {
	t.Helper()
	if s.Code != http.StatusOK || !strings.HasPrefix(s.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("no stream: %d %s", s.Code, s.Body)
	}
	list = s.Events()
	if len(list) < 4 || list[len(list)-1].Data != "[DONE]" {
		t.Fatalf("no whole stream: %s", s.Body)
	}
	list = list[:len(list)-1]
	var c streamChecker
	for i, e := range list {
		if err := c.checkEvent(e.Name, []byte(e.Data)); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		if want := fmt.Sprint(i); i > 0 && e.ID != want {
			t.Fatalf("event %d has the id %q", i, e.ID)
		}
	}
	if (c.last == "response.failed") != c.failure {
		t.Errorf("ends with %s, but an error was sent: %v", c.last, c.failure)
	}
	return list, c.response
}

func decodeResponse(t *testing.T, code int, body *bytes.Buffer) map[string]any {
	t.Helper()
	var r map[string]any
	if err := json.Unmarshal(body.Bytes(), &r); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if err := checkFields(r); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return r
}

func textIn(r map[string]any, phase string) (text string) {
	for _, it := range r["output"].([]any) {
		it := it.(map[string]any)
		if it["type"] != "message" || phase != "" && it["phase"] != phase {
			continue
		}
		for _, p := range it["content"].([]any) {
			text += p.(map[string]any)["text"].(string)
		}
	}
	return text
}
