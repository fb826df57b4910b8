package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/compat/openai"
	"ponder/internal/textkit"
	"ponder/llm"
)

type request struct {
	Model        string            `json:"model"`
	Input        json.RawMessage   `json:"input"` // a text or items
	Instructions json.RawMessage   `json:"instructions"`
	Previous     string            `json:"previous_response_id"`
	Conversation json.RawMessage   `json:"conversation"` // an id, or an object with one
	Tools        []tool            `json:"tools"`
	ToolChoice   json.RawMessage   `json:"tool_choice"`
	Text         json.RawMessage   `json:"text"`
	Reasoning    *effort           `json:"reasoning"`
	Include      []string          `json:"include"`
	Metadata     map[string]string `json:"metadata"`
	MaxOutput    *int              `json:"max_output_tokens"`
	MaxTools     *int              `json:"max_tool_calls"`
	Temperature  *float64          `json:"temperature"`
	TopP         *float64          `json:"top_p"`
	Store        *bool             `json:"store"`
	Background   bool              `json:"background"`
	Stream       bool              `json:"stream"`
	Safety       *string           `json:"safety_identifier"`
	CacheKey     *string           `json:"prompt_cache_key"`

	startsWork bool               // see [compat.Dispatcher.LastTurn]
	refs       map[string]toolRef // tools that are no plain functions, by their names for models
}

type effort struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary"`
}

// A tool is repeated unchanged in responses.
type tool map[string]any

func (t tool) stringField(field string) string {
	s, _ := t[field].(string)
	return s
}

// MarshalJSON implements [json.Marshaler]. Functions have all fields.
func (t tool) MarshalJSON() ([]byte, error) {
	all := map[string]any(t)
	if t.stringField("type") == "function" {
		all = map[string]any{"description": nil, "parameters": nil, "strict": nil}
		for k, v := range t {
			all[k] = v
		}
	}
	return json.Marshal(all)
}

const (
	maxPairs = 16
	maxKey   = 64
	maxValue = 512
)

func (a *api) parseRequest(ctx context.Context, owner string, in *request) (ask compat.Request, err error) {
	m, err := openai.ModelOf(a.desk, in.Model)
	if err == nil {
		err = in.check()
	}
	if err != nil {
		return ask, err
	}
	ask = compat.Request{Owner: owner, Model: m, Temperature: in.Temperature, Keep: in.isStored(), KeepRunning: in.Background, Standalone: !in.isStored()}
	if in.MaxOutput != nil {
		ask.MaxTokens = *in.MaxOutput
	}
	if in.Reasoning != nil {
		ask.Effort = in.Reasoning.Effort
	}
	if ask.System, err = instructionsOf(in.Instructions); err != nil {
		return ask, err
	}
	r := reader{ask: &ask, names: make(map[string]string)}
	if err := in.readTools(&r); err != nil {
		return ask, err
	}
	if ask.Schema, err = schemaOf(in.Text); err != nil {
		return ask, err
	}
	if err := a.setPredecessor(ctx, &r, in); err != nil {
		return ask, err
	}
	items, err := itemsOf(in.Input)
	if err != nil {
		return ask, err
	}
	for i, it := range items {
		if err := r.addItem(fmt.Sprintf("input[%d]", i), it); err != nil {
			return ask, err
		}
	}
	if in.refs = r.refs; len(ask.Tools) == 0 && ask.Schema == nil {
		ask.WebSearch = false // it is on in all conversations
	}
	return ask, in.readChoice(&ask)
}

// isStored reports whether to keep the response. Otherwise it stands alone and leaves no data.
func (in *request) isStored() bool { return in.Store == nil || *in.Store }

func (in *request) check() error {
	switch {
	case in.Background && !in.isStored():
		return compat.InvalidField("store", "store: background responses must be stored; omit store, or set it to true")
	case in.MaxOutput != nil && *in.MaxOutput < 1:
		return compat.InvalidField("max_output_tokens", "max_output_tokens: expected at least 1")
	case in.MaxTools != nil && *in.MaxTools < 1:
		return compat.InvalidField("max_tool_calls", "max_tool_calls: expected at least 1")
	case in.Reasoning != nil && !compat.IsEffort(in.Reasoning.Effort):
		return compat.InvalidField("reasoning.effort", "reasoning.effort: expected none, minimal, low, medium, high, xhigh or max")
	case in.Previous != "" && conversationOf(in.Conversation) != "":
		return compat.InvalidField("previous_response_id", "previous_response_id: not allowed with conversation")
	case !in.isStored() && conversationOf(in.Conversation) != "":
		return compat.InvalidField("store", "store: responses of a conversation must be stored; omit store, or set it to true")
	}
	return checkPairs(in.Metadata)
}

