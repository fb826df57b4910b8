package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

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

// Before Ponder runs a tool that acts, it asks. A program that shows its user the question sends the answer.
func ExampleClient_Decide() {
	server := httptest.NewServer(http.HandlerFunc(answerQuestion)) // in practice: ponder serve
	defer server.Close()

	ctx := context.Background()
	c := client.New(server.URL, "the token, if the server has one")
	turn, err := c.Say(ctx, "thr_1", client.Message{Content: "Switch on the lamp in the kitchen."}, time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, q := range turn.Approvals { // later: c.Approvals(ctx, "thr_1")
		fmt.Printf("May I run %s with %s?\n", q.Tool, q.Args)
		yes := true // of the user, never of a model
		answered, err := c.Decide(ctx, q, yes, time.Minute)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(answered.Answer)
	}
	// Output:
	// May I run lamp with {"room":"kitchen"}?
	// It is bright.
}

// answerQuestion plays a server whose model wants to switch on a lamp.
func answerQuestion(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/threads/thr_1/messages" {
		fmt.Fprint(w, `{"turn":{"status":"answered","answer":"Shall I?","approvals":[{"approval_id":"evt_1","thread_id":"thr_1","tool":"lamp","args":{"room":"kitchen"}}]}}`)
		return
	}
	fmt.Fprint(w, `{"turn":{"status":"answered","answer":"It is bright."}}`)
}
