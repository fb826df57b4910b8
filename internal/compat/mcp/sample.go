package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/textkit"
	"ponder/llm"
)

const (
	maxRounds       = 9    // of one call without sessions; clients stop at the tenth
	maxSampleTokens = 4096 // default tokens of an answer
)

// byHost thinks with the client's model, by sampling or step by step.
func (c *client) byHost(ctx context.Context, req *sdk.CallToolRequest, a compat.Request) (*sdk.CallToolResult, outcome, error) {
	h, err := c.beginHosted(ctx, a, 0)
	if err != nil {
		return nil, outcome{}, err
	}
	switch {
	case !canSample(req):
		// The prompt goes to the user: without sampling, a task could only wait.
		out, err := h.nextPrompt(ctx, progressFunc(ctx, req), "")
		return renderOutcome(out), out, err
	case AsTask(ctx, &deskTask{c, h.work}):
		return nil, outcome{Session: h.work.ID(), Status: string(ponder.Thinking)}, nil
	case req.ProtocolVersion() >= modern:
		return h.requestSample(ctx, req, 1)
	}
	return h.sampleUntilEnd(ctx, req)
}

// sampleUntilEnd samples until the work ends, in the era of sessions.
func (h *hostedRun) sampleUntilEnd(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, outcome, error) {
	tell, before := progressFunc(ctx, req), ""
	for {
		out, err := h.nextPrompt(ctx, tell, before)
		if err != nil {
			return nil, out, h.cancelIfLeft(ctx, req, err)
		}
		if out.Step == "" || out.Step == before { // ended, or the answer was unusable
			return renderOutcome(out), out, nil
		}
		a, _, _ := h.Hosts.nextSample(h.name)
		if a == nil || a.id != out.Step {
			continue
		}
		//nolint:staticcheck // sampling is deprecated, and all that these clients have
		res, err := req.Session.CreateMessage(ctx, messageFor(a.req))
		if err != nil {
			if ctx.Err() != nil {
				return nil, out, h.cancelIfLeft(ctx, req, ctx.Err())
			}
			out.Reason = "the client's model did not answer: think about the prompt yourself, and call ponder_step"
			return renderOutcome(out), out, nil
		}
		h.Hosts.answerSample(h.name, out.Step, textkit.TruncateBytes(textOf(res.Content), maxAnswer))
		before = out.Step
	}
}

// cancelIfLeft cancels the work of a cancelled call.
func (h *hostedRun) cancelIfLeft(ctx context.Context, req *sdk.CallToolRequest, err error) error {
	if ctx.Err() != nil && h.wasCancelled(req) {
		if err := h.Desk.Cancel(h.withCaller(context.WithoutCancel(ctx)), h.work); err != nil {
			h.logger().Warn("cannot cancel the work of a cancelled request", "thread", h.work.Thread, "error", err)
		}
	}
	return err
}

func messageFor(req *llm.Request) *sdk.CreateMessageParams {
	p := &sdk.CreateMessageParams{SystemPrompt: req.System, MaxTokens: int64(req.MaxTokens)}
	if p.MaxTokens <= 0 {
		p.MaxTokens = maxSampleTokens
	}
	for i, m := range req.Messages {
		text := m.Text()
		if i == len(req.Messages)-1 {
			text = strings.TrimSpace(text + "\n\n" + formOf(req))
		}
		p.Messages = append(p.Messages, &sdk.SamplingMessage{Role: sdk.Role(m.Role), Content: &sdk.TextContent{Text: text}})
	}
	return p
}

func textOf(list ...sdk.Content) string {
	var b strings.Builder
	for _, c := range list {
		if t, ok := c.(*sdk.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func saidBy(answer sdk.InputResponse) (text string, ok bool) {
	switch r := answer.(type) {
	case *sdk.CreateMessageResult:
		return textOf(r.Content), true
	case *sdk.CreateMessageWithToolsResult:
		return textOf(r.Content...), true
	}
	return "", false
}

// state is signed; the client returns it with an answer.
type state struct {
	Session string `json:"s"`
	Step    string `json:"t"`
	Round   int    `json:"r"`
}

// requestSample requests sampling; the client repeats the call with the answer.
func (h *hostedRun) requestSample(ctx context.Context, req *sdk.CallToolRequest, n int) (*sdk.CallToolResult, outcome, error) {
	out, err := h.nextPrompt(ctx, progressFunc(ctx, req), "")
	if err != nil {
		return nil, out, h.cancelIfLeft(ctx, req, err)
	}
	a, _, _ := h.Hosts.nextSample(h.name)
	if out.Step == "" || a == nil || a.id != out.Step {
		return renderOutcome(out), out, nil
	}
	if n > maxRounds {
		out.Reason = "the session needs more steps than one call allows: continue with ponder_step and this session"
		return renderOutcome(out), out, nil
	}
	return &sdk.CallToolResult{
		InputRequests: sdk.InputRequestMap{out.Step: messageFor(a.req)},
		RequestState:  h.signState(state{h.work.ID(), out.Step, n}),
	}, out, nil
}

// continueSampled continues with an answer.
func (c *client) continueSampled(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, outcome, error) {
	st, ok := c.verifyState(req.Params.RequestState)
	if !ok {
		return nil, outcome{}, badParams("requestState is not from this server")
	}
	if st.Step == approvalStep {
		return c.continueApproved(ctx, req, st)
	}
	h, err := c.findHosted(ctx, st.Session)
	if err != nil {
		return nil, outcome{}, err
	}
	text, ok := saidBy(req.Params.InputResponses[st.Step])
	if !ok {
		return nil, outcome{}, badParams("inputResponses has no message for %s", st.Step)
	}
	if err := h.wakeWork(ctx); err != nil {
		return nil, outcome{}, err
	}
	if !h.Hosts.answerSample(h.name, st.Step, textkit.TruncateBytes(text, maxAnswer)) {
		if out, over, err := h.currentOutcome(ctx); err != nil || over {
			return renderOutcome(out), out, err
		}
	}
	return h.requestSample(ctx, req, st.Round+1)
}

func (s *Server) signState(st state) string {
	js, err := json.Marshal(st)
	if err != nil { // strings encode
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(append(s.computeMAC(js), js...))
}

// verifyState verifies and decodes a state.
func (s *Server) verifyState(text string) (st state, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < sha256.Size || !hmac.Equal(b[:sha256.Size], s.computeMAC(b[sha256.Size:])) {
		return st, false
	}
	return st, json.Unmarshal(b[sha256.Size:], &st) == nil
}

func (s *Server) computeMAC(js []byte) []byte {
	m := hmac.New(sha256.New, s.key)
	m.Write(js)
	return m.Sum(nil)
}
