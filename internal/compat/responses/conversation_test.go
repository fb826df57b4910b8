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

	"ponder/internal/compat/protocoltest"
)

func listItems(t *testing.T, r *protocoltest.Rig, path string) (all string, ids []string) {
	t.Helper()
	var p struct {
		Data []map[string]any `json:"data"`
	}
	w := r.Get(path + "/items?order=asc&limit=100")
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var words []string
	for _, it := range p.Data {
		ids = append(ids, fmt.Sprint(it["id"]))
		text := fmt.Sprint(it["type"])
		if list, ok := it["content"].([]any); ok && len(list) > 0 {
			text = fmt.Sprint(it["role"], ": ", list[0].(map[string]any)["text"])
		}
		words = append(words, text)
	}
	return strings.Join(words, "\n"), ids
}

func newConversation(t *testing.T, r *protocoltest.Rig, body string) (id, path string) {
	t.Helper()
	var c conversation
	w := r.Post("/v1/conversations", body)
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || w.Code != http.StatusOK || c.Object != "conversation" || c.Metadata == nil {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return c.ID, "/v1/conversations/" + c.ID
}

func TestConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocoltest.Options{Model: protocoltest.FixedModel("It is deep.")}, nil)
		id, path := newConversation(t, r, `{"metadata":{"a":"b"},"items":[{"role":"user","content":"My name is Anna Canary."}]}`)
		w := r.Do(newPost(`"model":"ponder/chat","input":"How deep is the sea?","conversation":"` + id + `"`))
		if res := decodeResponse(t, w.Code, w.Body); res["conversation"].(map[string]any)["id"] != id {
			t.Errorf("%v", res["conversation"])
		}
		said := ""
		for _, req := range r.Model.Requests() {
			said += fmt.Sprintf("%+v", req)
		}
		if !strings.Contains(said, "Anna Canary") {
			t.Errorf("the request to the model lacks the added items: %s", said)
		}
		w = r.Do(newPost(ways[1].body + `,"conversation":{"id":"` + id + `"}`))
		decodeResponse(t, w.Code, w.Body)
		w = r.Do(newPost(ways[3].body + `,"conversation":"` + id + `"`))
		decodeResponse(t, w.Code, w.Body)
		all, ids := listItems(t, r, path)
		for _, want := range []string{"user: My name is Anna Canary.\nuser: How deep is the sea?\nassistant: It is deep.\nuser: Is it warm?\nassistant: It is deep.\nuser: How deep is the sea?\n"} {
			if !strings.HasPrefix(all, want) {
				t.Errorf("listed %s", all)
			}
		}
		for i, item := range ids[:3] {
			w := r.Get(path + "/items/" + item)
			if !strings.Contains(w.Body.String(), item) || w.Code != http.StatusOK {
				t.Errorf("item %d: %d %s", i, w.Code, w.Body)
			}
			if w = r.Do(protocoltest.Request(context.Background(), http.MethodDelete, path+"/items/"+item, "")); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"conversation"`) {
				t.Errorf("item %d: %d %s", i, w.Code, w.Body)
			}
			w = r.Get(path + "/items/" + item)
			checkRefusal(t, w.Code, w.Body.String(), http.StatusNotFound, "")
		}
		if all, _ := listItems(t, r, path); strings.Contains(all, "Anna") || strings.Contains(all, "How deep is the sea?\nassistant: It is deep.\nuser: Is") {
			t.Errorf("listed %s", all)
		}
		if w = r.Post(path, `{"metadata":{"c":"d"}}`); !strings.Contains(w.Body.String(), `"metadata":{"c":"d"}`) {
			t.Errorf("%s", w.Body)
		}
		other := protocoltest.Request(context.Background(), http.MethodGet, path, "")
		other.Header.Set("Authorization", "Bearer "+protocoltest.Hers)
		w = r.Do(other)
		checkRefusal(t, w.Code, w.Body.String(), http.StatusNotFound, "")
		if w = r.Do(protocoltest.Request(context.Background(), http.MethodDelete, path, "")); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"conversation.deleted"`) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if n := len(r.Threads(protocoltest.Owner)); n != 0 {
			t.Errorf("%d threads are left", n)
		}
	})
}

// Conversations of the native API have items.
func TestNativeConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocoltest.Options{Model: protocoltest.FixedModel("It is deep.")}, nil)
		w := r.Do(newPost(ways[0].body))
		decodeResponse(t, w.Code, w.Body)
		time.Sleep(time.Minute)
		id := strings.Replace(string(r.Threads(protocoltest.Owner)[0].ID), "thr_", conversationPrefix, 1)
		if all, _ := listItems(t, r, "/v1/conversations/"+id); all != "user: How deep is the sea?\nassistant: It is deep." {
			t.Errorf("listed %s", all)
		}
	})
}

func TestCompact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocoltest.Options{Model: protocoltest.FixedModel("Anna asked of the Canary sea.")}, nil)
		w := r.Post("/v1/responses/compact", `{"input":"x"}`)
		checkRefusal(t, w.Code, w.Body.String(), http.StatusBadRequest, "model")
		w = r.Post("/v1/responses/compact", `{"model":"ponder/session","input":[{"role":"user","content":"How deep?"},{"role":"assistant","content":"Deep."}]}`)
		var c struct {
			Object string
			Output []struct {
				Type    string
				Content []struct{ Text string }
				Sealed  string `json:"encrypted_content"`
			}
			Usage usage
		}
		if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || c.Object != "response.compaction" || len(c.Output) != 2 || c.Output[0].Content[0].Text != "How deep?" || c.Output[1].Type != "compaction" || c.Usage.Total == 0 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if n := len(r.Threads(protocoltest.Owner)); n != 0 {
			t.Errorf("%d threads are left", n)
		}
		w = r.Do(newPost(`"model":"ponder/chat","store":false,"input":[{"type":"compaction","encrypted_content":"` + c.Output[1].Sealed + `"},{"role":"user","content":"And now?"}]`))
		decodeResponse(t, w.Code, w.Body)
		asked := r.Model.Requests()
		if said := fmt.Sprintf("%+v", asked[len(asked)-1]); !strings.Contains(said, "Canary sea") {
			t.Errorf("the model was not told the summary: %s", said)
		}
		w = r.Do(newPost(`"model":"ponder/chat","input":[{"type":"compaction","encrypted_content":"x"}]`))
		checkRefusal(t, w.Code, w.Body.String(), http.StatusBadRequest, "input")
		short, long := r.Post("/v1/responses/input_tokens", `{"input":"hi"}`), r.Post("/v1/responses/input_tokens", `{"input":"`+strings.Repeat("hi ", 500)+`"}`)
		if !strings.Contains(short.Body.String(), `"object":"response.input_tokens"`) || len(long.Body.String()) <= len(short.Body.String()) {
			t.Errorf("%s %s", short.Body, long.Body)
		}
	})
}
