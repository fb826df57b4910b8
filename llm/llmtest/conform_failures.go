package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"time"

	"ponder/llm"
)

func failureTests() []conformTest {
	tests := []conformTest{
		refusalTest(RateLimit, llm.RateLimited), refusalTest(ServerError, llm.Transient), refusalTest(BadGateway, llm.Transient),
		refusalTest(Unavailable, llm.Transient), refusalTest(Overloaded, llm.Transient), refusalTest(WrongKey, llm.Auth),
		testNeeding(NoPayment, refusalTest(NoCredit, llm.Payment)), testNeeding(NoFilter, refusalTest(FilteredPrompt, llm.Filtered)), refusalTest(NoModel, llm.NotFound), refusalTest(ContextLength, llm.TooLong),
		refusalTest(HTML, llm.Malformed),
		{name: "wrong key", config: SimConfig{Key: "another"}, run: func(r *rig) {
			if e := r.expectError(r.Context(), newQuestion("Hello."), llm.Auth); e.Advice == "" {
				r.Error("a wrong key leads to no advice")
			}
		}},
		{name: "unknown model", config: SimConfig{Models: []string{"no-other"}}, run: func(r *rig) {
			r.expectError(r.Context(), newQuestion("Hello."), llm.NotFound)
		}},
		{name: "too long a prompt", config: SimConfig{Context: 5}, run: func(r *rig) {
			r.expectError(r.Context(), newQuestion("This is more than five tokens, whichever way one counts."), llm.TooLong)
		}},
		{name: "nobody there", run: func(r *rig) {
			r.model = r.adapter.New(Server{URL: "http://127.0.0.1:1", Key: rigKey}).Model(r.adapter.Model)
			r.expectError(r.Context(), newQuestion("Hello."), llm.Unreachable)
		}},
	}
	for form, want := range map[RetryForm]time.Duration{
		RetrySeconds: 3 * time.Second, RetryFraction: 2500 * time.Millisecond, RetryMillis: 2500 * time.Millisecond,
	} {
		tests = append(tests, conformTest{
			name: "retry " + string(form), config: SimConfig{
				RetryForm: form, RetryAfter: Delay{Mean: 2500 * time.Millisecond}, Behaviours: certainChances(RateLimit),
			}, run: func(r *rig) {
				e := r.expectError(r.Context(), newQuestion("Hello."), llm.RateLimited)
				if e.RetryAfter != want {
					r.Errorf("RetryAfter is %v, want %v", e.RetryAfter, want)
				}
			},
		})
	}
	return append(tests, conformTest{
		name: "retry date", config: SimConfig{RetryForm: RetryDate, RetryAfter: Delay{Mean: time.Minute}, Behaviours: certainChances(RateLimit)},
		run: func(r *rig) {
			e := r.expectError(r.Context(), newQuestion("Hello."), llm.RateLimited)
			if e.RetryAfter < 50*time.Second || e.RetryAfter > 62*time.Second {
				r.Errorf("RetryAfter is %v, want a minute", e.RetryAfter)
			}
		},
	})
}

func testNeeding(l MissingFeature, c conformTest) conformTest {
	c.needs = l
	return c
}

// refusalTest expects a class and status, and no retry.
func refusalTest(b Behaviour, class llm.Class) conformTest {
	return conformTest{name: string(b), config: SimConfig{Behaviours: certainChances(b)}, run: func(r *rig) {
		e := r.expectError(r.Context(), newQuestion("Will this fail?"), class)
		rec := r.nextRecord()
		if want := expectedStatus(rec); want != 0 && e.Status != want {
			r.Errorf("Status is %d, want %d", e.Status, want)
		}
		if b == RateLimit && e.RetryAfter <= 0 && r.adapter.supports(NoRetryHeaders) {
			r.Error("RetryAfter is not set")
		}
		if n := r.sim.Stats().Behaviours[b]; n != 1 {
			r.Errorf("the request was sent %d times, want once", n)
		}
	}}
}

func breakTests() []conformTest {
	story := Script{scriptLine("", "Once upon a time there was a fox who lived in a small house at the edge of a great wood, and it read a lot.")}
	broken := func(b Behaviour, want ...llm.Class) conformTest {
		return conformTest{name: string(b), config: SimConfig{Behaviours: certainChances(b), Script: story}, run: func(r *rig) {
			e := r.expectError(r.Context(), newQuestion("Tell me a story."), want...)
			if !e.Class.Retryable() {
				r.Errorf("class %q is not retryable", e.Class)
			}
			if e.Usage.Total() <= 0 {
				r.Errorf("usage of the failed attempt is %+v", e.Usage)
			}
		}}
	}
	return []conformTest{
		broken(Cut, llm.Truncated), broken(NoEnd, llm.Truncated),
		broken(Drop, llm.Truncated, llm.Transient), broken(ResetMidway, llm.Truncated, llm.Transient),
		broken(OverloadedMidway, llm.Transient), broken(BadFrame, llm.Malformed, llm.Truncated),
		silenceTest("silent before the answer", Hang), silenceTest("silent in the middle", Stall),
		{name: "calls broken off", config: SimConfig{Behaviours: certainChances(Cut), Chunks: 3}, run: func(r *rig) {
			req := newQuestion("Please add and multiply 2 and 3.")
			req.Tools = conformTools()
			r.expectError(r.Context(), req, llm.Truncated)
		}},
	}
}

