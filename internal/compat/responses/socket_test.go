package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

type socketClient struct {
	t    *testing.T
	conn *websocket.Conn
}

// dialSocket uses real time, because real connections do.
func dialSocket(t *testing.T, r *protocoltest.Rig) *socketClient {
	t.Helper()
	ctx := t.Context()
	s := r.Server()
	conn, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(s.URL, "http")+"/v1/responses", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + protocoltest.Mine}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Body != nil {
		res.Body.Close()
	}
	conn.SetReadLimit(maxMessage)
	t.Cleanup(func() { conn.CloseNow() })
	return &socketClient{t, conn}
}

func (c *socketClient) sendText(format string, args ...any) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, fmt.Appendf(nil, format, args...)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *socketClient) nextMessage() (map[string]any, []byte) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	_, js, err := c.conn.Read(ctx)
	var e map[string]any
	if err == nil {
		err = json.Unmarshal(js, &e)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return e, js
}

// readResponse validates a response. Other events go to each.
func (c *socketClient) readResponse(each func(e map[string]any)) map[string]any {
	c.t.Helper()
	var check streamChecker
	for !check.hasEnded() {
		e, js := c.nextMessage()
		kind, _ := e["type"].(string)
		if strings.HasPrefix(kind, "response.steer") || e["status"] != nil {
			each(e)
			continue
		}
		if err := check.checkEvent(kind, js); err != nil {
			c.t.Fatalf("%v: %s", err, js)
		}
		each(e)
	}
	return check.response
}

func ignore(map[string]any) {}

func TestSocket(t *testing.T) {
	r := newRig(t, protocoltest.Options{Model: &protocoltest.Model{Answer: func(req *llm.Request, _ int) protocoltest.Answer {
		return protocoltest.Plain(fmt.Sprintf("%d messages.", len(req.Messages)))
	}}}, nil)
	c := dialSocket(t, r)
	c.sendText(`{"type":"response.create","model":"ponder/chat","store":false,"input":"one"}`)
	c.sendText(`{"type":"response.create","model":"ponder/chat","store":false,"input":"another"}`)
	first := c.readResponse(ignore)
	if other := c.readResponse(ignore); other["id"] == first["id"] || textIn(first, "") != "1 messages." {
		t.Errorf("%v %v", first["id"], textIn(first, ""))
	}
	c.sendText(`{"type":"response.create","model":"ponder/chat","store":false,"input":"two","previous_response_id":"%s"}`, first["id"])
	if next := c.readResponse(ignore); next["previous_response_id"] != first["id"] || textIn(next, "") != "3 messages." {
		t.Errorf("%v %q", next["previous_response_id"], textIn(next, ""))
	}
	for began := time.Now(); len(r.Threads(protocoltest.Owner)) > 0; time.Sleep(time.Millisecond) { // removed after the last event
		if time.Since(began) > time.Minute {
			t.Fatalf("%d threads are left", len(r.Threads(protocoltest.Owner)))
		}
	}
	for body, want := range map[string]string{
		`{"type":"response.create","model":"ponder/chat","input":"x","previous_response_id":"resp_x"}`: "previous_response_not_found",
		`{"type":"response.create","model":"ponder/chat","input":7}`:                                   "",
		`{"type":"other"}`: "", `[`: "invalid_json",
	} {
		c.sendText("%s", body)
		e, _ := c.nextMessage()
		failure, _ := e["error"].(map[string]any)
		if e["type"] != "error" || e["status"] != float64(http.StatusBadRequest) || want != "" && failure["code"] != want {
			t.Errorf("%s: %v", body, e)
		}
	}
}

func TestSteerRefused(t *testing.T) {
	r := newRig(t, protocoltest.Options{Model: protocoltest.FixedModel("deep")}, nil)
	c := dialSocket(t, r)
	c.sendText(`{"type":"response.create","model":"ponder/chat","input":"one"}`)
	id := c.readResponse(ignore)["id"]
	for input, want := range map[string]string{`"x"`: "response_", `[{"role":"system","content":"x"}]`: "invalid_input", `""`: "invalid_input"} {
		c.sendText(`{"type":"response.steer","previous_response_id":"%s","input":%s}`, id, input)
		e, _ := c.nextMessage()
		if code := e["error"].(map[string]any)["code"].(string); e["type"] != "response.steer.failed" || !strings.HasPrefix(code, want) || e["steer"].(map[string]any)["input"] == nil {
			t.Errorf("%v", e)
		}
	}
}

