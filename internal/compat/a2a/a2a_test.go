package a2a

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/app"
	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
)

type rig struct {
	*protocoltest.Rig
	server *Server
	number int
}

func inBubble(t *testing.T, o protocoltest.Options, f func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{}
		o.Routes = func(d *compat.Dispatcher) map[string]http.Handler {
			r.server = New(Config{Desk: d, Records: &memoryRecords{list: make(map[string]app.Record)}})
			return r.server.Routes()
		}
		r.Rig = protocoltest.New(t, o)
		f(t, r)
	})
}

type taskReply struct {
	ID        string
	ContextID string `json:"contextId"`
	Status    struct {
		State   string
		Message *struct {
			Parts    []struct{ Text string }
			Metadata map[string]any
		}
	}
	Artifacts []struct {
		ArtifactID string `json:"artifactId"`
		Parts      []struct{ Text string }
	}
	History  []struct{ Parts []struct{ Text string } }
	Metadata map[string]any
}

func (t taskReply) answer() string {
	if len(t.Artifacts) == 0 {
		return ""
	}
	return t.Artifacts[0].Parts[0].Text
}

type rpcReply struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// call sends a JSON-RPC request.
func (r *rig) call(t *testing.T, token, method, params string) rpcReply {
	t.Helper()
	req := protocoltest.Request(t.Context(), http.MethodPost, Path, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
	req.Header.Set("Authorization", "Bearer "+token)
	got := r.Do(req)
	var out rpcReply
	if err := json.Unmarshal(got.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s: %d %s", method, got.Code, got.Body)
	}
	return out
}

func (r *rig) task(t *testing.T, method, params string) taskReply {
	t.Helper()
	out := r.call(t, protocoltest.Mine, method, params)
	if out.Error != nil {
		t.Fatalf("%s %s: %+v", method, params, out.Error)
	}
	var wrapped struct{ Task *taskReply }
	if json.Unmarshal(out.Result, &wrapped) == nil && wrapped.Task != nil {
		return *wrapped.Task
	}
	var one taskReply
	if err := json.Unmarshal(out.Result, &one); err != nil {
		t.Fatal(err)
	}
	return one
}

// message returns params of SendMessage. more are further members of the message, config those of the request.
func (r *rig) message(text, more, config string) string {
	r.number++
	js, _ := json.Marshal(text)
	return fmt.Sprintf(`{"message":{"messageId":"m%d","role":"ROLE_USER","parts":[{"text":%s}]%s}%s}`, r.number, js, more, config)
}

func TestCard(t *testing.T) {
	inBubble(t, protocoltest.Options{}, func(t *testing.T, r *rig) {
		got := r.Do(protocoltest.Request(t.Context(), http.MethodGet, "/.well-known/agent-card.json", ""))
		var card struct {
			Name, URL           string
			ProtocolVersion     string // of version 0.3, as are URL and PreferredTransport
			PreferredTransport  string
			SupportedInterfaces []struct{ URL, ProtocolBinding, ProtocolVersion string }
			Skills              []struct{ ID string }
			Capabilities        struct{ Streaming, PushNotifications bool }
		}
		if err := json.Unmarshal(got.Body.Bytes(), &card); err != nil || len(card.Skills) != 5 || !card.Capabilities.Streaming || !card.Capabilities.PushNotifications {
			t.Fatalf("%d %s: %v", got.Code, got.Body, err)
		}
		if i := card.SupportedInterfaces; len(i) != 4 || !strings.HasSuffix(i[0].URL, "/a2a") || i[0].ProtocolVersion != "1.0" {
			t.Errorf("%+v", i)
		}
		if card.ProtocolVersion != "0.3" || !strings.HasSuffix(card.URL, "/a2a") || card.PreferredTransport != "JSONRPC" {
			t.Errorf("%+v", card)
		}
		req := protocoltest.Request(t.Context(), http.MethodGet, "/.well-known/agent-card.json", "")
		req.Header.Del("Authorization")
		if got := r.Do(req); got.Code != http.StatusOK {
			t.Errorf("without a token: %d %s", got.Code, got.Body)
		}
	})
}

var textOfPart = regexp.MustCompile(`"text":"([^"]*)"`)

// Clients of version 0.3 have other methods, paths and names.
func TestOldVersion(t *testing.T) {
	inBubble(t, protocoltest.Options{Model: protocoltest.FixedModel("very deep")}, func(t *testing.T, r *rig) {
		const message = `{"message":{"kind":"message","messageId":"ID","role":"user","parts":[{"kind":"text","text":"How deep?"}]}}`
		type oldTask struct {
			Kind, ID, ContextID string
			Status              struct{ State string }
			Artifacts           []struct{ Parts []struct{ Kind, Text string } }
		}
		read := func(js []byte) (out oldTask) {
			t.Helper()
			if err := json.Unmarshal(js, &out); err != nil {
				t.Fatal(err)
			}
			return out
		}
		one := read(r.call(t, protocoltest.Mine, "message/send", strings.Replace(message, "ID", "o1", 1)).Result)
		if one.Kind != "task" || one.Status.State != "completed" || len(one.Artifacts) != 1 || one.Artifacts[0].Parts[0].Text != "very deep" {
			t.Fatalf("%+v", one)
		}
		if got := read(r.call(t, protocoltest.Mine, "tasks/get", `{"id":"`+one.ID+`"}`).Result); got.ID != one.ID || got.Status.State != "completed" {
			t.Errorf("%+v", got)
		}
		if got := r.call(t, protocoltest.Mine, "tasks/get", `{"id":"x"}`); got.Error == nil || got.Error.Code != -32001 {
			t.Errorf("%+v", got)
		}
		if got := r.call(t, protocoltest.Look, "message/send", strings.Replace(message, "ID", "o2", 1)); got.Error == nil {
			t.Errorf("without the scope: %s", got.Result)
		}
		stream := r.Stream(protocoltest.Request(t.Context(), http.MethodPost, Path, `{"jsonrpc":"2.0","id":1,"method":"message/stream","params":`+strings.Replace(message, "ID", "o3", 1)+`}`), 0)
		events := stream.Events()
		var texts []string // of the pieces of the answer
		for _, found := range textOfPart.FindAllStringSubmatch(stream.Body, -1) {
			texts = append(texts, found[1])
		}
		if len(events) < 3 || !strings.Contains(events[0].Data, `"kind":"task"`) || !strings.Contains(events[len(events)-1].Data, `"final":true`) || !strings.Contains(strings.Join(texts, ""), "very deep") {
			t.Errorf("%d %s", stream.Code, stream.Body)
		}
		rest := r.Do(protocoltest.Request(t.Context(), http.MethodGet, restPath+"/v1/tasks/"+one.ID, ""))
		if !strings.Contains(rest.Body.String(), "TASK_STATE_COMPLETED") {
			t.Errorf("%d %s", rest.Code, rest.Body)
		}
	})
}

// TestWays checks a task of each way, and that repeated messages give the same task.
func TestWays(t *testing.T) {
	for _, way := range []string{"think", "deep_think", "research", "session"} {
		t.Run(way, func(t *testing.T) {
			inBubble(t, protocoltest.Options{Tools: protocoltest.Lookups(time.Second)}, func(t *testing.T, r *rig) {
				params := r.message("How deep is the sea, and why?", `,"metadata":{"way":"`+way+`","minutes":1,"max_calls":30}`, "")
				one := r.task(t, "SendMessage", params)
				if one.Status.State != "TASK_STATE_COMPLETED" || one.answer() == "" || one.ContextID == "" || len(one.History) != 1 {
					t.Fatalf("%+v", one)
				}
				if again := r.task(t, "SendMessage", params); again.ID != one.ID {
					t.Errorf("sent again, it is %s, not %s", again.ID, one.ID)
				}
				if got := r.task(t, "GetTask", `{"id":"`+one.ID+`"}`); got.answer() != one.answer() || got.ContextID != one.ContextID {
					t.Errorf("got %+v", got)
				}
				next := r.task(t, "SendMessage", r.message("Are you sure?", `,"contextId":"`+one.ContextID+`"`, ""))
				if next.ContextID != one.ContextID || next.ID == one.ID {
					t.Errorf("in another context: %+v", next)
				}
				out := r.call(t, protocoltest.Mine, "ListTasks", `{"contextId":"`+one.ContextID+`"}`)
				if !strings.Contains(string(out.Result), one.ID) || !strings.Contains(string(out.Result), next.ID) {
					t.Errorf("listed %s", out.Result)
				}
				if budgets := r.Calls().Begun; len(budgets) > 0 && (budgets[0].Budget.Time != time.Minute || budgets[0].Budget.Calls != 30) {
					t.Errorf("budget %+v", budgets[0].Budget)
				}
			})
		})
	}
}

// TestStream checks the events of a streamed task.
func TestStream(t *testing.T) {
	for way, thinks := range map[string]bool{"think": false, "research": true, "session": true} {
		t.Run(way, func(t *testing.T) {
			inBubble(t, protocoltest.Options{Tools: protocoltest.Lookups(time.Second)}, func(t *testing.T, r *rig) {
				req := protocoltest.Request(t.Context(), http.MethodPost, Path, `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":`+r.message("How deep is the sea, and why?", `,"contextId":"my context","metadata":{"way":"`+way+`"}`, "")+`}`)
				got := r.Stream(req, 0)
				text, thoughts, last := "", 0, ""
				var id string
				for i, e := range got.Events() {
					var ev struct {
						Result struct {
							Task         *taskReply
							StatusUpdate *struct {
								Status struct {
									State   string
									Message *struct{ Parts []struct{ Text string } }
								}
							}
							ArtifactUpdate *struct {
								Append, LastChunk bool
								ContextID         string `json:"contextId"`
								Artifact          struct{ Parts []struct{ Text string } }
							}
						}
					}
					if err := json.Unmarshal([]byte(e.Data), &ev); err != nil {
						t.Fatalf("%q: %v", e.Data, err)
					}
					switch {
					case ev.Result.Task != nil:
						if id = ev.Result.Task.ID; i != 0 || ev.Result.Task.ContextID != "my context" {
							t.Errorf("event %d is %+v", i, ev.Result.Task)
						}
					case ev.Result.StatusUpdate != nil:
						last = ev.Result.StatusUpdate.Status.State
						thoughts++
					case ev.Result.ArtifactUpdate != nil:
						if !ev.Result.ArtifactUpdate.Append {
							text = ""
						}
						text += ev.Result.ArtifactUpdate.Artifact.Parts[0].Text
					default:
						t.Errorf("unknown event %s", e.Data)
					}
				}
				if last != "TASK_STATE_COMPLETED" || thinks != (thoughts > 2) {
					t.Errorf("ended %s after %d states: %s", last, thoughts, got.Body)
				}
				if one := r.task(t, "GetTask", `{"id":"`+id+`"}`); one.answer() != text || one.ContextID != "my context" {
					t.Errorf("streamed %q, got %+v", text, one)
				}
			})
		})
	}
}

// TestSteer checks that a running task can be steered, paused, resumed and cancelled.
func TestSteer(t *testing.T) {
	inBubble(t, protocoltest.Options{}, func(t *testing.T, r *rig) {
		now := `,"configuration":{"returnImmediately":true}`
		one := r.task(t, "SendMessage", r.message("/session minutes=10 How deep is the sea?", "", now))
		if one.Status.State != "TASK_STATE_WORKING" {
			t.Fatalf("%+v", one)
		}
		to := `,"taskId":"` + one.ID + `"`
		time.Sleep(10 * time.Second)
		r.task(t, "SendMessage", r.message("Which trench is the deepest?", to, now))
		time.Sleep(5 * time.Second)
		one = r.task(t, "SendMessage", r.message("/pause", to, now))
		if q, _ := one.Metadata["questions"].([]any); one.Status.State != "TASK_STATE_INPUT_REQUIRED" || !slices.Contains(q, any("Which trench is the deepest?")) {
			t.Errorf("%+v", one)
		}
		if one = r.task(t, "SendMessage", r.message("/resume", to, now)); one.Status.State != "TASK_STATE_WORKING" {
			t.Errorf("%+v", one)
		}
		if out := r.call(t, protocoltest.Hers, "CancelTask", `{"id":"`+one.ID+`"}`); out.Error == nil || out.Error.Code != -32001 {
			t.Errorf("by another owner: %+v", out)
		}
		if out := r.call(t, protocoltest.Look, "CancelTask", `{"id":"`+one.ID+`"}`); out.Error == nil {
			t.Errorf("without the scope: %s", out.Result)
		}
		if one = r.task(t, "CancelTask", `{"id":"`+one.ID+`"}`); one.Status.State != "TASK_STATE_CANCELED" {
			t.Errorf("%+v", one)
		}
		for method, params := range map[string]string{"CancelTask": `{"id":"` + one.ID + `"}`, "SendMessage": r.message("And now?", to, "")} {
			if out := r.call(t, protocoltest.Mine, method, params); out.Error == nil {
				t.Errorf("%s after the end: %s", method, out.Result)
			}
		}
	})
}

// TestPlan checks that a plan waits as input-required.
func TestPlan(t *testing.T) {
	for say, want := range map[string]string{"yes": "TASK_STATE_COMPLETED", "No.": "TASK_STATE_CANCELED"} {
		inBubble(t, protocoltest.Options{Tools: protocoltest.Lookups(time.Second)}, func(t *testing.T, r *rig) {
			one := r.task(t, "SendMessage", r.message("How deep is the sea, and why?", `,"metadata":{"way":"research","plan_first":true}`, ""))
			if one.Status.State != "TASK_STATE_INPUT_REQUIRED" || one.Status.Message == nil || !strings.Contains(one.Status.Message.Parts[0].Text, "The plan waits") {
				t.Fatalf("%+v", one)
			}
			if one = r.task(t, "SendMessage", r.message(say, `,"taskId":"`+one.ID+`"`, "")); one.Status.State != want {
				t.Errorf("%s: %+v", say, one)
			}
		})
	}
}

// TestConfirm checks that a call that needs a yes makes the task wait, and that the yes is part of the task.
func TestConfirm(t *testing.T) {
	for i, attack := range protocoltest.Attacks {
		lamp := &protocoltest.Lamp{Says: attack}
		inBubble(t, lamp.Options(protocoltest.Options{}), func(t *testing.T, r *rig) {
			one := r.task(t, "SendMessage", r.message("Switch on the lamp", "", ""))
			if one.Status.State != "TASK_STATE_INPUT_REQUIRED" || !strings.Contains(fmt.Sprint(one.Status.Message.Metadata["approvals"]), "kitchen") {
				t.Fatalf("%+v", one)
			}
			code := protocoltest.CodeIn(one.Status.Message.Parts[0].Text)
			for _, text := range protocoltest.YesWords[:1+i%len(protocoltest.YesWords)] {
				r.task(t, "SendMessage", r.message(text, `,"taskId":"`+one.ID+`"`, ""))
			}
			if runs := lamp.Runs(); len(runs) != 0 || code == "" {
				t.Fatalf("ran %q, asked %+v", runs, one.Status.Message)
			}
			got := r.task(t, "SendMessage", r.message("approve "+code, `,"taskId":"`+one.ID+`"`, ""))
			if got.ID != one.ID || got.Status.State != "TASK_STATE_COMPLETED" || got.answer() != "Done: It is bright." {
				t.Errorf("%+v", got)
			}
			if got = r.task(t, "GetTask", `{"id":"`+one.ID+`"}`); got.answer() != "Done: It is bright." {
				t.Errorf("%+v", got)
			}
			if runs := lamp.Runs(); len(runs) != 1 || runs[0] != protocoltest.LampArgs {
				t.Errorf("ran %q", runs)
			}
		})
	}
}

// TestSubconscious checks that the subconscious answers with a message, and a tick needs its scope.
func TestSubconscious(t *testing.T) {
	inBubble(t, protocoltest.Options{}, func(t *testing.T, r *rig) {
		for _, text := range []string{"/subconscious", "/tick"} {
			out := r.call(t, protocoltest.Mine, "SendMessage", r.message(text, "", ""))
			if !strings.Contains(string(out.Result), `"message"`) || !strings.Contains(string(out.Result), "no entries yet") {
				t.Errorf("%s: %s %+v", text, out.Result, out.Error)
			}
			if out := r.call(t, protocoltest.Look, "SendMessage", r.message(text, "", "")); out.Error == nil {
				t.Errorf("%s without the scope: %s", text, out.Result)
			}
		}
	})
}

// TestMisuse checks that wrong requests get errors.
func TestMisuse(t *testing.T) {
	inBubble(t, protocoltest.Options{}, func(t *testing.T, r *rig) {
		mine := r.task(t, "SendMessage", r.message("How deep is the sea?", "", ""))
		for method, list := range map[string][]string{
			"SendMessage": {
				`{}`, `7`, `{"message":null}`, `{"message":{}}`, `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`,
				`{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}`, `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"url":"http://169.254.169.254/"}]}}`,
				`{"message":{"messageId":"m","role":"ROLE_USER","parts":[null]}}`, `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"AAAA"}]}}`,
				r.message("x", `,"taskId":"nothing"`, ""), r.message("x", `,"metadata":{"way":"guess"}`, ""), r.message("/pause", "", ""),
				r.message("x", `,"contextId":"`+strings.Repeat("x", 300)+`"`, ""), r.message("x", `,"taskId":"`+mine.ID+`","contextId":"other"`, ""),
			},
			"GetTask":     {`{}`, `{"id":"` + strings.Repeat("A", 26) + `"}`, `{"id":"../x"}`, `{"id":7}`},
			"ListTasks":   {`{"pageSize":1000}`, `{"pageToken":"x"}`, `{"pageSize":-1}`},
			"SubscribeTo": {`{}`},
		} {
			for _, params := range list {
				if out := r.call(t, protocoltest.Mine, method, params); out.Error == nil || out.Error.Message == "" {
					t.Errorf("%s %.100s: no error: %s", method, params, out.Result)
				}
			}
		}
		if out := r.call(t, protocoltest.Hers, "GetTask", `{"id":"`+mine.ID+`"}`); out.Error == nil || out.Error.Code != -32001 {
			t.Errorf("by another owner: %+v", out)
		}
		hers := r.call(t, protocoltest.Hers, "SendMessage", r.message("And mine?", `,"contextId":"`+mine.ContextID+`"`, ""))
		if hers.Error != nil || strings.Contains(string(hers.Result), mine.ID) {
			t.Errorf("her context: %s %+v", hers.Result, hers.Error)
		}
		if out := r.call(t, protocoltest.Hers, "ListTasks", `{"contextId":"`+mine.ContextID+`"}`); strings.Contains(string(out.Result), mine.ID) {
			t.Errorf("listed for another owner: %s", out.Result)
		}
		rest := protocoltest.Request(t.Context(), http.MethodGet, restPath+"/tasks/"+mine.ID, "")
		if got := r.Do(rest); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), mine.ID) {
			t.Errorf("over HTTP+JSON: %d %s", got.Code, got.Body)
		}
	})
}

