package responses

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"ponder"
	"ponder/internal/compat"
	"ponder/llm"
)

// What is compacted is summed up by the model. The summary is the client's to keep: it is
// sent back as an item of the input, whose content is not to be read by programs but is
// no secret to its owner.

const compactionPrompt = `Summarise the conversation so far for the assistant who goes on with it and will see nothing else of it but what the user said.
Keep facts, names, numbers, decisions, open questions and what was tried, in the language of the conversation. Write only the summary.`

const (
	compactionMark = "ponder1."
	maxCompacted   = 256 << 10 // bytes of a summary that is sent back
	compactTime    = 5 * time.Minute
)

// compacted adds what was said before, as a compaction has it.
func (r *reader) compacted(where, sealed string) error {
	text, ok := strings.CutPrefix(sealed, compactionMark)
	js, err := base64.RawURLEncoding.DecodeString(text)
	var summary string
	if !ok || err != nil || len(js) > maxCompacted || json.Unmarshal(js, &summary) != nil {
		return compat.Wrong("input", "%s.encrypted_content: expected what /v1/responses/compact has returned", where)
	}
	r.ask.Messages = append(r.ask.Messages, llm.Say(llm.User, "What was said so far, in short:\n\n"+summary))
	return nil
}

// compact sums up a conversation.
func (a *api) compact(w http.ResponseWriter, r *http.Request, owner string) error {
	var in request
	if _, err := compat.Read(r, &in); err != nil {
		return err
	}
	no := false
	in.Store, in.Tools, in.Text, in.Background = &no, nil, nil, false
	ask, err := a.ask(r.Context(), owner, &in)
	if err != nil {
		return err
	}
	if len(ask.Messages) == 0 {
		return compat.Wrong("input", "input: there is nothing to compact")
	}
	said := ask.Messages
	ask.Messages = append(said[:len(said):len(said)], llm.Say(llm.User, compactionPrompt))
	ask.Model.Way, ask.NoWeb, ask.NoMemory = compat.Chat, true, true
	ctx, cancel := context.WithTimeout(r.Context(), compactTime)
	defer cancel()
	work, err := a.desk.Begin(ctx, ask)
	if err != nil {
		return ours(err)
	}
	defer func() {
		if err := a.desk.Service.Remove(context.WithoutCancel(ctx), work.Thread); err != nil {
			a.desk.FaultOf(err) // which logs it
		}
	}()
	end, err := a.desk.Wait(ctx, work, func(compat.Part) error { return nil }, nil, nil)
	if err != nil {
		return err
	}
	if end.Status != ponder.Completed || strings.TrimSpace(end.Text) == "" {
		return &compat.Fault{Status: http.StatusServiceUnavailable, Detail: "the model has not summed it up: try again"}
	}
	return replyCompacted(w, said, end)
}

// replyCompacted answers with what the user said, and the summary.
func replyCompacted(w http.ResponseWriter, said []llm.Message, end compat.End) error {
	output := []any{}
	for _, m := range said {
		if text := m.Text(); m.Role == llm.User && text != "" {
			output = append(output, map[string]any{
				"id": ponder.NewID("msg"), "type": "message", "role": "user", "status": completed,
				"content": []any{map[string]any{"type": "input_text", "text": text}},
			})
		}
	}
	js, err := json.Marshal(end.Text)
	if err != nil {
		return fmt.Errorf("seal a summary: %w", err)
	}
	output = append(output, map[string]any{
		"id": ponder.NewID("cmp"), "type": "compaction", "encrypted_content": compactionMark + base64.RawURLEncoding.EncodeToString(js),
	})
	return compat.Reply(w, http.StatusOK, map[string]any{
		"id": ponder.NewID("resp"), "object": "response.compaction", "created_at": time.Now().Unix(), "output": output, "usage": usageOf(end.Usage),
	})
}

// tokens answers with about how many tokens an input has.
func (a *api) tokens(w http.ResponseWriter, r *http.Request, owner string) error {
	var in request
	if _, err := compat.Read(r, &in); err != nil {
		return err
	}
	in.Model = cmp.Or(in.Model, "ponder/chat")
	ask, err := a.ask(r.Context(), owner, &in)
	if err != nil {
		return err
	}
	var e llm.Estimator
	n := e.Tokens(ask.Model.Model, (&llm.Request{System: ask.System, Messages: ask.Messages, Tools: ask.Tools, Schema: ask.Schema}).Size())
	return compat.Reply(w, http.StatusOK, map[string]any{"object": "response.input_tokens", "input_tokens": n})
}
