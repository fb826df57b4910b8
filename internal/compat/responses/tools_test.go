package responses

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

// codexTools are the tools of an agent of OpenAI, and items that add some.
const codexTools = `"tools":[{"type":"function","name":"shell","parameters":{"type":"object"}},
	{"type":"custom","name":"apply_patch","description":"Edit files.","format":{"type":"grammar","syntax":"lark","definition":"start: begin"}},
	{"type":"namespace","name":"crm","description":"Customers.","tools":[{"type":"function","name":"find","parameters":{"type":"object"}},{"type":"custom","name":"note"}]},
	{"type":"tool_search","execution":"client","description":"Find tools.","parameters":{"type":"object"}},{"type":"web_search","external_web_access":true}]`

func toolNames(req *llm.Request) string {
	var names []string
	for _, t := range req.Tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// Calls of all kinds of tools return in the client's form, and are understood when they come back.
func TestToolForms(t *testing.T) {
	calls := []llm.ToolCall{
		{ID: "c1", Name: "shell", Input: []byte(`{"command":["ls"]}`)}, {ID: "c2", Name: "apply_patch", Input: []byte(`{"input":"*** Begin\n+x"}`)},
		{ID: "c3", Name: "crm__find", Input: []byte(`{"name":"Anna"}`)}, {ID: "c4", Name: "crm__note", Input: []byte(`"loose"`)},
		{ID: "c5", Name: "tool_search", Input: []byte(`{"query":"mail"}`)},
	}
	for _, store := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			model := &protocoltest.Model{Answer: func(_ *llm.Request, n int) protocoltest.Answer {
				if n == 0 {
					return protocoltest.Answer{Text: "I look.", Calls: calls}
				}
				return protocoltest.Plain("done")
			}}
			r := newRig(t, protocoltest.Options{Model: model}, nil)
			body := fmt.Sprintf(`"model":"ponder/chat","store":%v,%s,`, store, codexTools)
			s := r.Stream(newPost(body+`"stream":true,"input":"Do it."`), 0)
			_, end := checkStream(t, s)
			var items []string
			for _, it := range end["output"].([]any)[1:] {
				it := it.(map[string]any)
				delete(it, "id")
				js, err := json.Marshal(it)
				if err != nil {
					t.Fatal(err)
				}
				items = append(items, string(js))
			}
			want := []string{
				`{"arguments":"{\"command\":[\"ls\"]}","call_id":"c1","name":"shell","status":"completed","type":"function_call"}`,
				`{"call_id":"c2","input":"*** Begin\n+x","name":"apply_patch","status":"completed","type":"custom_tool_call"}`,
				`{"arguments":"{\"name\":\"Anna\"}","call_id":"c3","name":"find","namespace":"crm","status":"completed","type":"function_call"}`,
				`{"call_id":"c4","input":"loose","name":"note","namespace":"crm","status":"completed","type":"custom_tool_call"}`,
				`{"arguments":{"query":"mail"},"call_id":"c5","execution":"client","status":"completed","type":"tool_search_call"}`,
			}
			if strings.Join(items, "\n") != strings.Join(want, "\n") {
				t.Errorf("called\n%s\nwant\n%s", strings.Join(items, "\n"), strings.Join(want, "\n"))
			}
			if !strings.Contains(s.Body, `"type":"response.custom_tool_call_input.done"`) {
				t.Error("no event of the input of a custom tool")
			}
			req := r.Model.Requests()[0]
			if got := toolNames(req); got != "shell apply_patch crm__find crm__note tool_search" {
				t.Errorf("tools %s", got)
			}
			if patch := req.Tools[1]; !strings.Contains(patch.Doc, "start: begin") || !strings.Contains(string(patch.Schema), `"input"`) {
				t.Errorf("custom tool %+v", patch)
			}

			outputs := `{"type":"function_call_output","call_id":"c1","output":"a.txt"},{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"patched"}]},
				{"type":"function_call_output","call_id":"c3","output":"42"},{"type":"custom_tool_call_output","call_id":"c4","output":"noted"},
				{"type":"tool_search_output","call_id":"c5","execution":"client","status":"completed","tools":[{"type":"namespace","name":"mail","description":"Mail.","tools":[{"type":"function","name":"send"}]}]}`
			input := `[{"role":"user","content":"Do it."},` + strings.Join(want, ",") + "," + outputs + `,{"type":"additional_tools","role":"developer","tools":[{"type":"custom","name":"late"}]}]`
			if store {
				input = `[` + outputs + `,{"type":"additional_tools","role":"developer","tools":[{"type":"custom","name":"late"}]}]`
				body += fmt.Sprintf(`"previous_response_id":%q,`, end["id"])
			}
			w := r.Do(newPost(body + `"input":` + input))
			decodeResponse(t, w.Code, w.Body)
			req = r.Model.Requests()[1]
			if got := toolNames(req); got != "shell apply_patch crm__find crm__note tool_search mail__send late" {
				t.Errorf("tools %s", got)
			}
			said, came := req.Messages[1].Calls(), req.Messages[2].Parts
			if len(said) != 5 || len(came) != 5 {
				t.Fatalf("%d calls, %d results: %+v", len(said), len(came), req.Messages)
			}
			for i, c := range said {
				got := customInput(c.Input)
				if res := came[i].Result; c.Name != calls[i].Name || res.Name != c.Name || got != customInput(calls[i].Input) {
					t.Errorf("call %d: %s %s, result %+v", i, c.Name, c.Input, res)
				}
			}
			if text := came[4].Result.Text; !strings.Contains(text, "mail__send") {
				t.Errorf("found %q", text)
			}
		})
	}
}