func TestAgent(t *testing.T) {
	for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
		t.Run(method, func(t *testing.T) {
			protocoltest.CheckAgent(t, protocoltest.Agent{Routes: newRoutes, Ask: askBy(method)})
		})
	}
}

func newRoutes(d *compat.Dispatcher) map[string]http.Handler { return New(Config{Desk: d}).Routes() }

// askBy asks by a method, and joins the results of a stream.
func askBy(method string) func(t *testing.T, r *protocoltest.Rig, token, question string) protocoltest.Reply {
	return func(t *testing.T, r *protocoltest.Rig, token, question string) (out protocoltest.Reply) {
		params := (&rig{number: int(time.Now().UnixNano() % 1e6)}).message(question, "", "")
		req := protocoltest.Request(t.Context(), http.MethodPost, Path, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
		req.Header.Set("Authorization", "Bearer "+token)
		got := r.Stream(req, 0)
		list := []string{got.Body}
		if strings.HasPrefix(got.Header.Get("Content-Type"), "text/event-stream") {
			list = nil
			for _, e := range got.Events() {
				list = append(list, e.Data)
			}
		}
		for _, js := range list {
			var reply rpcReply
			if json.Unmarshal([]byte(js), &reply) != nil || reply.Error != nil || got.Code != http.StatusOK {
				out.Error = cmp.Or(js, got.Body)
				continue
			}
			var result struct {
				Task         *taskReply
				StatusUpdate *struct {
					Status struct {
						State   string
						Message *struct{ Parts []struct{ Text string } }
					}
				}
				ArtifactUpdate *struct {
					Artifact struct{ Parts []struct{ Text string } }
					Append   bool
				}
			}
			if err := json.Unmarshal(reply.Result, &result); err != nil {
				t.Fatal(err)
			}
			switch {
			case result.Task != nil:
				out.Text = result.Task.answer()
				if m := result.Task.Status.Message; result.Task.Status.State == "TASK_STATE_FAILED" && m != nil {
					out.Error = m.Parts[0].Text
				}
			case result.ArtifactUpdate != nil:
				if !result.ArtifactUpdate.Append {
					out.Text = ""
				}
				out.Text += result.ArtifactUpdate.Artifact.Parts[0].Text
			case result.StatusUpdate != nil && result.StatusUpdate.Status.State == "TASK_STATE_FAILED" && result.StatusUpdate.Status.Message != nil:
				out.Error = result.StatusUpdate.Status.Message.Parts[0].Text
			}
		}
		return out
	}
}
