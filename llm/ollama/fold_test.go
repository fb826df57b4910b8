package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
	"ponder/llm/internal/wire"
	"ponder/llm/llmtest"
)

var update = flag.Bool("update", false, "write the golden files")

func helloRequest() *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "hello")}}
}

type outcome struct {
	Response *llm.Response `json:"response,omitempty"`
	Error    *failure      `json:"error,omitempty"`
}

type failure struct {
	Class llm.Class `json:"class"`
	Text  string    `json:"text"`
	Usage llm.Usage `json:"usage"`
}

func newOutcome(resp *llm.Response, err error) (o outcome) {
	var e *llm.Error
	if errors.As(err, &e) {
		o.Error = &failure{e.Class, e.Error(), e.Usage}
	}
	if o.Response = resp; resp != nil {
		for _, p := range resp.Message.Parts {
			if p.Call != nil && len(p.Call.ID) > len("call_x") {
				p.Call.ID = "made up"
			}
		}
	}
	return o
}

// The streams follow the API's documentation.
func TestStreams(t *testing.T) {
	files, err := filepath.Glob("testdata/*.*json")
	if err != nil || len(files) == 0 {
		t.Fatal("no streams: ", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".golden.json") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			kind := "application/x-ndjson"
			if filepath.Ext(file) == ".json" {
				kind = "application/json; charset=utf-8"
			}
			for seed := range uint64(5) {
				checkGolden(t, file+".golden.json", newOutcome(readAnswer(t, kind, body, seed)))
			}
		})
	}
}

func checkGolden(t *testing.T, file string, got outcome) {
	t.Helper()
	text, err := json.MarshalIndent(got, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

// Only a stream with reasoning has a model that reasons.
func readAnswer(t *testing.T, kind string, body []byte, seed uint64) (*llm.Response, error) {
	t.Helper()
	show := `{"capabilities":["completion"]}`
	if bytes.Contains(body, []byte(`"thinking"`)) {
		show = `{"capabilities":["completion","thinking"]}`
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/show" {
			_, _ = io.WriteString(w, show) // the test notices a lost client
			return
		}
		w.Header().Set("Content-Type", kind)
		if err := llmtest.WriteInPieces(w, body, seed); err != nil {
			t.Log(err)
		}
	}))
	defer server.Close()
	return llmtest.Generate(t, New(Config{BaseURL: server.URL}).Model("llama3.2"), helloRequest())
}

func foldBody(f *fold, body []byte) (resp *llm.Response, err error) {
	answer := &http.Response{Body: io.NopCloser(bytes.NewReader(body))}
	ask := wire.RequestInfo{Model: f.full, Size: f.size}
	ask.Stream(answer, wire.Lines(answer.Body), f, func(d llm.Delta, e error) bool {
		resp, err = d.Done, e
		return true
	})
	return resp, err
}

// No prefix is an answer.
func TestCuts(t *testing.T) {
	for _, file := range []string{"testdata/thinking.ndjson", "testdata/tools.ndjson"} {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.TrimSpace(body)
		for n := range body {
			_, err := foldBody(&fold{full: "ollama/x"}, body[:n])
			if c := llm.ClassOf(err); err == nil || c != llm.Truncated {
				t.Fatalf("%s cut at %d: %v", file, n, err)
			}
		}
	}
}

func FuzzFold(f *testing.F) {
	files, err := filepath.Glob("testdata/*.ndjson")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		fold := &fold{full: "ollama/x", size: 10}
		resp, err := foldBody(fold, body)
		if (resp == nil) == (err == nil) {
			t.Fatalf("answer %v and error %v", resp, err)
		}
		if resp == nil {
			return
		}
		if u := resp.Usage; u.Input < 0 || u.Output < 0 {
			t.Fatalf("usage %+v", u)
		}
		again, err := toMessages(resp.Message, true)
		if err != nil {
			t.Fatalf("the answer cannot go back: %v", err)
		}
		if _, err := wire.Body(again); err != nil {
			t.Fatalf("the answer cannot be written: %v", err)
		}
	})
}

func FuzzFacts(f *testing.F) {
	f.Add([]byte(`{"capabilities":["thinking"],"thinking":{"values":[false,"low"]},"parameters":"num_ctx 4096","model_info":{"a.context_length":1e9}}`), "high")
	f.Fuzz(func(t *testing.T, data []byte, effort string) {
		facts, err := readFacts(data)
		if err != nil {
			return
		}
		if room := facts.contextSize(helloRequest()); room <= 0 {
			t.Fatalf("a context of %d", room)
		}
		switch v := facts.thinkValue(effort).(type) {
		case nil, bool, string:
		default:
			t.Fatalf("think %v", v)
		}
	})
}

// A character in two lines is whole, in escapes and in bytes.
func TestSplitCharacters(t *testing.T) {
	for _, pieces := range [][]string{{`\ud83d`, `\udcad ok`}, {"\xf0\x9f", "\x92\xad ok"}, {"\xf0", "\x9f", "\x92", "\xad ok"}} {
		var body string
		for _, p := range pieces {
			body += `{"model":"m","message":{"role":"assistant","content":"` + p + `"},"done":false}` + "\n"
		}
		body += `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}` + "\n"
		resp, err := readAnswer(t, "application/x-ndjson", []byte(body), uint64(len(pieces)))
		if err != nil || resp.Message.Text() != "💭 ok" {
			t.Errorf("%q: %v, %v", pieces, resp, err)
		}
	}
}
