package app

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"

	"ponder/llm/llmtest"
	"ponder/mode/session"
)

// A paused session acknowledges commands without a call, even if it is resumed at that moment.
func TestAckWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		model := &llmtest.Model{Latency: llmtest.Delay{Mean: time.Second}}
		mind := enginetest.Start(t, engine.Config{Modes: Modes(ChatSetup{}, nil), Models: enginetest.Models(model, ponder.Price{}), Logger: slog.New(slog.DiscardHandler)})
		mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: session.Name, Input: "What is the sea?", Budget: ponder.Budget{Time: time.Hour}})
		time.Sleep(10 * time.Second)
		mind.Put(enginetest.Run, "", ponder.RunPaused{})
		time.Sleep(10 * time.Second)
		mind.Stop()
		asked := model.Counts().Calls
		w := (&App{}).SessionView(mind.Store, enginetest.Thread)
		if err := w.Read(ctx, 0); err != nil {
			t.Fatal(err)
		}
		newCommands := func(b ponder.Body) []ponder.Event {
			t.Helper()
			sent, err := ponder.SendCommands(ctx, mind.Store, enginetest.Thread, ponder.Event{Run: enginetest.Run, Body: b})
			if err != nil {
				t.Fatal(err)
			}
			return sent
		}
		sent := newCommands(ponder.Steer{Do: ponder.AddQuestion, Content: "Who asks?"})
		if err := w.AckWhilePaused(ctx, mind.Store); err != nil {
			t.Fatal(err)
		}
		if err := w.Read(ctx, 0); err != nil {
			t.Fatal(err)
		}
		acked := slices.ContainsFunc(mind.Events(), func(ev ponder.Event) bool {
			b, ok := ev.Body.(ponder.Progress)
			return ok && b.Stage == ponder.StageSteered && b.Ref == sent[0].ID
		})
		if !acked {
			t.Error("the command is not acknowledged")
		}
		head := w.Seen
		m, err := engine.New(engine.Config{Store: mind.Store, Modes: writeOnlyModes(Modes(ChatSetup{}, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Open(ctx); err != nil {
			t.Fatal(err)
		}
		newCommands(ponder.RunResumed{})
		if err := w.holdPaused(ctx, m, head); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(context.WithoutCancel(ctx)); err != nil {
			t.Fatal(err)
		}
		for _, ev := range mind.Events()[head:] {
			switch ev.Body.(type) {
			case ponder.CallStarted, ponder.CallFinished, ponder.RunFinished:
				t.Errorf("it did not keep quiet: %s", enginetest.Line(ev))
			}
		}

		again := enginetest.Start(t, engine.Config{Store: mind.Store, Modes: Modes(ChatSetup{}, nil), Models: enginetest.Models(model, ponder.Price{})})
		newCommands(ponder.Steer{Do: ponder.AnswerNow})
		if fin := again.Await(enginetest.Run); fin.Status != ponder.Completed || model.Counts().Calls <= asked {
			t.Errorf("finished %+v after %d calls more", fin, model.Counts().Calls-asked)
		}
	})
}
