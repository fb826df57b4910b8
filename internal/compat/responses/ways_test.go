package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
	"ponder/internal/racetest"
	"ponder/internal/stream"
	"ponder/llm"
)

type workCase struct {
	name  string
	body  string // without stream
	model func() *protocoltest.Model
	text  string // expected answer; empty: any
}

func searchingModel(text string) func() *protocoltest.Model {
	return func() *protocoltest.Model {
		looked := false
		return &protocoltest.Model{Answer: func(req *llm.Request, _ int) protocoltest.Answer {
			if !looked && len(req.Tools) > 0 {
				looked = true
				return protocoltest.Answer{Reasoning: "I have to look into it first.", Pause: time.Second, Calls: []llm.ToolCall{
					{ID: "c1", Name: "knowledge_search", Input: []byte(`{"query":"sea"}`)}, {ID: "c2", Name: "web_search", Input: []byte(`{"query":"deep sea"}`)},
				}}
			}
			return protocoltest.Answer{Reasoning: "So it is.", Text: text, Pause: time.Second}
		}}
	}
}

// slowModel limits the number of thoughts.
func slowModel() *protocoltest.Model {
	return &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer { return protocoltest.Answer{Wait: 8 * time.Second} }}
}

var ways = []workCase{
	{"chat", `"model":"ponder/chat","input":"How deep is the sea?"`, searchingModel("About 4,000 metres. 🌊 In places it is 11 km deep."), "About 4,000 metres. 🌊 In places it is 11 km deep."},
	{"exchange", `"model":"ponder/chat","input":[{"role":"user","content":"Is it warm?"}],"tools":[{"type":"function","name":"weather","parameters":{"type":"object"}}]`,
		func() *protocoltest.Model {
			return &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer {
				return protocoltest.Answer{Reasoning: "I ask.", Text: "Let me see.", Pause: time.Second, Calls: []llm.ToolCall{{ID: "call_1", Name: "weather", Input: []byte(`{"city":"Kiel"}`)}}}
			}}
		}, "Let me see."},
	{"session", `"model":"ponder/session","reasoning":{"effort":"minimal"},"include":["ponder.events","web_search_call.action.sources","file_search_call.results"],"input":"How deep is the sea?"`,
		slowModel, ""},
	{"research", `"model":"ponder-research","reasoning":{"effort":"minimal"},"include":["web_search_call.action.sources","file_search_call.results"],"input":"How deep is the sea?"`,
		slowModel, ""},
}

func (w workCase) newRig(t *testing.T) *protocoltest.Rig {
	return newRig(t, protocoltest.Options{Model: w.model(), Tools: protocoltest.Lookups(time.Second)}, nil)
}

func newPost(body string) *http.Request {
	return protocoltest.Request(context.Background(), http.MethodPost, "/v1/responses", "{"+body+"}")
}

func newGet(path string) *http.Request {
	return protocoltest.Request(context.Background(), http.MethodGet, path, "")
}

// Strict clients accept each stream, and polling returns its end.
func TestWays(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := w.newRig(t)
				_, end := checkStream(t, r.Stream(newPost(w.body+`,"stream":true,"metadata":{"a":"b"}`), 0))
				if end["status"] != completed || w.text != "" && textIn(end, "final_answer") != w.text || textIn(end, "final_answer") == "" {
					t.Errorf("ends with %v: %q", end["status"], textIn(end, ""))
				}
				got := r.Get("/v1/responses/" + end["id"].(string))
				if polled := decodeResponse(t, got.Code, got.Body); fmt.Sprint(polled) != fmt.Sprint(end) {
					t.Errorf("polled %v,\nwant %v", polled, end)
				}
				if end["metadata"].(map[string]any)["a"] != "b" {
					t.Errorf("metadata %v", end["metadata"])
				}
			})
		})
	}
}

func countKinds(r map[string]any) map[string]int {
	n := make(map[string]int)
	for _, it := range r["output"].([]any) {
		n[it.(map[string]any)["type"].(string)]++
	}
	return n
}

func TestItems(t *testing.T) {
	want := map[string][]string{
		"chat": {"reasoning", "file_search_call", "web_search_call", "message"}, "exchange": {"reasoning", "message", "function_call"},
		"session": {"reasoning", "message", "ponder:question", "web_search_call"}, "research": {"reasoning", "message", "file_search_call", "web_search_call"},
	}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := w.newRig(t)
				body := w.body
				if w.name == "chat" { // conversations hide their searches
					body += `,"store":false`
				}
				w := r.Do(newPost(body))
				res := decodeResponse(t, w.Code, w.Body)
				got := countKinds(res)
				for _, kind := range want[t.Name()[strings.LastIndex(t.Name(), "/")+1:]] {
					if got[kind] == 0 {
						t.Errorf("no %s among %v", kind, got)
					}
				}
				for _, it := range res["output"].([]any) {
					checkItem(t, it.(map[string]any))
				}
			})
		})
	}
}