func checkPairs(pairs map[string]string) error {
	if len(pairs) > maxPairs {
		return compat.InvalidField("metadata", "metadata: at most %d pairs", maxPairs)
	}
	for k, v := range pairs {
		if utf8.RuneCountInString(k) > maxKey || utf8.RuneCountInString(v) > maxValue {
			return compat.InvalidField("metadata", "metadata: keys of at most %d letters, and values of at most %d", maxKey, maxValue)
		}
	}
	return nil
}

func instructionsOf(js json.RawMessage) (string, error) {
	var text string
	if len(js) == 0 || json.Unmarshal(js, &text) == nil {
		return text, nil
	}
	items, err := itemsOf(js)
	if err != nil {
		return "", compat.InvalidField("instructions", "instructions: expected a text")
	}
	var ask compat.Request
	r := reader{ask: &ask, names: make(map[string]string)}
	var all []string
	for i, it := range items {
		if err := r.addItem(fmt.Sprintf("instructions[%d]", i), it); err != nil {
			return "", err
		}
	}
	for _, m := range ask.Messages {
		all = append(all, m.Text())
	}
	return strings.TrimSpace(ask.System + "\n\n" + strings.Join(all, "\n\n")), nil
}

// readTools reads the tools.
func (in *request) readTools(r *reader) error { return r.addTools("tools", in.Tools, nil) }

// readChoice reads the tool choice, which may name a tool of an item.
func (in *request) readChoice(ask *compat.Request) (err error) {
	if ask.ToolChoice, err = openai.ChoiceOf(in.ToolChoice); err != nil {
		return err
	}
	if len(ask.Tools) == 0 {
		ask.ToolChoice = ""
	}
	for name, ref := range in.refs {
		if ask.ToolChoice == ref.Name {
			ask.ToolChoice = name
		}
	}
	return nil
}

func schemaOf(js json.RawMessage) (*llm.Schema, error) {
	var in struct {
		Format struct {
			Type   string          `json:"type"`
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	}
	if len(js) > 0 && json.Unmarshal(js, &in) != nil {
		return nil, compat.InvalidField("text", "text.format: expected an object with a type")
	}
	switch f := in.Format; {
	case f.Type == "" || f.Type == "text":
		return nil, nil
	case f.Type == "json_object":
		return &llm.Schema{Name: "answer", JSON: json.RawMessage(`{"type":"object"}`)}, nil
	case f.Type == "json_schema" && len(f.Schema) > 0:
		return &llm.Schema{Name: f.Name, JSON: f.Schema}, nil
	}
	return nil, compat.InvalidField("text.format", "text.format.type: expected text, json_object, or json_schema with a schema")
}

// setPredecessor sets the work or messages to continue.
func (a *api) setPredecessor(ctx context.Context, r *reader, in *request) error {
	ask := r.ask
	if id := conversationOf(in.Conversation); id != "" {
		return a.setConversation(ctx, r, id)
	}
	if in.Previous == "" {
		return nil
	}
	talks := ask.Model.Kind == compat.Chat && !ask.Standalone && len(ask.Tools) == 0 && ask.Schema == nil
	if work, ok := a.desk.LastTurn(ask.Owner, strings.TrimPrefix(in.Previous, prefix)); ok && in.startsWork && talks {
		ask.After = work
		return nil
	}
	j, err := a.findJob(ctx, ask.Owner, in.Previous)
	if err != nil {
		if a.desk.APIErrorOf(err).Status == 404 {
			return &compat.APIError{Status: 400, Field: "previous_response_id", Detail: "Previous response with id '" + textkit.Prefix(in.Previous, maxQuoted) + "' not found."}
		}
		return err
	}
	if j.work.Kind != compat.Exchange && talks {
		ask.After = j.work // continue it, or begin a conversation after it
		return nil
	}
	list, err := a.chainEntries(ctx, j, 0)
	if err != nil {
		return err
	}
	return r.prependItems(list)
}

const maxPredecessors = 200

// chainEntries returns the items of a response and its predecessors.
func (a *api) chainEntries(ctx context.Context, j job, depth int) (list []entry, err error) {
	if j.work.Kind == compat.Chat {
		return a.listEntries(ctx, j.owner, ponder.Info{Thread: ponder.Thread{ID: j.work.Thread}}, j.work.After+1)
	}
	if j.record.Previous != "" && depth < maxPredecessors {
		first, err := a.findJob(ctx, j.owner, j.record.Previous)
		if err == nil {
			list, err = a.chainEntries(ctx, first, depth+1)
		}
		if err != nil && !a.isMissing(err) { // a predecessor was removed
			return nil, err
		}
	}
	more, err := a.itemsOf(ctx, j)
	return append(list, more...), err
}

func conversationOf(js json.RawMessage) string {
	var id string
	if json.Unmarshal(js, &id) == nil {
		return id
	}
	var in struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(js, &in)
	return in.ID
}

type item struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	CallID  string          `json:"call_id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"arguments"` // a text; of a tool search, an object
	Output  json.RawMessage `json:"output"`

	Namespace string          `json:"namespace"`
	Server    string          `json:"server_label"`
	Input     string          `json:"input"`             // of a custom tool
	Tools     []tool          `json:"tools"`             // of a tool search, or additional
	Action    json.RawMessage `json:"action"`            // of a shell
	Operation json.RawMessage `json:"operation"`         // of a patch
	Encrypted string          `json:"encrypted_content"` // of a compaction
}

