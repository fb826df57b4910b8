package llmtest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"ponder/llm"
	"ponder/llm/llmtest"
)

func ExampleModel() {
	m := llmtest.Model{Answer: func(r *llm.Request) (llm.Message, error) {
		return llm.Say(llm.Assistant, "You said: "+r.Messages[0].Text()), nil
	}}
	req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "hello")}}
	answer, err := llm.Collect(m.Generate(context.Background(), req))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Message.Text())
	fmt.Println(m.Counts().Calls, "call")
	// Output:
	// You said: hello
	// 1 call
}

func ExampleSim() {
	script, err := llmtest.ReadScript(strings.NewReader(`{"match": "capital of France", "reply": "Paris"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	sim := llmtest.NewSim(llmtest.SimConfig{Seed: 1, Script: script})
	server := httptest.NewServer(sim)
	defer server.Close()
	resp, err := http.Post(server.URL+"/api/generate", "application/json",
		strings.NewReader(`{"model":"any","prompt":"What is the capital of France?","stream":false}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(strings.Contains(string(body), `"response":"Paris"`), err)
	fmt.Println(sim.Stats().Answers, "answer")
	// Output:
	// true <nil>
	// 1 answer
}
