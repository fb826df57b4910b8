package responses

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ponder/internal/compat"
	"ponder/internal/compat/openai"
	"ponder/internal/textkit"
	"ponder/internal/toolname"
	"ponder/llm"
)

// A toolRef is a tool that is no plain function. Models have only functions, so such a tool has another
// name there, and its calls return in the client's form.
type toolRef struct {
	Kind      string `json:"kind"` // function, custom or tool_search
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

const (
	kindFunction = "function"
	kindCustom   = "custom"
	kindSearch   = "tool_search"
)

// hosted are tools of OpenAI's server without effect. Without tools of the client, Ponder's memory is
// always on.
var hosted = []string{"file_search", "code_interpreter"}

const maxToolName = 64

// modelName returns the name of a tool for models.
func modelName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	full := namespace + "__" + name
	if len(full) > maxToolName {
		sum := sha256.Sum256([]byte(full))
		full = full[:maxToolName-9] + "_" + hex.EncodeToString(sum[:4])
	}
	return full
}

// addTools adds tools of the client. Errors name where.
func (r *reader) addTools(where string, list []tool, namespace tool) error {
	for i, t := range list {
		at := fmt.Sprintf("%s[%d]", where, i)
		kind, name := t.stringField("type"), t.stringField("name")
		switch {
		case kind == kindFunction || kind == kindCustom:
			if name == "" {
				return compat.InvalidField("tools", "%s.name is required", at)
			}
			if err := r.addTool(at, t, namespace); err != nil {
				return err
			}
		case namespace != nil:
			return compat.InvalidField("tools", "%s.type: %q is not allowed in a namespace", at, textkit.Prefix(kind, maxQuoted))
		case kind == "namespace":
			if name == "" {
				return compat.InvalidField("tools", "%s.name is required", at)
			}
			var inner []tool
			if js, err := json.Marshal(t["tools"]); err != nil || json.Unmarshal(js, &inner) != nil {
				return compat.InvalidField("tools", "%s.tools: expected a list of tools", at)
			}
			if err := r.addTools(at+".tools", inner, t); err != nil {
				return err
			}
		case kind == kindSearch:
			if t.stringField("execution") == "client" { // otherwise all tools are offered at once
				named := maps.Clone(t)
				named["name"] = kindSearch
				if err := r.addTool(at, named, nil); err != nil {
					return err
				}
			}
		case strings.HasPrefix(kind, toolname.WebSearch): // there are several versions
			r.ask.WebSearch = true
		case slices.Contains(hosted, kind):
		default:
			return compat.InvalidField("tools", "%s.type: the tool %q is not supported; expected function, custom, namespace, tool_search or web_search", at, textkit.Prefix(kind, maxQuoted))
		}
	}
	return nil
}

// addTool adds a tool as a function. A later tool replaces an earlier one of the same name.
func (r *reader) addTool(where string, t, namespace tool) error {
	ref := toolRef{t.stringField("type"), t.stringField("name"), namespace.stringField("name")}
	made := llm.Tool{Name: modelName(ref.Namespace, ref.Name), Doc: t.stringField("description")}
	if about := namespace.stringField("description"); about != "" {
		made.Doc = strings.TrimSpace(made.Doc + "\nPart of: " + about)
	}
	js, err := json.Marshal(t["parameters"])
	switch {
	case err != nil:
		return compat.InvalidField("tools", "%s.parameters: expected an object", where)
	case ref.Kind == kindCustom:
		made.Schema = json.RawMessage(`{"type":"object","properties":{"input":{"type":"string","description":"the complete input of the tool, as plain text"}},"required":["input"],"additionalProperties":false}`)
		if format, ok := t["format"].(map[string]any); ok && format["type"] == "grammar" {
			made.Doc = strings.TrimSpace(fmt.Sprintf("%s\nThe input follows this grammar (%v):\n%v", made.Doc, format["syntax"], format["definition"]))
		}
	case string(js) != "null":
		made.Schema = js
	}
	if ref.Kind != kindFunction || ref.Namespace != "" {
		if r.refs == nil {
			r.refs = make(map[string]toolRef)
		}
		r.refs[made.Name] = ref
	}
	r.ask.Tools = append(slices.DeleteFunc(r.ask.Tools, func(o llm.Tool) bool { return o.Name == made.Name }), made)
	return nil
}

// withoutEffect are items that repeat what the server did itself, or that only their maker can read.
var withoutEffect = []string{
	"item_reference", "reasoning", "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
	"mcp_list_tools", "configuration_update", "program", "program_output",
}