// silenceTest expects the adapter to give up on a silent server.
func silenceTest(name string, b Behaviour) conformTest {
	return conformTest{name: name, config: SimConfig{Behaviours: certainChances(b)}, run: func(r *rig) {
		r.model = r.adapter.New(Server{URL: r.base, Key: rigKey, Patience: 50 * time.Millisecond}).Model(r.adapter.Model)
		e := r.expectError(r.Context(), newQuestion("Are you there?"), llm.Transient)
		if e.Usage.Total() <= 0 {
			r.Errorf("usage of the attempt is %+v", e.Usage)
		}
		r.expectClosed()
	}}
}

func cancelTests() []conformTest {
	return []conformTest{
		{name: "before the answer", config: SimConfig{Behaviours: certainChances(Hang)}, run: func(r *rig) {
			ctx, cancel := context.WithCancel(r.Context())
			go func() {
				<-r.asked
				cancel()
			}()
			defer cancel()
			r.expectError(ctx, newQuestion("Will you ever answer?"), llm.Cancelled)
			r.expectClosed()
		}},
		{name: "in the middle", config: SimConfig{Behaviours: certainChances(Stall), Stretch: 5}, run: func(r *rig) {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			var last error
			for d, err := range r.model.Generate(ctx, newQuestion("Tell a story and fall asleep.")) {
				if last = err; d.Text != "" {
					cancel()
				}
			}
			if llm.ClassOf(last) != llm.Cancelled || !errors.Is(last, context.Canceled) {
				r.Errorf("error is %v, want one of class %q that is context.Canceled", last, llm.Cancelled)
			}
			r.expectClosed()
		}},
		{name: "at a deadline", config: SimConfig{Behaviours: certainChances(Hang)}, run: func(r *rig) {
			ctx, cancel := context.WithTimeout(r.Context(), 50*time.Millisecond)
			defer cancel()
			if e := r.expectError(ctx, newQuestion("Will you answer in time?"), llm.Cancelled); !errors.Is(e, context.DeadlineExceeded) {
				r.Errorf("error %v is not context.DeadlineExceeded", e)
			}
			r.expectClosed()
		}},
		{name: "by breaking off", config: SimConfig{Behaviours: certainChances(Endless)}, run: func(r *rig) {
			n := 0
			for d, err := range r.model.Generate(r.Context(), newQuestion("Never stop talking.")) {
				if err != nil {
					r.Fatalf("Generate: %v", err)
				}
				if n += len(d.Text); n > 100 {
					break
				}
			}
			r.expectClosed()
		}},
		{name: "before asking", run: func(r *rig) {
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			r.expectError(ctx, newQuestion("Too late?"), llm.Cancelled)
			if n := r.sim.Stats().Answers; n != 0 {
				r.Errorf("the server gave %d answers to a request that was cancelled before", n)
			}
		}},
		{name: "held back", run: func(r *rig) {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			first, second := r.startHeld(ctx), r.startHeld(r.Context())
			r.generate(newQuestion("Who is served first?"))
			cancel()
			if err := <-first.ended; llm.ClassOf(err) != llm.Cancelled {
				r.Errorf("an unreleased request ended with %v", err)
			}
			r.generate(newQuestion("And after that?"))
			if n := len(r.asked); n != 2 {
				r.Errorf("the server got %d requests before any was released, want 2", n)
			}
			close(second.released)
			if err := <-second.ended; err != nil {
				r.Errorf("a released request ended with %v", err)
			}
			if n := len(r.asked); n != 3 {
				r.Errorf("the server got %d requests, want 3", n)
			}
		}},
	}
}

type heldRequest struct {
	released chan struct{}
	ended    chan error
}

func (r *rig) startHeld(ctx context.Context) heldRequest {
	h := heldRequest{make(chan struct{}), make(chan error, 1)}
	model, ok := r.model.(llm.Preparer)
	if !ok {
		r.Fatal("the model is no llm.Preparer")
	}
	begun := make(chan struct{})
	go func() {
		close(begun)
		var last error
		for _, err := range model.Prepare(ctx, h.released, newQuestion("May I?")) {
			last = err
		}
		h.ended <- last
	}()
	<-begun
	return h
}

