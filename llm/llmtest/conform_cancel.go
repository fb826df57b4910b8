package llmtest

import (
	"context"
	"errors"
	"time"

	"ponder/llm"
)

func cancelTests() []conformTest {
	return []conformTest{
		{name: "before the answer", config: SimConfig{Behaviours: always(Hang)}, run: func(r *rig) {
			ctx, cancel := context.WithCancel(r.Context())
			go func() {
				<-r.asked
				cancel()
			}()
			defer cancel()
			r.fail(ctx, question("Will you ever answer?"), llm.Cancelled)
			r.closed()
		}},
		{name: "in the middle", config: SimConfig{Behaviours: always(Stall)}, run: func(r *rig) {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			var last error
			for d, err := range r.model.Generate(ctx, question("Tell a story and fall asleep.")) {
				if last = err; d.Text != "" {
					cancel()
				}
			}
			if llm.ClassOf(last) != llm.Cancelled || !errors.Is(last, context.Canceled) {
				r.Errorf("error is %v, want one of class %q that is context.Canceled", last, llm.Cancelled)
			}
			r.closed()
		}},
		{name: "at a deadline", config: SimConfig{Behaviours: always(Hang)}, run: func(r *rig) {
			ctx, cancel := context.WithTimeout(r.Context(), 50*time.Millisecond)
			defer cancel()
			if e := r.fail(ctx, question("Will you answer in time?"), llm.Cancelled); !errors.Is(e, context.DeadlineExceeded) {
				r.Errorf("error %v is not context.DeadlineExceeded", e)
			}
			r.closed()
		}},
		{name: "by breaking off", config: SimConfig{Behaviours: always(Endless)}, run: func(r *rig) {
			n := 0
			for d, err := range r.model.Generate(r.Context(), question("Never stop talking.")) {
				if err != nil {
					r.Fatalf("Generate: %v", err)
				}
				if n += len(d.Text); n > 100 {
					break
				}
			}
			r.closed()
		}},
		{name: "before asking", run: func(r *rig) {
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			r.fail(ctx, question("Too late?"), llm.Cancelled)
			if n := r.sim.Stats().Answers; n != 0 {
				r.Errorf("the server gave %d answers to a request that was cancelled before", n)
			}
		}},
		{name: "held back", run: func(r *rig) {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			first, second := r.hold(ctx), r.hold(r.Context())
			r.ask(question("Who is served first?"))
			cancel()
			if err := <-first.ended; llm.ClassOf(err) != llm.Cancelled {
				r.Errorf("a request that was never released ended with %v", err)
			}
			r.ask(question("And after that?"))
			if n := len(r.asked); n != 2 {
				r.Errorf("the server was asked %d times before any request was released, want 2", n)
			}
			close(second.released)
			if err := <-second.ended; err != nil {
				r.Errorf("a request that was released ended with %v", err)
			}
			if n := len(r.asked); n != 3 {
				r.Errorf("the server was asked %d times, want 3", n)
			}
		}},
	}
}

// A held is a request that is held back.
type held struct {
	released chan struct{}
	ended    chan error
}

// hold begins with a request and holds it back.
func (r *rig) hold(ctx context.Context) held {
	h := held{make(chan struct{}), make(chan error, 1)}
	model, ok := r.model.(llm.Holder)
	if !ok {
		r.Fatal("the model is no llm.Holder")
	}
	begun := make(chan struct{})
	go func() {
		close(begun)
		var last error
		for _, err := range model.Hold(ctx, h.released, question("May I?")) {
			last = err
		}
		h.ended <- last
	}()
	<-begun
	return h
}

// closed checks that the server saw the client go away.
func (r *rig) closed() {
	r.Helper()
	if rec := r.record(); !rec.Cancelled {
		r.Errorf("the connection was not closed: %+v", rec)
	}
}

func providerTests() []conformTest {
	return []conformTest{
		{name: "check", run: func(r *rig) {
			if err := r.provider.Check(r.Context(), r.adapter.Model); err != nil {
				r.Errorf("Check: %v", err)
			}
		}},
		{name: "check with a wrong key", needs: NoCheck, config: SimConfig{Key: "another"}, run: func(r *rig) {
			if err := r.provider.Check(r.Context(), r.adapter.Model); llm.ClassOf(err) != llm.Auth {
				r.Errorf("Check: %v, want class %q", err, llm.Auth)
			}
		}},
		{name: "check of a missing model", needs: NoCheck, config: SimConfig{Models: []string{"no-other"}}, run: func(r *rig) {
			if err := r.provider.Check(r.Context(), r.adapter.Model); err != nil && llm.ClassOf(err) != llm.NotFound {
				r.Errorf("Check: %v, want class %q", err, llm.NotFound)
			}
		}},
		{name: "embeddings", needs: NoEmbeddings, run: conformEmbed},
		{name: "embeddings limited", needs: NoEmbeddings, config: SimConfig{Behaviours: always(RateLimit)}, run: func(r *rig) {
			if _, _, err := r.provider.Embed(r.Context(), r.adapter.Model, []string{"a"}); llm.ClassOf(err) != llm.RateLimited {
				r.Errorf("Embed: %v, want class %q", err, llm.RateLimited)
			}
		}},
	}
}

func conformEmbed(r *rig) {
	texts := []string{"the fox reads books", "a fox read a book", "stock markets fell", "the fox reads books"}
	vectors, used, err := r.provider.Embed(r.Context(), r.adapter.Model, texts)
	if err != nil {
		r.Fatalf("Embed: %v", err)
	}
	if len(vectors) != len(texts) {
		r.Fatalf("%d vectors for %d texts", len(vectors), len(texts))
	}
	dot := func(i, j int) (sum float32) {
		for k := range vectors[i] {
			sum += vectors[i][k] * vectors[j][k]
		}
		return sum
	}
	if dot(0, 3) < 0.99 || dot(0, 1) <= dot(0, 2) {
		r.Errorf("vectors are out of order: %v %v %v", dot(0, 3), dot(0, 1), dot(0, 2))
	}
	if used.Input <= 0 {
		r.Errorf("usage is %+v", used)
	}
}
