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
	"ponder/internal/app"
	"ponder/internal/compat"
	"ponder/internal/textkit"
	"ponder/llm"
)

// conv_X is the thread thr_X. Internal events hold its metadata, added items, and responses on other threads.

const conversationPrefix = "conv_"

// The sensors of these events.
const (
	conversationNoted = "openai.conversation" // metadata
	itemsNoted        = "openai.items"        // added items
	workNoted         = "openai.work"         // a response on another thread
	itemGone          = "openai.item.gone"    // a removed item
	conversationCause = "openai-conversation"
)

type conversation struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Created  int64             `json:"created_at"`
	Metadata map[string]string `json:"metadata"`
}

func (a *api) changeConversations() map[string]compat.Handler {
	return map[string]compat.Handler{
		"POST /v1/conversations":                     a.newConversation,
		"POST /v1/conversations/{id}":                a.inThread(a.changeConversation),
		"DELETE /v1/conversations/{id}":              a.inThread(a.removeConversation),
		"POST /v1/conversations/{id}/items":          a.inThread(a.addItems),
		"DELETE /v1/conversations/{id}/items/{item}": a.removeItem,
	}
}

func (a *api) readConversations() map[string]compat.Handler {
	return map[string]compat.Handler{
		"GET /v1/conversations/{id}":              a.inThread(a.getConversation),
		"GET /v1/conversations/{id}/items":        a.inThread(a.listItems),
		"GET /v1/conversations/{id}/items/{item}": a.getItem,
	}
}

func (a *api) findConversation(ctx context.Context, owner, id string) (ponder.Info, error) {
	missing := &compat.APIError{Status: http.StatusNotFound, Detail: "Conversation with id '" + textkit.Prefix(id, maxQuoted) + "' not found."}
	name, ok := strings.CutPrefix(id, conversationPrefix)
	if !ok {
		return ponder.Info{}, missing
	}
	info, err := a.desk.Store.Thread(ctx, ponder.ThreadID("thr_"+name))
	if a.isMissing(err) || err == nil && (info.Owner != owner || info.Kind != ponder.KindConversation) {
		return ponder.Info{}, missing
	}
	if err != nil {
		return info, fmt.Errorf("find a conversation: %w", err)
	}
	return info, nil
}

func (a *api) inThread(do func(http.ResponseWriter, *http.Request, ponder.Info) error) compat.Handler {
	return func(w http.ResponseWriter, r *http.Request, owner string) error {
		info, err := a.findConversation(r.Context(), owner, r.PathValue("id"))
		if err != nil {
			return err
		}
		return do(w, r, info)
	}
}

type conversationInput struct {
	Items    []map[string]any  `json:"items"`
	Metadata map[string]string `json:"metadata"`
}

// maxAdded is per request.
const maxAdded = 20

func (p *conversationInput) readInput(r *http.Request) error {
	if _, err := compat.Read(r, p); err != nil {
		return err
	}
	if err := checkPairs(p.Metadata); err != nil {
		return err
	}
	if len(p.Items) > maxAdded {
		return compat.InvalidField("items", "items: at most %d at once", maxAdded)
	}
	js, err := json.Marshal(p.Items)
	if err != nil {
		return fmt.Errorf("read items: %w", err)
	}
	if _, err := messagesOf(js, nil); err != nil {
		return err
	}
	for _, it := range p.Items {
		it["id"] = itemID(it)
	}
	fillItems(p.Items, "")
	return nil
}

func itemID(it map[string]any) string {
	kind := map[any]string{"function_call": "fc", "function_call_output": "fco", "reasoning": "rs"}[it["type"]]
	kind = cmp.Or(kind, "msg")
	return ponder.NewID(kind)
}

func (a *api) newConversation(w http.ResponseWriter, r *http.Request, owner string) error {
	var in conversationInput
	if r.ContentLength != 0 {
		if err := in.readInput(r); err != nil {
			return err
		}
	}
	ctx := context.WithoutCancel(r.Context())
	id := ponder.ThreadID(ponder.NewID("thr"))
	if err := a.desk.Service.Open(ctx, owner, id, app.Conversation{}); err != nil {
		return err
	}
	err := a.desk.StoreRecord(ctx, id, conversationCause, conversationNoted, in.Metadata)
	if err == nil && len(in.Items) > 0 {
		err = a.desk.StoreRecord(ctx, id, ponder.NewID("items"), itemsNoted, in.Items)
	}
	if err != nil {
		return err
	}
	return a.replyConversation(w, r, id)
}

func (a *api) replyConversation(w http.ResponseWriter, r *http.Request, id ponder.ThreadID) error {
	info, err := a.desk.Store.Thread(r.Context(), id)
	if err != nil {
		return fmt.Errorf("find a conversation: %w", err)
	}
	c := conversation{ID: conversationPrefix + strings.TrimPrefix(string(id), "thr_"), Object: "conversation", Created: info.Created.Unix()}
	for ev, err := range a.desk.Store.Events(r.Context(), id, 0) {
		if err != nil {
			return fmt.Errorf("read %s: %w", id, err)
		}
		if b, ok := ev.Body.(ponder.Observation); ok && b.Sensor == conversationNoted && !ev.Erased {
			c.Metadata = nil
			if err := json.Unmarshal([]byte(b.Content), &c.Metadata); err != nil {
				return fmt.Errorf("read a conversation: %w", err)
			}
		}
	}
	if c.Metadata == nil {
		c.Metadata = map[string]string{}
	}
	return compat.Reply(w, http.StatusOK, c)
}

