package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

// checkRefusal checks an error in OpenAI's form.
func checkRefusal(t *testing.T, code int, body string, want int, param string) {
	t.Helper()
	var e struct {
		Error struct {
			Message, Type string
			Param         *string
		}
	}
	err := json.Unmarshal([]byte(body), &e)
	if err != nil || code != want || e.Error.Message == "" || e.Error.Type == "" || param != "" && (e.Error.Param == nil || *e.Error.Param != param) {
		t.Errorf("%d %s, want %d for %q", code, body, want, param)
	}
}

func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocoltest.Options{}, nil)
		pairs := make([]string, 17)
		for i := range pairs {
			pairs[i] = fmt.Sprintf(`"k%d":"v"`, i)
		}
		for _, c := range []struct{ body, param string }{
			{`"input":"x"`, "model"},
			{`"model":"ponder/chat"`, "input"},
			{`"model":"ponder/chat","input":""`, "input"},
			{`"model":"ponder/chat","input":7`, "input"},
			{`"model":"ponder/chat","input":"x","background":true,"store":false`, "store"},
			{`"model":"ponder/chat","input":"x","metadata":{` + strings.Join(pairs, ",") + `}`, "metadata"},
			{`"model":"ponder/chat","input":"x","metadata":{"k":"` + strings.Repeat("ü", 513) + `"}`, "metadata"},
			{`"model":"ponder/chat","input":"x","metadata":{"` + strings.Repeat("k", 65) + `":"v"}`, "metadata"},
			{`"model":"ponder/chat","input":"x","metadata":{"k":7}`, "metadata"},
			{`"model":"ponder/chat","input":"x","previous_response_id":"resp_nothing"`, "previous_response_id"},
			{`"model":"ponder/chat","input":"x","previous_response_id":"resp_1","conversation":"conv_1"`, "previous_response_id"},
			{`"model":"ponder/chat","input":"x","reasoning":{"effort":"much"}`, "reasoning.effort"},
			{`"model":"ponder/chat","input":[{"type":"function_call_output","call_id":"c","output":"x"}]`, "input"},
		} {
			w := r.Do(newPost(c.body))
			checkRefusal(t, w.Code, w.Body.String(), http.StatusBadRequest, c.param)
		}
		if n := len(r.Threads(protocoltest.Owner)); n != 0 {
			t.Errorf("%d threads were made", n)
		}
		w := r.Do(newPost(`"model":"ponder/chat","input":"x","metadata":{"` + strings.Repeat("k", 64) + `":"` + strings.Repeat("ü", 512) + `"}`))
		decodeResponse(t, w.Code, w.Body)
		for _, path := range []string{"resp_nothing", "resp_" + strings.Repeat("9", 300), "x", "resp_.1"} {
			w := r.Get("/v1/responses/" + path)
			checkRefusal(t, w.Code, w.Body.String(), http.StatusNotFound, "")
		}
		w = r.Get("/v1/responses")
		checkRefusal(t, w.Code, w.Body.String(), http.StatusMethodNotAllowed, "")
	})
}

// Model failures appear in both error forms.
func TestFailed(t *testing.T) {
	for _, w := range ways[:3] { // research completes with partial results
		t.Run(w.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				broken := &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer {
					return protocoltest.Answer{Err: &llm.Error{Class: llm.Auth, Message: "no"}}
				}}
				r := newRig(t, protocoltest.Options{Model: broken}, nil)
				s := r.Stream(newPost(w.body+`,"stream":true,"background":true`), 0)
				list, end := checkStream(t, s)
				if end["status"] != failed || list[len(list)-2].Name != "error" || end["error"].(map[string]any)["code"] != "server_error" {
					t.Errorf("ends with %v, %v", end["status"], end["error"])
				}
				if strings.Contains(s.Body, "sk-canary") {
					t.Errorf("a secret goes out: %s", s.Body)
				}
			})
		})
	}
}

func TestIncomplete(t *testing.T) {
	for finish, want := range map[llm.Finish]string{llm.FinishLength: "max_output_tokens", llm.FinishFilter: "content_filter"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, protocoltest.Options{Model: &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer {
				return protocoltest.Answer{Text: "It is dee", Finish: finish}
			}}}, nil)
			_, end := checkStream(t, r.Stream(newPost(ways[1].body+`,"stream":true`), 0))
			if end["status"] != incompleted || end["incomplete_details"].(map[string]any)["reason"] != want {
				t.Errorf("ends with %v, %v", end["status"], end["incomplete_details"])
			}
		})
	}
}