func checkItem(t *testing.T, it map[string]any) {
	t.Helper()
	switch it["type"] {
	case "function_call":
		if it["call_id"] != "call_1" || it["name"] != "weather" || it["arguments"] != `{"city":"Kiel"}` || it["status"] != completed {
			t.Errorf("%v", it)
		}
	case "reasoning":
		for _, s := range it["summary"].([]any) {
			if s := s.(map[string]any); s["type"] != "summary_text" || s["text"] == "" {
				t.Errorf("%v", it)
			}
		}
	case "web_search_call":
		action := it["action"].(map[string]any)
		sources, asked := action["sources"].([]any)
		if wants := !strings.HasSuffix(t.Name(), "/chat"); action["type"] == "search" && (len(action["queries"].([]any)) != 1 || wants != asked || wants && len(sources) == 0) {
			t.Errorf("%v", it)
		}
	case "message":
		if phase := it["phase"]; phase != "commentary" && phase != "final_answer" {
			t.Errorf("%v", it)
		}
		for _, p := range it["content"].([]any) {
			p := p.(map[string]any)
			text := []rune(p["text"].(string))
			for _, n := range p["annotations"].([]any) {
				n := n.(map[string]any)
				if n["type"] != "url_citation" {
					continue
				}
				start, end := int(n["start_index"].(float64)), int(n["end_index"].(float64))
				if start < 0 || end > len(text) || start >= end || text[start] != '[' || text[end-1] != ']' || n["title"] == "" {
					t.Errorf("%v is not at %q", n, string(text))
				}
			}
		}
	}
}

func joinEvents(list []protocoltest.Event, after int) string {
	js, err := json.Marshal(list[min(len(list), after+1):])
	if err != nil {
		return err.Error()
	}
	return string(js)
}

// A stream resumed at any event equals the first one.
func TestResume(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := w.newRig(t)
				list, end := checkStream(t, r.Stream(newPost(w.body+`,"stream":true,"background":true`), 0))
				id := end["id"].(string)
				for after := 0; after < len(list)+3; after += racetest.Stride(9) {
					got := r.Stream(newGet(fmt.Sprintf("/v1/responses/%s?starting_after=%d", id, after)), 0).Events()
					if n := len(got) - 1; n < 0 || got[n].Data != "[DONE]" || joinEvents(got[:n], -1) != joinEvents(list, after) {
						t.Fatalf("behind %d: other events", after)
					}
				}
				r.Handler = restartServer(r)
				if got, _ := checkStream(t, r.Stream(newGet("/v1/responses/"+id+"?stream=true"), 0)); joinEvents(got, -1) != joinEvents(list, -1) {
					t.Errorf("other events from the beginning")
				}
				req := protocoltest.Request(context.Background(), http.MethodGet, "/v1/responses/"+id+"?starting_after=2", `{"stream":true}`)
				if got := r.Stream(req, 0).Events(); joinEvents(got[:len(got)-1], -1) != joinEvents(list, 2) {
					t.Errorf("other events for a client of Go")
				}
			})
		})
	}
}

func restartServer(r *protocoltest.Rig) http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range New(&compat.Dispatcher{Store: r.Store, Hub: stream.New(r.Store), Service: r.Service, Gone: context.Background()}, nil) {
		mux.Handle(pattern, h)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mux.ServeHTTP(w, req.WithContext(auth.WithCaller(req.Context(), auth.Caller{Owner: protocoltest.Owner, Scopes: auth.Scopes()})))
	})
}

// A client that reconnects at any point misses nothing.
func TestResumeLive(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			events := 0
			synctest.Test(t, func(t *testing.T) {
				r := w.newRig(t)
				list, _ := checkStream(t, r.Stream(newPost(w.body+`,"stream":true,"background":true`), 0))
				events = len(list)
			})
			for at := 1; at <= events; at += 3 * racetest.Stride(3) {
				synctest.Test(t, func(t *testing.T) { resumeAt(t, w, at) })
			}
		})
	}
}

func resumeAt(t *testing.T, w workCase, at int) {
	r := w.newRig(t)
	first := r.Stream(newPost(w.body+`,"stream":true,"background":true`), at).Events()
	if len(first) != at {
		t.Fatalf("%d events, want %d", len(first), at)
	}
	var begun event
	if err := json.Unmarshal([]byte(first[0].Data), &begun); err != nil {
		t.Fatal(err)
	}
	path := "/v1/responses/" + begun.Response.ID
	rest := r.Stream(newGet(fmt.Sprintf("%s?stream=true&starting_after=%d", path, at-1)), 0).Events()
	whole, _ := checkStream(t, r.Stream(newGet(path+"?stream=true"), 0))
	if got := slices.Concat(first, rest[:len(rest)-1]); joinEvents(got, -1) != joinEvents(whole, -1) {
		t.Errorf("cut off behind %d: other events", at)
		for i := range min(len(got), len(whole)) {
			if got[i] != whole[i] {
				t.Fatalf("event %d: %v,\nwant %v", i, got[i], whole[i])
			}
		}
	}
}
