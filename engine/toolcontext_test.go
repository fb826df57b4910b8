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

// toolUser is the state of a mode that uses a tool and answers with its result.
type toolUser struct{ Result string }

func (s toolUser) Apply(ev ponder.Event) ponder.State {
	if b, ok := ev.Body.(ponder.ToolResult); ok {
		s.Result = b.Result
	}
	return s
}

func (s toolUser) Next(ponder.Moment) []ponder.Action {
	if s.Result != "" {
		return []ponder.Action{ponder.Finish{Answer: s.Result}}
	}
	return []ponder.Action{ponder.Do{Key: "look", Tool: "where", Args: json.RawMessage(`{}`)}}
}

// The ctx of a tool names its thread, run and mode.
func TestToolContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eng := enginetest.Start(t, engine.Config{
			Modes: []ponder.Mode{{Name: "finder", Version: 1, Start: func(ponder.Run) ponder.State { return toolUser{} }}},
			Tools: []ponder.Tool{ponder.NewTool("where", "", nil, func(ctx context.Context, _ json.RawMessage) (string, error) {
				return fmt.Sprint(ponder.ToolContextFrom(ctx)), nil
			})},
		})
		fin := eng.Ask("finder", "where am I?", nil, ponder.Budget{})
		if want := fmt.Sprint(ponder.ToolContext{Thread: enginetest.Thread, Run: enginetest.Run, Mode: "finder"}); fin.Answer != want {
			t.Errorf("used on %s, want %s: %+v", fin.Answer, want, fin)
		}
	})
	if use := ponder.ToolContextFrom(t.Context()); use != (ponder.ToolContext{}) {
		t.Errorf("without a use: %+v", use)
	}
}