// startBackground starts a background response.
func startBackground(t *testing.T, r *protocoltest.Rig, body string) string {
	t.Helper()
	w := r.Do(newPost(body + `,"background":true`))
	return decodeResponse(t, w.Code, w.Body)["id"].(string)
}

func stalledModel() *protocoltest.Model {
	return &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer { return protocoltest.Answer{Wait: time.Hour, Text: "late"} }}
}

// The stream of a cancelled response has no end event.
func TestCancel(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, protocoltest.Options{Model: stalledModel()}, nil)
				id := startBackground(t, r, w.body)
				path := "/v1/responses/" + id
				var told protocoltest.Stream
				done := make(chan struct{})
				go func() {
					told = r.Stream(newGet(path+"?stream=true"), 0)
					close(done)
				}()
				time.Sleep(time.Second)
				for range 2 {
					w := r.Post(path+"/cancel", "")
					if res := decodeResponse(t, w.Code, w.Body); res["status"] != cancelled || res["id"] != id {
						t.Errorf("%v", res)
					}
				}
				<-done
				list := told.Events()
				if last := list[len(list)-2].Name; list[len(list)-1].Data != "[DONE]" || last == "response.failed" || last == "response.completed" || last == "error" {
					t.Errorf("ends with %s", last)
				}
				w := r.Get(path)
				if res := decodeResponse(t, w.Code, w.Body); res["status"] != cancelled {
					t.Errorf("polled %v", res["status"])
				}
			})
		})
	}
}

func TestCancelSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ways[0].newRig(t)
		w := r.Do(newPost(ways[0].body))
		w = r.Post("/v1/responses/"+decodeResponse(t, w.Code, w.Body)["id"].(string)+"/cancel", "")
		checkRefusal(t, w.Code, w.Body.String(), http.StatusBadRequest, "")
	})
}

