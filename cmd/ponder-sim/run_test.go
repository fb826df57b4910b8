package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ponder/llm/llmtest"
)

type server struct {
	base string
	stop func() int // interrupts it and returns the exit code
}

func startServer(t *testing.T, args ...string) server {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, args, w, t.Output())
		_ = w.Close()
	}()
	out := bufio.NewReader(r)
	line, err := out.ReadString('\n')
	base, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		cancel()
		t.Fatalf("first line is %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // until the command ends
	return server{base: base, stop: func() int {
		cancel()
		return <-code
	}}
}

func postJSON(t *testing.T, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

const hello = `{"model":"sim-fast","messages":[{"role":"user","content":"Hello?"}]}`

func TestRun(t *testing.T) {
	dir := t.TempDir()
	script, log := filepath.Join(dir, "script.jsonl"), filepath.Join(dir, "log.jsonl")
	if err := os.WriteFile(script, []byte(`{"match":"Hello","reply":"hi"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, "--script", script, "--log", log, "--latency", "1ms", "--jitter", "50%")
	if status, body := postJSON(t, s.base+"/v1/chat/completions", hello); status != 200 || !strings.Contains(body, `"content":"hi"`) {
		t.Errorf("%d %s", status, body)
	}
	if code := s.stop(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var r llmtest.Record
	if err := json.Unmarshal(text, &r); err != nil || r.Model != "sim-fast" || !r.Whole || r.Output != 1 {
		t.Errorf("log is %s, %v", text, err)
	}
}

func TestEmbedCollections(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	for name, text := range map[string]string{a: `{"title":"One","text":"a car with wheels"}`, b: `{"text":"the car turns its wheels"}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := startServer(t, "--lsa", a+","+b)
	status, body := postJSON(t, s.base+"/v1/embeddings", `{"model":"sim-lsa","input":"car"}`)
	var got struct {
		Data []struct{ Embedding []float32 }
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || len(got.Data) != 1 || len(got.Data[0].Embedding) > 2 {
		t.Errorf("%d %s, %v", status, body, err)
	}
	if code := s.stop(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
}

func TestInterruptEndsHangingRequests(t *testing.T) {
	s := startServer(t, "--behaviour", "hang")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/v1/chat/completions", strings.NewReader(hello))
		if err != nil {
			t.Error(err)
			return
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			t.Errorf("status %d, want no answer", resp.StatusCode)
		}
	}()
	for fetchStats(t, s.base).Active == 0 {
		time.Sleep(time.Millisecond)
	}
	if code := s.stop(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	<-ended
}

func fetchStats(t *testing.T, base string) (st llmtest.Stats) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/sim/stats", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&st); err != nil {
		t.Fatal(err)
	}
	return st
}

func TestFailRateSpreads(t *testing.T) {
	s, err := parseFlags([]string{"--fail-rate", "6%", "--behaviour", "cut=0", "--seed", "4", "--token-delay", "2ms", "--lognormal"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if b := s.sim.Behaviours; len(b) != 6 || b[llmtest.ServerError] != 0.01 || b[llmtest.Cut] != 0 {
		t.Errorf("behaviours are %v", b)
	}
	if s.sim.Seed != 4 || !s.sim.Token.Lognormal {
		t.Errorf("settings are %+v", s.sim)
	}
}

func TestWrongUsage(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	if err := os.WriteFile(bad, []byte(`{"match":"("}`), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"flag", []string{"--colour"}, exitUsage, "colour"},
		{"argument", []string{"now"}, exitUsage, `"now"`},
		{"share", []string{"--fail-rate", "110%"}, exitUsage, "want a share"},
		{"behaviour", []string{"--behaviour", "sing"}, exitUsage, "see --help for the list"},
		{"behaviour's share", []string{"--behaviour", "hang=often"}, exitUsage, "want a share"},
		{"form", []string{"--retry-form", "loudly"}, exitUsage, "choose one of"},
		{"latency", []string{"--latency", "soon"}, exitUsage, "latency"},
		{"missing script", []string{"--script", bad + "x"}, exitUsage, "open script"},
		{"missing collection", []string{"--lsa", bad + "x"}, exitUsage, "open collection"},
		{"bad collection", []string{"--lsa", bad}, exitUsage, "share no words"},
		{"bad script", []string{"--script", bad}, exitUsage, "line 1"},
		{"address", []string{"--listen", "127.0.0.1:99999"}, exitFailed, "listen"},
		{"log", []string{"--log", filepath.Join(bad, "x")}, exitFailed, "open log"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			code := run(t.Context(), test.args, &stdout, &stderr)
			if code != test.code || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), test.want) || stdout.Len() > 0 {
				t.Errorf("exit code %d, %q, %q", code, stderr.String(), stdout.String())
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var stdout, stderr strings.Builder
	if code := run(t.Context(), []string{"--help"}, &stdout, &stderr); code != exitDone || stderr.Len() > 0 {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
	for _, want := range []string{"Examples:", "--latency time", "--behaviour name[=share]", "overloaded-midway"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the help does not say %q", want)
		}
	}
}
