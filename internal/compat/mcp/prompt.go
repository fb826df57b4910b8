package mcp

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder/internal/toolname"
)

// A lesson is a prompt that teaches a host's model to use the tools.
type lesson struct {
	name, title, doc, arg, argDoc string
	text                          string // %s stands for the argument
}

var lessons = []lesson{
	{
		toolname.DeepThink, "Think deeply, with your own model", "Think about a question step by step with ponder_step; no key is needed.", "question", "what to think about",
		`Think deeply about this question, with the tool ponder_step:

%s

1. Call ponder_step with question set to the question, and context set to what you know of it that matters.
2. It returns session, step and prompt. Think about the prompt as thoroughly as you can. If it asks for JSON of a schema, your answer is that JSON and nothing else.
3. Call ponder_step with session, step and answer.
4. While its status is "needs_answer", go on with 2 for the new prompt. Do not stop before, and do not ask me in between.
5. When its status is "completed", show me answer, and say which session it was.
If a call fails or you lose the thread, call ponder_step with session alone: it returns the prompt that waits.`,
	},
	{
		"research", "Research with sources", "Do research on a question with ponder_research and sum up what it finds.", "question", "what to find out",
		`Find out: %s

Call ponder_recall first to see what is known. Then call ponder_research with the question. Show me its answer with its sources, and say what stays open.`,
	},
	{
		"continue", "Go on with a session", "See how a session of Ponder stands, and go on with it.", "session", "the session",
		`Call ponder_session with action "status" and session %s. If it is completed, show me its answer. If it is paused, call ponder_session with action "resume". If it needs answers of you, go on with ponder_step until it is completed.`,
	},
}

// maxArgument bounds what is put into a prompt, in bytes.
const maxArgument = 64 << 10

// addPrompts offers the prompts.
func (*client) addPrompts(server *sdk.Server) {
	for _, l := range lessons {
		server.AddPrompt(&sdk.Prompt{
			Name: l.name, Title: l.title, Description: l.doc,
			Arguments: []*sdk.PromptArgument{{Name: l.arg, Description: l.argDoc, Required: true}},
		}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			arg := strings.TrimSpace(req.Params.Arguments[l.arg])
			if arg == "" || len(arg) > maxArgument {
				return nil, badParams("the argument %s is needed, of at most %d bytes", l.arg, maxArgument)
			}
			return &sdk.GetPromptResult{
				Description: l.doc,
				Messages:    []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: strings.Replace(l.text, "%s", arg, 1)}}},
			}, nil
		})
	}
}