// Removed responses are not found. Without storage, no data remains.
func TestRemove(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := w.newRig(t)
				got := r.Do(newPost(w.body))
				path := "/v1/responses/" + decodeResponse(t, got.Code, got.Body)["id"].(string)
				other := protocoltest.Request(context.Background(), http.MethodDelete, path, "")
				other.Header.Set("Authorization", "Bearer "+protocoltest.Hers)
				got = r.Do(other)
				checkRefusal(t, got.Code, got.Body.String(), http.StatusNotFound, "")
				got = r.Do(protocoltest.Request(context.Background(), http.MethodDelete, path, ""))
				if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"deleted":true`) {
					t.Errorf("%d %s", got.Code, got.Body)
				}
				for _, p := range []string{path, path + "?stream=true", path + "/input_items"} {
					got = r.Get(p)
					checkRefusal(t, got.Code, got.Body.String(), http.StatusNotFound, "")
				}
				got = r.Do(newPost(w.body + `,"store":false`))
				decodeResponse(t, got.Code, got.Body)
				checkStream(t, r.Stream(newPost(w.body+`,"store":false,"stream":true`), 0))
				if list := r.Threads(protocoltest.Owner); len(list) != 0 {
					t.Errorf("%d threads are left: %v", len(list), list)
				}
			})
		})
	}
}

// A repeated request starts no work.
func TestSentAgain(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := w.newRig(t)
				body := w.body + `,"background":true,"stream":true`
				r.Stream(newPost(body), 2) // disconnect early
				checkStream(t, r.Stream(newPost(body), 0))
				again := newPost(body)
				again.Header.Set("X-Stainless-Retry-Count", "1")
				checkStream(t, r.Stream(again, 0))
				if n := len(r.Threads(protocoltest.Owner)); n != 1 {
					t.Errorf("%d threads", n)
				}
				asked := 0
				for _, ev := range r.Events(r.Threads(protocoltest.Owner)[0].ID) {
					switch b := ev.Body.(type) {
					case ponder.UserMessage:
						asked++
					case ponder.RunStarted:
						if b.Mode == "relay" || b.Mode == "session" || b.Mode == "research" {
							asked++
						}
					}
				}
				if asked != 1 {
					t.Errorf("asked %d times", asked)
				}
			})
		})
	}
}

// Each way continues after a response of each way.
func TestPrevious(t *testing.T) {
	for _, first := range ways {
		for _, next := range ways {
			t.Run(first.name+" "+next.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := first.newRig(t)
					w := r.Do(newPost(first.body))
					res := decodeResponse(t, w.Code, w.Body)
					body := next.body
					if first.name == "exchange" && next.name == "exchange" {
						body = `"model":"ponder/chat","input":[{"type":"function_call_output","call_id":"call_1","output":"18 degrees"}]`
					}
					before := len(r.Model.Requests())
					w = r.Do(newPost(body + `,"previous_response_id":"` + res["id"].(string) + `"`))
					if got := decodeResponse(t, w.Code, w.Body); got["previous_response_id"] != res["id"] {
						t.Errorf("%v", got["previous_response_id"])
					}
					said := fmt.Sprintf("%+v", r.Model.Requests()[before])
					if next.name == "session" {
						said = r.Service.Calls().Begun[len(r.Service.Calls().Begun)-1].Context
					}
					if text := textIn(res, "final_answer"); !strings.Contains(said, strings.Fields(text)[0]) {
						t.Errorf("the model was not told %q: %s", text, said)
					}
				})
			})
		}
	}
}

// A successor continues the current conversation, even if it was changed or removed.
func TestPreviousSince(t *testing.T) {
	for name, tt := range map[string]struct {
		input string
		do    func(t *testing.T, r *protocoltest.Rig, id string, thread ponder.ThreadID)
		code  int
		same  bool // conversation
	}{
		"nothing": {`"And?"`, func(*testing.T, *protocoltest.Rig, string, ponder.ThreadID) {}, http.StatusOK, true},
		"a list": {`[{"role":"user","content":"How deep?"},{"role":"user","content":"And how cold?"}]`, func(*testing.T, *protocoltest.Rig, string, ponder.ThreadID) {},
			http.StatusOK, true},
		"forgotten": {`"And?"`, func(t *testing.T, r *protocoltest.Rig, id string, _ ponder.ThreadID) {
			if w := r.Do(protocoltest.Request(t.Context(), http.MethodDelete, "/v1/responses/"+id, "")); w.Code != http.StatusOK {
				t.Fatal(w.Code, w.Body)
			}
		}, http.StatusBadRequest, false},
		"forgotten elsewhere": {`"And?"`, func(t *testing.T, r *protocoltest.Rig, id string, thread ponder.ThreadID) {
			_, err := r.Desk.Store.Append(t.Context(), thread, 0, ponder.Event{
				Cause: "gone-" + id, Internal: true, Body: ponder.Observation{Content: `{"model":"ponder/chat","store":true,"gone":true}`, Sensor: "openai.response"},
			})
			if err != nil {
				t.Fatal(err)
			}
		}, http.StatusBadRequest, false},
		"said": {`"And?"`, func(t *testing.T, r *protocoltest.Rig, _ string, thread ponder.ThreadID) {
			if _, err := r.Desk.Store.Append(t.Context(), thread, 0, ponder.Event{Body: ponder.UserMessage{Content: "Hello?"}}); err != nil {
				t.Fatal(err)
			}
		}, http.StatusOK, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, protocoltest.Options{Model: protocoltest.FixedModel("It is deep.")}, nil)
				w := r.Do(newPost(`"model":"ponder/chat","input":"Hello, sea"`))
				id := decodeResponse(t, w.Code, w.Body)["id"].(string)
				threadOf := func(id string) ponder.ThreadID {
					name, _, _ := strings.Cut(strings.TrimPrefix(id, "resp_"), "-")
					return ponder.ThreadID("thr_" + name)
				}
				synctest.Wait()
				tt.do(t, r, id, threadOf(id))
				w = r.Do(newPost(`"model":"ponder/chat","input":` + tt.input + `,"previous_response_id":"` + id + `"`))
				if w.Code != tt.code {
					t.Fatalf("%d: %s", w.Code, w.Body)
				}
				if tt.code != http.StatusOK {
					return
				}
				next := decodeResponse(t, w.Code, w.Body)["id"].(string)
				if same := threadOf(next) == threadOf(id); same != tt.same {
					t.Errorf("%s, then %s", id, next)
				}
			})
		})
	}
}

// A message during a response belongs to the continued conversation; a fork before it would never answer it.
func TestPreviousOfOtherWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocoltest.Options{Model: &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer {
			return protocoltest.Answer{Text: "It is deep.", Wait: 2 * time.Second}
		}}}, nil)
		go func() {
			time.Sleep(time.Second)
			id := r.Threads(protocoltest.Owner)[0].ID
			if _, err := r.Desk.Store.Append(t.Context(), id, 0, ponder.Event{Body: ponder.UserMessage{Content: "Psst"}}); err != nil {
				t.Error(err)
			}
		}()
		w := r.Do(newPost(`"model":"ponder/chat","input":"Hello, sea"`))
		id := decodeResponse(t, w.Code, w.Body)["id"].(string)
		time.Sleep(time.Minute)
		w = r.Do(newPost(`"model":"ponder/chat","input":"And?","previous_response_id":"` + id + `"`))
		first, _, _ := strings.Cut(id, "-")
		if next := decodeResponse(t, w.Code, w.Body)["id"].(string); !strings.HasPrefix(next, first) {
			t.Errorf("%s, then %s", id, next)
		}
	})
}

// A keyed retry is answered once, even if its predecessor is no longer the last response.
func TestPreviousAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocoltest.Options{Model: protocoltest.FixedModel("It is deep.")}, nil)
		w := r.Do(newPost(`"model":"ponder/chat","input":"Hello, sea"`))
		id := decodeResponse(t, w.Code, w.Body)["id"].(string)
		again := func() string {
			req := newPost(`"model":"ponder/chat","input":"And?","previous_response_id":"` + id + `"`)
			req.Header.Set("Idempotency-Key", "k")
			w := r.Do(req)
			return decodeResponse(t, w.Code, w.Body)["id"].(string)
		}
		if one, two, three := again(), again(), again(); one != two || two != three {
			t.Errorf("behind %s, %s, %s and %s", id, one, two, three)
		}
		said := 0
		for _, th := range r.Threads(protocoltest.Owner) {
			for _, ev := range r.Events(th.ID) {
				if b, ok := ev.Body.(ponder.UserMessage); ok && b.Content == "And?" {
					said++
				}
			}
		}
		if said != 1 {
			t.Errorf("said %d times", said)
		}
	})
}

func TestInputItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ways[0].newRig(t)
		w := r.Do(newPost(`"model":"ponder/chat","input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`))
		path := "/v1/responses/" + decodeResponse(t, w.Code, w.Body)["id"].(string) + "/input_items"
		var seen []string
		for after, rounds := "", 0; rounds < 5; rounds++ {
			var p struct {
				Data []struct {
					ID, Type string
					Content  []struct{ Type, Text string }
				}
				More bool   `json:"has_more"`
				Last string `json:"last_id"`
			}
			w := r.Get(path + "?order=asc&limit=2&after=" + after)
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			for _, it := range p.Data {
				seen = append(seen, it.Content[0].Type+" "+it.Content[0].Text)
			}
			if after = p.Last; !p.More {
				break
			}
		}
		if got := strings.Join(seen, ", "); got != "input_text a, output_text b, input_text c" {
			t.Errorf("listed %s", got)
		}
		for _, q := range []string{"?limit=0", "?limit=x", "?order=up", "?after=nothing"} {
			w := r.Get(path + q)
			checkRefusal(t, w.Code, w.Body.String(), http.StatusBadRequest, "")
		}
	})
}

