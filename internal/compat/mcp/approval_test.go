package mcp

import (
	"context"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder/internal/compat/protocoltest"
)

// TestElicitation checks that the client asks its user, that its model sees no code, and that only the user's answer runs
// the call.
func TestElicitation(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer sdk.ElicitResult
		runs   int
		told   string
	}{
		{"approved", sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}}, 1, "Done: It is bright."},
		{"denied", sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny"}}, 0, "Done: Not run: the user denied this call."},
		{"declined", sdk.ElicitResult{Action: "decline"}, 0, "Done: Not run: the user denied this call."},
		{"cancelled", sdk.ElicitResult{Action: "cancel"}, 0, "who can run `ponder approve`"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var lamp *protocoltest.Lamp
			var asked []string
			forEachEra(t, func() protocoltest.Options {
				lamp = &protocoltest.Lamp{Says: protocoltest.Attacks[1]}
				return lamp.Options(protocoltest.Options{})
			}, func() *sdk.ClientOptions {
				asked = nil
				return &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asked = append(asked, req.Params.Message)
					return &tt.answer, nil
				}}
			}, func(t *testing.T, _ *rig, s *sdk.ClientSession) {
				text, _, failed := callTool(t, s, "ponder_chat", args{"question": "Switch on the lamp", "conversation": "a"})
				if failed || !strings.Contains(text, tt.told) || strings.Contains(text, "Ponder asks") {
					t.Errorf("told %q", text)
				}
				if len(asked) != 1 || !strings.Contains(asked[0], `"room": "kitchen"`) || protocoltest.CodeIn(asked[0]) != "" {
					t.Errorf("asked %q", asked)
				}
				if runs := lamp.Runs(); len(runs) != tt.runs || tt.runs > 0 && runs[0] != protocoltest.LampArgs {
					t.Errorf("ran %q", runs)
				}
			})
		})
	}
}

// TestApprovalByCode checks that the text has the question for clients without forms.
func TestApprovalByCode(t *testing.T) {
	var lamp *protocoltest.Lamp
	forEachEra(t, func() protocoltest.Options {
		lamp = &protocoltest.Lamp{}
		return lamp.Options(protocoltest.Options{})
	}, nil, func(t *testing.T, _ *rig, s *sdk.ClientSession) {
		say := func(text string) string {
			_, out, _ := callTool(t, s, "ponder_chat", args{"question": text, "conversation": "a"})
			answer, _ := out["answer"].(string)
			return answer
		}
		code := protocoltest.CodeIn(say("Switch on the lamp"))
		for _, text := range protocoltest.YesWords {
			say(text)
		}
		if runs := lamp.Runs(); code == "" || len(runs) != 0 {
			t.Fatalf("code %q, ran %q", code, runs)
		}
		if got := say("approve " + code); got != "Done: It is bright." || len(lamp.Runs()) != 1 {
			t.Errorf("told %q, ran %q", got, lamp.Runs())
		}
	})
}
