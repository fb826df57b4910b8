package main

import (
	"context"
	"errors"
	"io"
	"maps"
	sockets "net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat/mcp"
	"ponder/internal/server"
	"ponder/internal/steering"
	"ponder/llm/llmtest"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

type refusal struct {
	code  app.Code // empty if the surface has no codes
	field string
	text  string
}

// A surface sends the badInput of a use case. It returns false if it lacks the use case, and a
// zero refusal for success.
type surface func(t *testing.T, use string, in badInput) (r refusal, offered bool)

// Every surface refuses each invalid input with the same code and field. Only the command line
// names flags.
func TestInvalidInputs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, dir)
	}
	t.Setenv("OLLAMA_HOST", llmtest.Serve(t, llmtest.NewSim(llmtest.SimConfig{Seed: 1})))
	db := filepath.Join(dir, "p.db")
	store, err := sqlite.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	fillInvalid(t, store)
	a := newCLI(app.Options{DB: db, Version: "test"})
	a.out, a.log, a.interrupts = io.Discard, &logSink{out: io.Discard}, &interruptHandler{}
	defer a.Close()
	cfg, err := a.Config()
	if err != nil {
		t.Fatal(err)
	}
	hosts := &mcp.Hosts{}
	s, err := a.forHosts(hosts).NewService(t.Context(), store, true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	guard, err := app.AuthConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	address := serveInvalid(t, s, hosts, guard)
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: address + mcp.Path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	surfaces := map[string]surface{
		"app":  func(t *testing.T, use string, in badInput) (refusal, bool) { return askApp(t, s, use, in) },
		"cli":  func(t *testing.T, use string, in badInput) (refusal, bool) { return askCLI(t, db, use, in) },
		"http": func(t *testing.T, use string, in badInput) (refusal, bool) { return askHTTP(t, address, use, in) },
		"mcp":  func(t *testing.T, use string, in badInput) (refusal, bool) { return askMCP(t, client, use, in) },
	}
	asked := make(map[string]int)
	for _, row := range invalidInputs() {
		t.Run(row.Use+"/"+row.Name, func(t *testing.T) {
			for _, name := range slices.Sorted(maps.Keys(surfaces)) {
				if slices.Contains(strings.Fields(row.Not), name) {
					continue
				}
				r, offered := surfaces[name](t, row.Use, row.In)
				if !offered {
					continue
				}
				asked[name]++
				asked["rows "+row.Use]++
				switch {
				case r == refusal{}:
					t.Errorf("%s accepts the input", name)
				case r.code != "" && r.code != row.Code:
					t.Errorf("%s: code %s, want %s: %s", name, r.code, row.Code, r.text)
				case r.field != row.Field && (row.Code == app.Invalid || r.field != ""):
					t.Errorf("%s: field %q, want %q: %s", name, r.field, row.Field, r.text)
				case name != "cli" && flagName.MatchString(r.text):
					t.Errorf("%s: the error names a flag: %s", name, r.text)
				}
			}
		})
	}
	for name, minCount := range map[string]int{"app": 60, "cli": 75, "http": 50, "mcp": 25} {
		if asked[name] < minCount {
			t.Errorf("only %d inputs for %s", asked[name], name)
		}
	}
}

func fillInvalid(t *testing.T, store ponder.Threads) {
	t.Helper()
	start := func(run ponder.RunID) ponder.Event {
		b := ponder.Budget{Cost: ponder.Cost{Calls: 10}}
		return ponder.Event{Run: run, Body: ponder.RunStarted{Mode: session.Name, Version: session.New().Version, Input: "Why?", Budget: b}}
	}
	mind := ponder.Thread{ID: app.MindID(), Kind: ponder.KindSubconscious, Owner: app.LocalOwner, Title: "Subconscious", Created: time.Now()}
	if err := store.Create(t.Context(), mind, ponder.Event{Body: ponder.Observation{Sensor: "test", Content: "It rains."}}); err != nil {
		t.Fatal(err)
	}
	for id, events := range map[ponder.ThreadID][]ponder.Event{
		endedSession:  {start("run_1"), {Run: "run_1", Body: ponder.RunFinished{Answer: "Salt.", Status: ponder.Completed}}},
		pausedSession: {start("run_2"), {Run: "run_2", Body: ponder.SubQuestion{ID: "q1", Content: "How deep?"}}, {Run: "run_2", Body: ponder.RunPaused{}}},
		aConversation: nil,
	} {
		kind := ponder.KindSession
		if events == nil {
			kind = ponder.KindConversation
		}
		if err := store.Create(t.Context(), ponder.Thread{ID: id, Kind: kind, Owner: app.LocalOwner, Title: "Why?", Created: time.Now()}, events...); err != nil {
			t.Fatal(err)
		}
	}
}

