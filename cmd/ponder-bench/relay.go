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

// A relayConfig configures a relay: its model server and its file.
type relayConfig struct {
	Model, Dir string
}

// serveRelay is the minimal server between a program and a model that loses nothing: it stores the
// request durably, calls the model and forwards the output. Its overhead is the ideal on this
// machine: two network hops, one process and one disk write.
func serveRelay(ctx context.Context, in io.Reader, out io.Writer) error {
	return serveHandler(ctx, in, out, func(c relayConfig) (http.Handler, error) {
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
			var said []llm.Message
			if err := json.Unmarshal(text, &said); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			for d, err := range model.Generate(r.Context(), &llm.Request{Messages: said, MaxTokens: 1000}) {
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

// relayFirstToken returns the time to the first token through a relay, and the answer.
func relayFirstToken(ctx context.Context, relay string, said []llm.Message) (first time.Duration, answer llm.Message, err error) {
	began := time.Now()
	body, err := json.Marshal(said)
	if err != nil {
		return 0, answer, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, relay, bytes.NewReader(body))
	if err != nil {
		return 0, answer, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, answer, err
	}
	defer resp.Body.Close()
	var text strings.Builder
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if first == 0 {
				first = time.Since(began)
			}
			var piece string
			if err := json.Unmarshal([]byte(data), &piece); err != nil {
				return 0, answer, err
			}
			text.WriteString(piece)
		}
	}
	if first == 0 {
		err = errors.New("a relay forwarded nothing")
	}
	return first, llm.Say(llm.Assistant, text.String()), errors.Join(err, lines.Err())
}