// A steer during a turn ends the answer and begins another.
func TestSteerChat(t *testing.T) {
	for _, body := range []string{`"model":"ponder/chat","input":"Tell me of the sea."`, `"model":"ponder/chat","store":false,"input":"Tell me of the sea."`} {
		r := newRig(t, protocoltest.Options{Model: &protocoltest.Model{Answer: func(req *llm.Request, _ int) protocoltest.Answer {
			if said := fmt.Sprintf("%+v", req.Messages); strings.Contains(said, "Shorter") {
				return protocoltest.Plain("Deep.")
			}
			return protocoltest.Answer{Text: strings.Repeat("The sea is deep, and cold. ", 500), Pause: 20 * time.Millisecond}
		}}}, nil)
		c := dialSocket(t, r)
		c.sendText(`{"type":"response.create",%s}`, body)
		steeredTo, accepted := "", false
		first := c.readResponse(func(e map[string]any) {
			if e["type"] == "response.output_text.delta" && steeredTo == "" {
				steeredTo = "sent"
				c.sendText(`{"type":"response.steer","previous_response_id":"%s","input":"Shorter, please."}`, idOf(t, e))
			}
			accepted = accepted || e["type"] == "response.steer.accepted"
		})
		if first["status"] != incompleted || first["incomplete_details"].(map[string]any)["reason"] != "steered" || !accepted {
			t.Fatalf("%v %v", first["status"], first["incomplete_details"])
		}
		next := c.readResponse(ignore)
		if next["previous_response_id"] != first["id"] || next["status"] != completed || textIn(next, "") != "Deep." {
			t.Errorf("%v %v %q", next["previous_response_id"], next["status"], textIn(next, ""))
		}
	}
}

func idOf(t *testing.T, e map[string]any) string {
	t.Helper()
	rest, ok := strings.CutPrefix(e["item_id"].(string), "msg_")
	if !ok {
		rest = strings.TrimPrefix(e["item_id"].(string), "rs_")
	}
	return prefix + rest[:strings.LastIndex(rest, "_")]
}

// A steered session continues as a second response. Both can be streamed and polled.
func TestSteerSession(t *testing.T) {
	slowly := &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer { return protocoltest.Answer{Wait: 20 * time.Millisecond} }}
	r := newRig(t, protocoltest.Options{Model: slowly}, nil)
	c := dialSocket(t, r)
	c.sendText(`{"type":"response.create",%s}`, ways[2].body)
	sent := false
	first := c.readResponse(func(e map[string]any) {
		if e["type"] == "response.reasoning_summary_text.done" && !sent {
			sent = true
			c.sendText(`{"type":"response.steer","previous_response_id":"%s","input":"And how cold is it?"}`, idOf(t, e))
		}
	})
	if first["status"] != incompleted || first["incomplete_details"].(map[string]any)["reason"] != "steered" {
		t.Fatalf("%v %v", first["status"], first["incomplete_details"])
	}
	begun, _ := c.nextMessage()
	res := begun["response"].(map[string]any)
	if begun["type"] != "response.created" || res["previous_response_id"] != first["id"] {
		t.Fatalf("%v", begun)
	}
	w := r.Post("/v1/responses/"+res["id"].(string)+"/cancel", "")
	checkRefusal(t, w.Code, w.Body.String(), http.StatusBadRequest, "")
	w = r.Get("/v1/responses/" + first["id"].(string))
	if polled := decodeResponse(t, w.Code, w.Body); fmt.Sprint(polled) != fmt.Sprint(first) {
		t.Errorf("polled %v,\nwant %v", polled, first)
	}
	checkStream(t, r.Stream(newGet("/v1/responses/"+first["id"].(string)+"?stream=true"), 0))
	w = r.Get("/v1/responses/" + res["id"].(string) + "/input_items")
	if !strings.Contains(w.Body.String(), "And how cold is it?") {
		t.Errorf("%s", w.Body)
	}
	w = r.Do(protocoltest.Request(t.Context(), http.MethodDelete, "/v1/responses/"+res["id"].(string), ""))
	if w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