// expectClosed expects the connection to be closed.
func (r *rig) expectClosed() {
	r.Helper()
	if rec := r.nextRecord(); !rec.Cancelled {
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
		{name: "embeddings limited", needs: NoEmbeddings, config: SimConfig{Behaviours: certainChances(RateLimit)}, run: func(r *rig) {
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

func conformTools() []llm.Tool {
	pair := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","description":"first"},"b":{"type":"integer"}},"required":["a","b"]}`)
	return []llm.Tool{
		{Name: "add", Doc: "Adds two numbers.", Schema: pair},
		{Name: "multiply", Doc: "Multiplies two numbers.", Schema: pair},
		{Name: "now", Doc: "Tells the time."},
	}
}

func toolTests() []conformTest {
	return []conformTest{
		{name: "calls and results", run: conformCalls},
		{name: "text before a call", config: SimConfig{Script: Script{{
			Match: regexp.MustCompile("add"), Reply: encodeJSON("Let me see."), Calls: []ScriptCall{{Name: "add", Input: json.RawMessage(`{"a":1,"b":2}`)}},
		}}}, run: func(r *rig) {
			done := r.askWithTools("Please add 1 and 2.", "")
			if calls := done.Message.Calls(); len(calls) != 1 || done.Message.Text() != "Let me see." {
				r.Errorf("text is %q with calls %v", done.Message.Text(), calls)
			}
		}},
		{name: "a tool without input", run: func(r *rig) {
			done := r.askWithTools("What time is it now?", "")
			if calls := done.Message.Calls(); len(calls) != 1 || calls[0].Name != "now" || string(calls[0].Input) != "{}" {
				r.Errorf("calls are %v, want now with {}", calls)
			}
		}},
		{name: "no tool", run: func(r *rig) {
			done := r.askWithTools("Please add 2 and 3.", "none")
			if len(done.Message.Calls()) > 0 || done.Finish != llm.FinishStop {
				r.Errorf("Finish is %q with calls %v, want an answer", done.Finish, done.Message.Calls())
			}
		}},
		{name: "any tool", needs: NoForcedTools, run: func(r *rig) {
			if done := r.askWithTools("Hello there.", "required"); len(done.Message.Calls()) == 0 {
				r.Errorf("no call: %q", done.Message.Text())
			}
		}},
		{name: "a certain tool", needs: NoForcedTools, run: func(r *rig) {
			done := r.askWithTools("Hello there.", "multiply")
			if calls := done.Message.Calls(); len(calls) != 1 || calls[0].Name != "multiply" {
				r.Errorf("calls are %v, want multiply", calls)
			}
		}},
		{name: "schema beside tools", run: func(r *rig) {
			req := personRequest()
			req.Tools = conformTools()
			done := r.generate(req)
			if len(done.Message.Calls()) > 0 {
				return // it may call a tool first
			}
			if _, err := llm.Decode[person](done.Message.Text(), req.Schema); err != nil {
				r.Errorf("decode %q: %v", done.Message.Text(), err)
			}
		}},
	}
}

func (r *rig) askWithTools(text, choice string) *llm.Response {
	r.Helper()
	req := newQuestion(text)
	req.Tools, req.ToolChoice = conformTools(), choice
	return r.generate(req)
}

// conformCalls returns results of two calls, one failed. The server refuses mismatches.
func conformCalls(r *rig) {
	req := newQuestion("Please add and multiply 2 and 3.")
	req.Tools = conformTools()
	done := r.generate(req)
	calls := done.Message.Calls()
	if len(calls) != 2 || calls[0].Name != "add" || calls[1].Name != "multiply" {
		r.Fatalf("calls are %v, want add and multiply", calls)
	}
	if done.Finish != llm.FinishTools {
		r.Errorf("Finish is %q, want %q", done.Finish, llm.FinishTools)
	}
	if calls[0].ID == "" || calls[0].ID == calls[1].ID {
		r.Errorf("ids of calls are %q and %q, want two", calls[0].ID, calls[1].ID)
	}
	for _, c := range calls {
		if got := string(c.Input); got != `{"a":2,"b":3}` {
			r.Errorf("input of %s is %s", c.Name, got)
		}
	}
	req.Messages = append(req.Messages, done.Message, llm.Message{Role: llm.User, Parts: []llm.Part{
		{Result: &llm.ToolResult{ID: calls[0].ID, Name: "add", Text: "the-sum-is-5"}},
		{Result: &llm.ToolResult{ID: calls[1].ID, Name: "multiply", Text: "out of order", Failed: true}},
	}})
	r.nextRecord()
	after := r.generate(req)
	if after.Message.Text() == "" || after.Finish != llm.FinishStop {
		r.Errorf("after the results Finish is %q, text %q", after.Finish, after.Message.Text())
	}
	if rec := r.nextRecord(); !hasBody(rec.Body, "the-sum-is-5") || !hasBody(rec.Body, "out of order") {
		r.Errorf("the results are not in the request: %s", rec.Body)
	}
	req.Messages = append(req.Messages, after.Message, llm.Say(llm.User, "Thanks. Once more?"))
	r.generate(req)
	r.askOther(req)
}

// askOther must not send what only the first model can read.
func (r *rig) askOther(req *llm.Request) {
	r.Helper()
	if done := r.generateWith(r.provider.Model(r.adapter.Other), req); done.Finish == "" {
		r.Errorf("no finish from %s", r.adapter.Other)
	}
}
