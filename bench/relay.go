package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"ponder/llm"
	"ponder/llm/openai"
)

// relaying says what a relay hands on to, and where it writes.
type relaying struct {
	Model, Dir string
}

// handOn is the least that can be between a program and a model and lose nothing: a server
// that makes what it is asked durable, asks the model, and passes on what that writes. What
// it adds to a call is the ideal on a machine: the network twice, another process and the
// disk once.
func handOn(ctx context.Context, in io.Reader, out io.Writer) error {
	return answer(ctx, in, out, func(c relaying) (http.Handler, error) {
		f, err := os.CreateTemp(c.Dir, "relay")
		if err != nil {
			return nil, err
		}
		model := openai.New(openai.Config{Name: "sim", BaseURL: c.Model + "/v1", Key: "any"}).Model("fast")
		var mu sync.Mutex
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(r.Body)
			if err == nil {
				mu.Lock()
				if _, err = f.Write(append(text, make([]byte, 8<<10)...)); err == nil {
					err = f.Sync()
				}
				mu.Unlock()
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			for d, err := range model.Generate(r.Context(), &llm.Request{Messages: []llm.Message{llm.Say(llm.User, string(text))}, MaxTokens: 1000}) {
				if err != nil {
					return
				}
				js, err := json.Marshal(d.Text)
				if err == nil {
					_, err = fmt.Fprintf(w, "data: %s\n\n", js)
				}
				if err != nil || http.NewResponseController(w).Flush() != nil {
					return
				}
			}
		}), nil
	})
}

// firstHanded returns how long the first token takes through a relay, and waits for the
// end of the answer.
func firstHanded(ctx context.Context, relay, text string) (first time.Duration, err error) {
	began := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, relay, bytes.NewReader([]byte(text)))
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if first == 0 && strings.HasPrefix(lines.Text(), "data: ") {
			first = time.Since(began)
		}
	}
	if first == 0 {
		err = errors.New("a relay handed nothing on")
	}
	return first, errors.Join(err, lines.Err())
}