// addCallItem appends a call of a tool or its output. It returns false for other items.
func (r *reader) addCallItem(where string, it item) (bool, error) {
	switch it.Type {
	case "function_call":
		return true, r.addCall(it.CallID, modelName(it.Namespace, it.Name), openai.InputOf(it.argumentText()))
	case "custom_tool_call":
		js, err := json.Marshal(map[string]string{"input": it.Input})
		if err != nil {
			return true, err
		}
		return true, r.addCall(it.CallID, modelName(it.Namespace, it.Name), js)
	case "tool_search_call":
		if it.CallID == "" { // run by the server
			return true, nil
		}
		return true, r.addCall(it.CallID, kindSearch, openai.InputOf(it.argumentText()))
	case "tool_search_output":
		return true, r.addSearchOutput(where, it)
	case "additional_tools":
		return true, r.addTools(where+".tools", it.Tools, nil)
	case "mcp_call":
		if err := r.addCall(it.ID, modelName(it.Server, it.Name), openai.InputOf(it.argumentText())); err != nil {
			return true, err
		}
		it.CallID = it.ID
		return true, r.addOutput(where, it)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "shell_call_output", "apply_patch_call_output":
		return true, r.addOutput(where, it)
	case "local_shell_call", "shell_call", "apply_patch_call":
		input := it.Action
		if len(input) == 0 {
			input = it.Operation
		}
		return true, r.addCall(cmp.Or(it.CallID, it.ID), strings.TrimSuffix(it.Type, "_call"), openai.InputOf(string(input)))
	}
	return false, nil
}

func (r *reader) addCall(id, name string, input json.RawMessage) error {
	r.names[id] = name
	r.addAssistant(llm.Part{Call: &llm.ToolCall{ID: id, Name: name, Input: input}})
	return nil
}

func (r *reader) addOutput(where string, it item) error {
	id := cmp.Or(it.CallID, it.ID)
	name := r.toolName(id)
	if name == "" {
		return compat.InvalidField("input", "%s: No tool call found for %s with call_id %s.", where, strings.ReplaceAll(it.Type, "_", " "), textkit.Prefix(id, maxQuoted))
	}
	var text string
	if parts, err := openai.PartsOf(where+".output", it.Output); err == nil {
		text = llm.Message{Parts: parts}.Text()
	} else if it.Type == "function_call_output" || it.Type == "custom_tool_call_output" {
		return err
	} else {
		text = string(it.Output)
	}
	r.addToolResult(llm.Part{Result: &llm.ToolResult{ID: id, Name: name, Text: text}})
	return nil
}

// addSearchOutput adds the tools that the client found.
func (r *reader) addSearchOutput(where string, it item) error {
	before := len(r.ask.Tools)
	if err := r.addTools(where+".tools", it.Tools, nil); err != nil || it.CallID == "" {
		return err
	}
	if r.toolName(it.CallID) == "" {
		return compat.InvalidField("input", "%s: No tool call found for tool search output with call_id %s.", where, textkit.Prefix(it.CallID, maxQuoted))
	}
	text := "No tools were found."
	var names []string
	for _, t := range r.ask.Tools[min(before, len(r.ask.Tools)):] {
		names = append(names, t.Name)
	}
	if len(names) > 0 {
		text = "These tools are available now: " + strings.Join(names, ", ")
	}
	r.addToolResult(llm.Part{Result: &llm.ToolResult{ID: it.CallID, Name: kindSearch, Text: text}})
	return nil
}

// mergeTools adds the tools of earlier items to those of the request, which win.
func (r *reader) mergeTools(earlier reader) {
	for _, t := range earlier.ask.Tools {
		if !slices.ContainsFunc(r.ask.Tools, func(o llm.Tool) bool { return o.Name == t.Name }) {
			r.ask.Tools = append(r.ask.Tools, t)
		}
	}
	refs := maps.Clone(earlier.refs)
	if refs == nil {
		refs = make(map[string]toolRef)
	}
	maps.Copy(refs, r.refs)
	r.refs = refs
}

type customCallItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Input     string `json:"input"`
}

type searchCallItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Status    string          `json:"status"`
	CallID    string          `json:"call_id"`
	Execution string          `json:"execution"`
	Arguments json.RawMessage `json:"arguments"`
}

// addReferredCall emits the call of a tool that is no plain function.
func (f *fold) addReferredCall(p compat.Part, ref toolRef) {
	switch ref.Kind {
	case kindSearch:
		f.addWhole("tsc", func(id string) any {
			return searchCallItem{id, "tool_search_call", completed, p.Call.ID, "client", objectOf(p.Call.Input)}
		})
	default:
		input := customInput(p.Call.Input)
		item := customCallItem{Type: "custom_tool_call", Status: inProgress, CallID: p.Call.ID, Name: ref.Name, Namespace: ref.Namespace}
		o := f.addItem("ctc", func(id string) any { item.ID = id; return item })
		f.emit(event{Type: "response.custom_tool_call_input.delta", ItemID: o.id, Index: &o.index, Delta: &input})
		f.emit(event{Type: "response.custom_tool_call_input.done", ItemID: o.id, Index: &o.index, Input: &input})
		item.Status, item.Input = completed, input
		f.closeItem(o, item)
	}
}

// customInput returns the text of a call of a custom tool.
func customInput(js json.RawMessage) string {
	var in struct{ Input *string }
	if json.Unmarshal(js, &in) == nil && in.Input != nil {
		return *in.Input
	}
	var text string
	if json.Unmarshal(js, &text) == nil {
		return text
	}
	return string(js)
}

func objectOf(js json.RawMessage) json.RawMessage {
	if object, ok := compat.SchemaOf(js); ok && object != nil {
		return object
	}
	return json.RawMessage(`{}`)
}