func serveInvalid(t *testing.T, s *app.Service, hosts *mcp.Hosts, guard auth.Config) string {
	t.Helper()
	l, err := new(sockets.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan string, 1), make(chan error, 1)
	web := &server.Server{
		Service: s, Hosts: hosts, NoMind: true, Version: "test", OnInterrupt: func(func()) func() { return func() {} },
		Ready: func(at string) error { ready <- at; return nil },
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- web.ServeListener(ctx, l, guard) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return <-ready
}

func inputValue[T any](in badInput, field string) (v T) {
	v, _ = in[field].(T)
	return v
}

func inputString(in badInput, field string) string { return inputValue[string](in, field) }

func budgetIn(in badInput) (b ponder.Budget) {
	b.Time = time.Duration(inputValue[float64](in, "duration_minutes") * float64(time.Minute))
	b.Tokens, b.Calls = inputValue[int](in, "max_tokens"), inputValue[int](in, "max_calls")
	b.Money = ponder.Money(inputValue[float64](in, "max_cost_usd") * 1e6)
	return b
}

func askApp(t *testing.T, s *app.Service, use string, in badInput) (refusal, bool) {
	t.Helper()
	ctx, id, fresh := t.Context(), ponder.ThreadID(inputString(in, "id")), ponder.ThreadID(ponder.NewID("thr"))
	kinds := slices.DeleteFunc([]string{inputString(in, "kind")}, func(k string) bool { return k == "" })
	q := app.Query{Text: inputString(in, "q"), Limit: inputValue[int](in, "limit"), Kinds: kinds}
	var err error
	switch use {
	case "start", "research":
		kind := ponder.KindSession
		if use == "research" {
			kind = ponder.KindResearch
		}
		err = s.Begin(ctx, app.LocalOwner, fresh, app.Start{
			Kind: kind, Question: inputString(in, "question"), Model: inputString(in, "model_id"), Budget: budgetIn(in), Parallel: inputValue[int](in, "parallel"),
			Every: time.Duration(inputValue[float64](in, "synthesis_interval_seconds") * float64(time.Second)), Persona: inputString(in, "persona"), Rounds: inputValue[int](in, "rounds"),
		})
	case "open":
		err = s.Open(ctx, app.LocalOwner, fresh, app.Conversation{Model: inputString(in, "model_id"), System: inputString(in, "system")})
	case "say":
		info := ponder.Info{Thread: ponder.Thread{ID: id, Kind: ponder.KindConversation, Owner: app.LocalOwner}}
		_, err = s.Say(ctx, info, "", app.Message{UserMessage: ponder.UserMessage{Content: inputString(in, "content")}, Model: inputString(in, "model_id")})
	case "steer":
		var v session.View
		if v, err = app.Fold(ctx, s.Store, id); err == nil {
			_, err = steering.ViewOf(v, false).Commands([]steering.Request{{
				Order: ponder.SteerOp(inputString(in, "order")), Content: inputString(in, "content"), Question: inputString(in, "question"), Priority: inputValue[int](in, "priority"),
				Source: inputString(in, "source"), Limits: budgetIn(in),
			}})
		}
	case "fork":
		err = s.Fork(ctx, app.LocalOwner, id, fresh, app.Fork{At: ponder.Seq(inputValue[int](in, "at")), Model: inputString(in, "model_id")})
	case "resume":
		err = s.Resume(ctx, id, inputString(in, "model_id"), func() error { return sendTo(ctx, s, id, ponder.RunResumed{}) })
	case "pause":
		err = sendTo(ctx, s, id, ponder.RunPaused{})
	case "remove":
		err = s.Remove(ctx, id)
	case "report":
		_, err = s.Report(ctx, id, inputString(in, "format"))
	case "export":
		_, err = s.Report(ctx, id, "jsonl")
	case "remember":
		_, err = s.Remember(ctx, app.LocalOwner, app.Memory{Text: inputString(in, "text"), Kind: inputString(in, "kind")})
	case "recall":
		_, err = s.Search(ctx, app.LocalOwner, q)
	case "memories":
		_, err = s.Memories(ctx, app.LocalOwner, q, "")
	case "forget":
		err = s.Forget(ctx, app.LocalOwner, inputString(in, "id"))
	case "decide":
		var open []app.Approval
		if open, err = app.ThreadApprovals(ctx, s.Store, id); err == nil {
			_, err = app.DecisionMessage(open, ponder.ApprovalDecision{ID: inputString(in, "approval"), Approved: inputString(in, "decision") == "approve"})
		}
	case "models":
		err = s.TestModels(ctx, []string{inputString(in, "model")}, func(app.ModelCheck) error { return nil })
	case "evidence":
		ids := slices.DeleteFunc([]string{inputString(in, "evidence_id")}, func(id string) bool { return id == "" })
		_, err = s.CheckEvidence(ctx, inputString(in, "id"), ids...)
	default:
		return refusal{}, false
	}
	return newRefusal(err), true
}

func sendTo(ctx context.Context, s *app.Service, id ponder.ThreadID, body ponder.Body) error {
	_, err := ponder.SendCommands(ctx, s.Log, id, ponder.Event{Run: "run_1", Body: body})
	return err
}

func newRefusal(err error) refusal {
	if err == nil {
		return refusal{}
	}
	var wrong steering.Errors
	if errors.As(err, &wrong) {
		return refusal{app.Invalid, wrong[0].Field, err.Error()}
	}
	r := refusal{code: app.CodeOf(err), text: err.Error()}
	var known *app.Error
	if errors.As(err, &known) {
		r.field = known.Field
	}
	return r
}
