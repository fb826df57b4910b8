package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
)

// where is a mode that uses a tool and answers its result.
type where struct{ Result string }

func (s where) Apply(ev ponder.Event) ponder.State {
	if b, ok := ev.Body.(ponder.ToolResult); ok {
		s.Result = b.Result
	}
	return s
}

func (s where) Next(ponder.Moment) []ponder.Action {
	if s.Result != "" {
		return []ponder.Action{ponder.Finish{Answer: s.Result}}
	}
	return []ponder.Action{ponder.Do{Key: "look", Tool: "where", Args: json.RawMessage(`{}`)}}
}

// A tool is told on which thread, by which run and of which mode it is used.
func TestUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := enginetest.Start(t, engine.Config{
			Modes: []ponder.Mode{{Name: "finder", Version: 1, Start: func(ponder.Run) ponder.State { return where{} }}},
			Tools: []ponder.Tool{ponder.NewTool("where", "", nil, func(ctx context.Context, _ json.RawMessage) (string, error) {
				return fmt.Sprint(ponder.ToolContextFrom(ctx)), nil
			})},
		})
		fin := mind.Ask("finder", "where am I?", nil, ponder.Budget{})
		if want := fmt.Sprint(ponder.ToolContext{Thread: enginetest.Thread, Run: enginetest.Run, Mode: "finder"}); fin.Answer != want {
			t.Errorf("used on %s, want %s: %+v", fin.Answer, want, fin)
		}
	})
	if use := ponder.ToolContextFrom(t.Context()); use != (ponder.ToolContext{}) {
		t.Errorf("without a use: %+v", use)
	}
}
