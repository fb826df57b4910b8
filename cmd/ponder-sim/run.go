package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"ponder/internal/fileio"
	"ponder/knowledge/web/search/searchtest"
	"ponder/llm/llmtest"
)

// Exit codes, as in ponder.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

const (
	grace      = 2 * time.Second // for open responses after an interrupt
	headerTime = 10 * time.Second
)

// run serves until ctx ends and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parseFlags(args, stdout)
	if errors.Is(err, errHelp) {
		return exitDone
	}
	if err != nil {
		fmt.Fprintf(stderr, "ponder-sim: %v\n", err)
		return exitUsage
	}
	if err := serveSim(ctx, s, stdout); err != nil {
		fmt.Fprintf(stderr, "ponder-sim: %v\n", err)
		return exitFailed
	}
	return exitDone
}

func serveSim(ctx context.Context, s settings, stdout io.Writer) (err error) {
	records, err := openLog(s.log, stdout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.close()) }()
	if s.log != "" {
		s.sim.Record = records.writeRecord
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	sim := llmtest.NewSim(s.sim)
	server := &http.Server{Handler: newHandler(sim, s.pages), ReadHeaderTimeout: headerTime}
	printAddresses(stdout, "http://"+l.Addr().String(), s.sim.Key)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	return shutDown(ctx, server, sim, stdout)
}

// newHandler serves the models, and search engines if there are pages.
func newHandler(sim http.Handler, pages []searchtest.Page) http.Handler {
	if len(pages) == 0 {
		return sim
	}
	mux, engines := http.NewServeMux(), searchtest.New(pages, searchtest.Options{})
	mux.Handle("/", sim)
	for _, path := range []string{"/exa/", "/brave/", "/tavily/", "/searxng/", "/pages/"} {
		mux.Handle(path, engines)
	}
	return mux
}

// shutDown waits for open responses for a while, then closes them.
func shutDown(ctx context.Context, server *http.Server, sim *llmtest.Sim, stdout io.Writer) error {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(late)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	st := sim.Stats()
	fmt.Fprintf(stdout, "%d requests, %d answers, %d errors, %d cancelled, %d tokens read, %d written\n",
		st.Requests, st.Answers, st.Failed, st.Cancelled, st.Input, st.Output)
	return err
}

// printAddresses prints the server's addresses and how to use them.
func printAddresses(w io.Writer, base, key string) {
	if key == "" {
		key = "any"
	}
	fmt.Fprintf(w, "listening on %s\n\n", base)
	for _, line := range [][2]string{
		{"OpenAI", base + "/v1"}, {"Anthropic", base + "/anthropic"}, {"Gemini", base + "/gemini/v1beta"}, {"Ollama", base},
	} {
		fmt.Fprintf(w, "  %-10s %s\n", line[0], line[1])
	}
	fmt.Fprintf(w, "\nTo use it from ponder, set one of these:\n\n")
	fmt.Fprintf(w, "  export OPENAI_BASE_URL=%s/v1 OPENAI_API_KEY=%s PONDER_MODEL_FAST=openai/gpt-5.2 PONDER_MODEL_SLOW=openai/gpt-5.2\n", base, key)
	fmt.Fprintf(w, "  export ANTHROPIC_BASE_URL=%s/anthropic ANTHROPIC_API_KEY=%s PONDER_MODEL_SLOW=anthropic/claude-opus-4-6\n", base, key)
	fmt.Fprintf(w, "  export OLLAMA_HOST=%s OLLAMA_API_KEY=%s PONDER_MODEL_FAST=ollama/llama3.1\n\n", base, key)
	fmt.Fprintf(w, "counts: GET %s/sim/stats\n", base)
}

// A recordLog writes a line per request. The zero value writes nothing.
type recordLog struct {
	mu   sync.Mutex
	out  *bufio.Writer
	file io.Closer
}

func openLog(name string, stdout io.Writer) (*recordLog, error) {
	switch name {
	case "":
		return new(recordLog), nil
	case "-":
		return &recordLog{out: bufio.NewWriterSize(stdout, 0)}, nil
	}
	f, err := fileio.OpenState(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return &recordLog{out: bufio.NewWriter(f), file: f}, nil
}

// writeRecord adds a line. close reports write errors.
func (l *recordLog) writeRecord(r llmtest.Record) {
	line, err := json.Marshal(r)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.out.Write(append(line, '\n'))
	_ = l.out.Flush() // readers may follow the log
}

func (l *recordLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out == nil {
		return nil
	}
	err := l.out.Flush()
	if l.file != nil {
		err = errors.Join(err, l.file.Close())
	}
	if err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	return nil
}