// argumentText returns the JSON of the arguments.
func (it item) argumentText() string {
	var text string
	if json.Unmarshal(it.Args, &text) == nil {
		return text
	}
	return string(it.Args)
}

func itemsOf(js json.RawMessage) (list []item, err error) {
	var text string
	switch {
	case len(js) == 0 || string(js) == "null":
		return nil, nil
	case json.Unmarshal(js, &text) == nil:
		return []item{{Type: "message", Role: "user", Content: js}}, nil
	case json.Unmarshal(js, &list) != nil:
		return nil, compat.InvalidField("input", "input: expected a text or a list of items")
	}
	return list, nil
}

type reader struct {
	ask   *compat.Request
	names map[string]string  // names of tools by call id
	refs  map[string]toolRef // see request
}

// addItem appends an item, but no items that Ponder made, such as reasoning.
func (r *reader) addItem(where string, it item) error {
	switch it.Type {
	case "message", "":
		return r.addMessage(where, it)
	case "compaction":
		return r.addCompaction(where, it.Encrypted)
	default:
		if known, err := r.addCallItem(where, it); known {
			return err
		}
		if !strings.Contains(it.Type, ":") && !slices.Contains(withoutEffect, it.Type) {
			return compat.InvalidField("input", "%s.type: the item %q is not supported", where, textkit.Prefix(it.Type, maxQuoted))
		}
	}
	return nil
}

// toolName returns the tool of a call.
func (r *reader) toolName(id string) string {
	if name := r.names[id]; name != "" {
		return name
	}
	for _, m := range r.ask.Messages {
		for _, c := range m.Calls() {
			if c.ID == id {
				return c.Name
			}
		}
	}
	return ""
}

func (r *reader) addMessage(where string, it item) error {
	parts, err := openai.PartsOf(where+".content", it.Content)
	if err != nil {
		return err
	}
	switch it.Role {
	case "user":
		r.ask.Messages = append(r.ask.Messages, llm.Message{Role: llm.User, Parts: parts})
	case "assistant":
		r.ask.Messages = append(r.ask.Messages, llm.Message{Role: llm.Assistant, Parts: parts})
	case "system", "developer":
		r.ask.System = strings.TrimSpace(r.ask.System + "\n\n" + llm.Message{Parts: parts}.Text())
	default:
		return compat.InvalidField("input", "%s.role: expected user, assistant, system or developer", where)
	}
	return nil
}

// addAssistant extends the last message if it is the assistant's.
func (r *reader) addAssistant(p llm.Part) {
	if n := len(r.ask.Messages); n > 0 && r.ask.Messages[n-1].Role == llm.Assistant {
		m := &r.ask.Messages[n-1]
		m.Parts = append(m.Parts[:len(m.Parts):len(m.Parts)], p)
		return
	}
	r.ask.Messages = append(r.ask.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{p}})
}

// addToolResult appends a tool result. Results of a round share a message.
func (r *reader) addToolResult(p llm.Part) {
	if n := len(r.ask.Messages); n > 0 && r.ask.Messages[n-1].Role == llm.User && r.ask.Messages[n-1].Parts[0].Result != nil {
		m := &r.ask.Messages[n-1]
		m.Parts = append(m.Parts[:len(m.Parts):len(m.Parts)], p)
		return
	}
	r.ask.Messages = append(r.ask.Messages, llm.Message{Role: llm.User, Parts: []llm.Part{p}})
}
