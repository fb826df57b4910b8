// Package clients tests a server with OpenAI's Go client, in a separate module so that Ponder does
// not depend on it.
package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

var checks int

func TestMain(m *testing.M) {
	code := m.Run()
	fmt.Printf("checks: %d\n", checks)
	os.Exit(code)
}

func check[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	checks++
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func client(t *testing.T, more ...option.RequestOption) openai.Client {
	t.Helper()
	at := os.Getenv("PONDER_URL")
	if at == "" {
		t.Skip("set PONDER_URL to the address of a server")
	}
	return openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(at + "/v1"), option.WithAPIKey(os.Getenv("PONDER_TOKEN")), option.WithMaxRetries(0),
	}, more...)...)
}

const (
	question = "What is the capital of France?"
	answer   = "The capital of France is Paris."
)

func ask(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "ponder/chat", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
}

func TestModels(t *testing.T) {
	c := client(t)
	list := c.Models.ListAutoPaging(context.Background())
	found := false
	for list.Next() {
		found = found || list.Current().ID == "ponder/research"
	}
	check(t, "an error", list.Err(), nil)
	check(t, "research is a model", found, true)
}

func TestAnswer(t *testing.T) {
	c := client(t)
	out, err := c.Chat.Completions.New(context.Background(), ask(question))
	if err != nil {
		t.Fatal(err)
	}
	check(t, "text", out.Choices[0].Message.Content, answer)
	check(t, "finish", out.Choices[0].FinishReason, "stop")
	check(t, "tokens", out.Usage.TotalTokens > 0, true)
}

func TestStream(t *testing.T) {
	c := client(t)
	stream := c.Chat.Completions.NewStreaming(context.Background(), ask(question))
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		check(t, "a chunk fits", all.AddChunk(stream.Current()), true)
	}
	if stream.Err() != nil {
		t.Fatal(stream.Err())
	}
	check(t, "text", all.Choices[0].Message.Content, answer)
	check(t, "finish", all.Choices[0].FinishReason, "stop")
}

func TestTools(t *testing.T) {
	c := client(t)
	in := ask("What is the weather in Paris and Rome?")
	in.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
		Name: "weather", Parameters: openai.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}},
	})}
	first, err := c.Chat.Completions.New(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	calls := first.Choices[0].Message.ToolCalls
	check(t, "finish", first.Choices[0].FinishReason, "tool_calls")
	check(t, "calls", len(calls), 2)
	in.Messages = append(in.Messages, first.Choices[0].Message.ToParam())
	for _, call := range calls {
		var args struct{ City string }
		check(t, "an error", json.Unmarshal([]byte(call.Function.Arguments), &args), nil)
		degrees := map[string]string{"Paris": "it is 18 degrees", "Rome": "it is 24 degrees"}[args.City]
		in.Messages = append(in.Messages, openai.ToolMessage(degrees, call.ID))
	}
	second, err := c.Chat.Completions.New(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "text", second.Choices[0].Message.Content, "Paris has 18 degrees, Rome has 24.")
}

func TestErrors(t *testing.T) {
	c := client(t)
	in := ask(question)
	in.Model = "nonsense"
	_, err := c.Chat.Completions.New(context.Background(), in)
	var told *openai.Error
	check(t, "it is an error of the API", errors.As(err, &told), true)
	check(t, "status", told.StatusCode, http.StatusNotFound)
	check(t, "code", told.Code, "model_not_found")
	c = client(t, option.WithAPIKey("wrong"))
	_, err = c.Chat.Completions.New(context.Background(), ask(question))
	check(t, "it is an error of the API", errors.As(err, &told), true)
	check(t, "status", told.StatusCode, http.StatusUnauthorized)
	check(t, "it says why", strings.Contains(told.Message, "token"), true)
}

func TestEmbeddings(t *testing.T) {
	c := client(t)
	out, err := c.Embeddings.New(context.Background(), openai.EmbeddingNewParams{
		Model: "ponder/embed", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"salt", "sea"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "vectors", len(out.Data), 2)
	check(t, "numbers", len(out.Data[0].Embedding) > 1, true)
}
