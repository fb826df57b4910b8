// Ponder-sim is a simulated model server. It speaks the wire formats of OpenAI,
// Anthropic, Gemini and Ollama, answers any model name with plausible text, and
// behaves as badly as it is told to. Use it to rehearse what a run will cost
// and how it holds up under load and failures, without a key and for nothing.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