func (a *api) getConversation(w http.ResponseWriter, r *http.Request, info ponder.Info) error {
	return a.replyConversation(w, r, info.ID)
}

func (a *api) changeConversation(w http.ResponseWriter, r *http.Request, info ponder.Info) error {
	var in conversationInput
	if err := in.readInput(r); err != nil {
		return err
	}
	if err := a.desk.StoreRecord(r.Context(), info.ID, ponder.NewID("conv"), conversationNoted, in.Metadata); err != nil {
		return err
	}
	return a.replyConversation(w, r, info.ID)
}

func (a *api) removeConversation(w http.ResponseWriter, r *http.Request, info ponder.Info) error {
	list, err := a.listEntries(r.Context(), info.Owner, info, 0)
	if err != nil {
		return err
	}
	for _, e := range list { // with its responses on other threads
		if e.otherThread == "" {
			continue
		}
		if err := a.desk.Service.Remove(r.Context(), e.otherThread); err != nil && !a.isMissing(err) {
			return err
		}
	}
	if err := a.desk.Service.Remove(r.Context(), info.ID); err != nil {
		return err
	}
	return compat.Reply(w, http.StatusOK, map[string]any{"id": r.PathValue("id"), "object": "conversation.deleted", "deleted": true})
}

// The client keeps the summary and returns it as an input item. It is encoded, not encrypted.

const compactionPrompt = `Summarise the conversation so far for the assistant who goes on with it and will see nothing else of it but what the user said.
Keep facts, names, numbers, decisions, open questions and what was tried, in the language of the conversation. Write only the summary.`

const (
	compactionMark = "ponder1."
	maxCompacted   = 256 << 10 // bytes of a summary
	compactTime    = 5 * time.Minute
)

// addCompaction appends a summary.
func (r *reader) addCompaction(where, sealed string) error {
	text, ok := strings.CutPrefix(sealed, compactionMark)
	js, err := base64.RawURLEncoding.DecodeString(text)
	var summary string
	if !ok || err != nil || len(js) > maxCompacted || json.Unmarshal(js, &summary) != nil {
		return compat.InvalidField("input", "%s.encrypted_content: expected a value from /v1/responses/compact", where)
	}
	r.ask.Messages = append(r.ask.Messages, llm.Say(llm.User, "What was said so far, in short:\n\n"+summary))
	return nil
}

func (a *api) compact(w http.ResponseWriter, r *http.Request, owner string) error {
	var in request
	if _, err := compat.Read(r, &in); err != nil {
		return err
	}
	no := false
	in.Store, in.Tools, in.Text, in.Background = &no, nil, nil, false
	ask, err := a.parseRequest(r.Context(), owner, &in)
	if err != nil {
		return err
	}
	if len(ask.Messages) == 0 {
		return compat.InvalidField("input", "input: the list is empty; send the messages to compact")
	}
	said := ask.Messages
	ask.Messages = append(said[:len(said):len(said)], llm.Say(llm.User, compactionPrompt))
	ask.Model.Kind, ask.NoWeb, ask.NoMemory = compat.Chat, true, true
	ctx, cancel := context.WithTimeout(r.Context(), compactTime)
	defer cancel()
	work, err := a.desk.Begin(ctx, ask)
	if err != nil {
		return renameField(err)
	}
	defer func() {
		if err := a.desk.Service.Remove(context.WithoutCancel(ctx), work.Thread); err != nil {
			a.desk.APIErrorOf(err) // logs the error
		}
	}()
	end, err := a.desk.Wait(ctx, work, func(compat.Part) error { return nil }, nil, nil)
	if err != nil {
		return err
	}
	if end.Status != ponder.Completed || strings.TrimSpace(end.Text) == "" {
		return &compat.APIError{Status: http.StatusServiceUnavailable, Detail: "the model returned no summary; try again"}
	}
	return replyCompacted(w, said, end)
}

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

// countTokens returns an estimate.
func (a *api) countTokens(w http.ResponseWriter, r *http.Request, owner string) error {
	var in request
	if _, err := compat.Read(r, &in); err != nil {
		return err
	}
	in.Model = cmp.Or(in.Model, "ponder/chat")
	ask, err := a.parseRequest(r.Context(), owner, &in)
	if err != nil {
		return err
	}
	var e llm.Estimator
	n := e.Tokens(ask.Model.Model, (&llm.Request{System: ask.System, Messages: ask.Messages, Tools: ask.Tools, Schema: ask.Schema}).Size())
	return compat.Reply(w, http.StatusOK, map[string]any{"object": "response.input_tokens", "input_tokens": n})
}
