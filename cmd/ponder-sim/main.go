// Ponder-sim is a simulated model server. It speaks the protocols of OpenAI, Anthropic, Gemini and
// Ollama, answers any model name with plausible text, and simulates configured failures. Use it to
// test cost, load and failures without a key or charges.
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