// A retried model call empties the first message.
func TestTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocoltest.Options{Model: &protocoltest.Model{Answer: func(_ *llm.Request, n int) protocoltest.Answer {
			if n == 0 {
				return protocoltest.Answer{Text: "The sea is quite warm, as all know who", Pause: time.Second, Err: &llm.Error{Class: llm.Transient, Message: "later"}, After: 3}
			}
			return protocoltest.Answer{Text: "It is cold. 🌊", Pause: time.Second}
		}}}, nil)
		_, end := checkStream(t, r.Stream(newPost(ways[0].body+`,"stream":true`), 0))
		if got := textIn(end, ""); end["status"] != completed || got != "It is cold. 🌊" {
			t.Errorf("%v %q", end["status"], got)
		}
	})
}

// Each body gets an answer or an error in OpenAI's form.
func FuzzBody(f *testing.F) {
	for _, w := range ways[:2] {
		f.Add("{"+w.body+"}", "stream=true")
	}
	f.Add(`{"model":"ponder/chat","input":[null,{"type":null,"content":[{"type":"input_text"}]},7],"tools":[{"type":"function"}],"text":{"format":[]}}`, "starting_after=-1")
	f.Add(`{"model":"ponder/chat","input":[{"role":"user","content":null}],"include":[1],"conversation":{"id":7},"metadata":null}`, "limit=&order=%ff")
	f.Fuzz(func(t *testing.T, body, query string) {
		synctest.Test(t, func(t *testing.T) {
			r := ways[0].newRig(t)
			for _, path := range []string{"/v1/responses", "/v1/responses/input_tokens", "/v1/responses/compact", "/v1/conversations"} {
				w := r.Post(path, body)
				if w.Code >= http.StatusInternalServerError {
					t.Errorf("%s: %d %s", path, w.Code, w.Body)
				} else if w.Code != http.StatusOK {
					checkRefusal(t, w.Code, w.Body.String(), w.Code, "")
				}
			}
			req := newGet("/v1/responses/resp_x")
			req.URL.RawQuery = query
			checkRefusal(t, r.Do(req).Code, r.Do(req).Body.String(), http.StatusNotFound, "")
		})
	})
}
