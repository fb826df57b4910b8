package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"ponder"
	"ponder/client"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(answerExample)) // in practice: ponder serve
	defer server.Close()

	ctx := context.Background()
	c := client.New(server.URL, "the token, if the server has one")
	s, err := c.Start(ctx, client.Question{Question: "Why do large projects run late?", Minutes: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	for u, err := range c.Watch(ctx, s.ID, 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if u.Event == nil {
			continue
		}
		switch b := u.Event.Body.(type) {
		case ponder.Thought:
			fmt.Println("-", b.Content)
		case ponder.RunFinished:
			fmt.Println("=", b.Answer)
		}
	}
	// Output:
	// - Nobody plans for rework.
	// = They forget the rework.
}

// answerExample plays a server with a finished session.
func answerExample(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		fmt.Fprint(w, `{"success":true,"session":{"id":"thr_1","status":"thinking"}}`)
	case r.Header.Get("Last-Event-ID") == "3":
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `: stream-open

id: 2
data: {"event_id":"evt_2","thread_id":"thr_1","seq":2,"ts":"2026-11-22T08:00:00Z","run_id":"run_1","type":"thought","content":"Nobody plans for rework."}

id: 3
data: {"event_id":"evt_3","thread_id":"thr_1","seq":3,"ts":"2026-11-22T08:00:01Z","run_id":"run_1","type":"run_finished","content":"They forget the rework.","data":{"status":"completed"}}

`)
	}
}