// Items that Ponder cannot use are refused by name, or have no effect on purpose.
func TestItemForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocoltest.Options{Model: protocoltest.FixedModel("fine")}, nil)
		head := `"model":"ponder/chat","tools":[{"type":"function","name":"shell"}],"input":[{"role":"user","content":"x"},`
		for _, it := range []string{
			`{"type":"mcp_list_tools","id":"l","server_label":"s","tools":[]}`, `{"type":"reasoning","id":"r","summary":[]}`, `{"type":"web_search_call","id":"w","status":"completed"}`,
			`{"type":"mcp_call","id":"m","server_label":"s","name":"f","arguments":"{}","output":"y"}`, `{"type":"acme:item","x":1}`, `{"type":"tool_search_call","call_id":null,"execution":"server","arguments":{}}`,
			`{"type":"tool_search_output","call_id":null,"execution":"server","tools":[{"type":"function","name":"found"}]}`,
			`{"type":"local_shell_call","id":"a","call_id":"a","action":{"type":"exec","command":["ls"]}},{"type":"local_shell_call_output","id":"a","output":"b"}`,
			`{"type":"shell_call","call_id":"s","action":{"commands":["ls"]}},{"type":"shell_call_output","call_id":"s","output":[{"stdout":"b"}]}`,
		} {
			if w := r.Do(newPost(head + it + `]`)); w.Code != http.StatusOK {
				t.Errorf("%s: %d %s", it, w.Code, w.Body)
			}
		}
		asked := len(r.Model.Requests())
		for _, it := range []string{
			`{"type":"computer_call","call_id":"c"}`, `{"type":"mcp_approval_request","id":"a"}`, `{"type":"nonsense"}`, `{"type":"custom_tool_call_output","call_id":"none","output":"x"}`,
			`{"type":"additional_tools","role":"developer","tools":[{"type":"image_generation"}]}`, `{"type":"tool_search_output","call_id":"none","tools":[]}`,
		} {
			w := r.Do(newPost(head + it + `]`))
			var named struct{ Type string }
			if err := json.Unmarshal([]byte(it), &named); err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(w.Body.String(), "_", " ")
			if w.Code != http.StatusBadRequest || !strings.Contains(text, strings.ReplaceAll(named.Type, "_", " ")) && !strings.Contains(text, "image generation") {
				t.Errorf("%s: %d %s", it, w.Code, w.Body)
			}
		}
		for _, tool := range []string{
			`{"type":"computer_use_preview"}`, `{"type":"mcp","server_label":"s"}`, `{"type":"local_shell"}`, `{"type":"image_generation"}`, `{"type":"nonsense"}`, `{"type":"custom"}`, `{"type":"namespace","tools":[]}`,
			`{"type":"namespace","name":"n","tools":7}`, `{"type":"namespace","name":"n","tools":[{"type":"web_search"}]}`,
		} {
			w := r.Do(newPost(`"model":"ponder/chat","input":"x","tools":[` + tool + `]`))
			checkRefusal(t, w.Code, w.Body.String(), http.StatusBadRequest, "tools")
		}
		if n := len(r.Model.Requests()); n != asked {
			t.Errorf("%d refused requests reached the model", n-asked)
		}
	})
}

// Long names are shortened, and return whole.
func TestModelName(t *testing.T) {
	long := strings.Repeat("a", 60)
	one, two := modelName(long, "find"), modelName(long, "list")
	if len(one) > maxToolName || one == two || modelName("", "find") != "find" || modelName("n", "find") != "n__find" {
		t.Errorf("%s, %s", one, two)
	}
}

// A failed response has the code that clients of the Responses API expect.
func TestFailureCodes(t *testing.T) {
	for class, want := range map[llm.Class]struct {
		status     int
		code, kind string
	}{
		llm.RateLimited: {429, "rate_limit_exceeded", "rate_limit_error"}, llm.TooLong: {400, "context_length_exceeded", "invalid_request_error"},
		llm.Payment: {402, "insufficient_quota", "insufficient_quota"}, llm.Auth: {502, "server_error", "server_error"}, llm.Filtered: {400, "content_policy_violation", "invalid_request_error"},
	} {
		synctest.Test(t, func(t *testing.T) {
			model := &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer {
				return protocoltest.Answer{Err: &llm.Error{Class: class, Message: "no"}}
			}}
			r := newRig(t, protocoltest.Options{Model: model}, nil)
			for _, stream := range []string{"", `,"stream":true`} {
				got := r.Stream(newPost(ways[1].body+stream), 0)
				var out struct{ Error failure }
				if err := json.Unmarshal([]byte(got.Body), &out); err != nil || got.Code != want.status || out.Error.Code != want.code || out.Error.Type != want.kind {
					t.Errorf("%s: %d %s", class, got.Code, got.Body)
				}
			}
			_, end := checkStream(t, r.Stream(newPost(ways[1].body+`,"stream":true,"background":true`), 0))
			if e := end["error"].(map[string]any); e["code"] != want.code || e["type"] != want.kind {
				t.Errorf("%s: failed with %v", class, e)
			}
		})
	}
}
