// Package approval decides whether a model may use a tool now.
//
// Tools are read-only or change the world. Read-only tools are always allowed. A tool that
// changes the world has a checklist ([Tool.Needs]), which the conversation must satisfy.
// Otherwise the model gets the missing conditions and the ways to satisfy them. An
// undeclared tool counts as one that changes the world, and needs a confirmation by the
// user.
//
// In plan mode, a tool that changes the world also needs an approved plan that names it.
// [Gate.Plan] enables the mode for all conversations. A message that starts with [PlanMark]
// enables it for the rest of one conversation.
//
// condition.go has the conditions, confirm.go recognizes confirmations, and plan.go finds
// plans. All functions are pure. They compare words; confirm.go lists the words for yes.
package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ponder/internal/toolname"
)

// A Request is a tool call that a model requests.
type Request struct {
	Tool  string
	Args  json.RawMessage
	Turns []Turn // of the conversation, oldest first; the last is the current one
}

// A Turn is a message of the user and the answers to it.
type Turn struct {
	User   string
	Answer []string
}

// A Tool declares a tool and its conditions.
type Tool struct {
	Name    string
	Changes bool        // the world
	Needs   []Condition // all must hold; empty for read-only tools
	Words   []string    // further names of the tool in questions to the user: "remember", "keep"
}

// A Gate checks tool calls. Its zero value declares no tools.
type Gate struct {
	Tools []Tool
	Plan  bool // plan mode is on
}

// Declarations returns the declarations of Ponder's own tools.
func Declarations() []Tool {
	list := []Tool{{
		Name: toolname.Remember, Changes: true, Words: []string{"remember", "keep", "note", "save", "merken", "merke", "notieren"},
		Needs: []Condition{AnyOf(AskedFor("remember", "note", "keep", "save", "memorize", "memorise", "merke", "merk", "notiere"), Confirmed())},
	}}
	for _, name := range []string{
		toolname.Think, toolname.DeepThink, toolname.KnowledgeSearch, toolname.KnowledgeRead, toolname.PersonaMemory, toolname.EarlierSessions, toolname.ThreadRead, toolname.WebSearch, toolname.WebFetch,
	} {
		list = append(list, Tool{Name: name})
	}
	return list
}

// Check returns "" if the tool may be used, or the reason why not, for the model.
func (g Gate) Check(w Request) (reason string) {
	t := g.findTool(w.Tool)
	if !t.Changes {
		return ""
	}
	needs := t.Needs
	if g.inPlanMode(w.Turns) {
		needs = append([]Condition{Planned()}, needs...)
	}
	var missing, held []string
	for _, c := range needs {
		if c.Met(t, w) {
			held = append(held, "[x] "+c.Name)
		} else {
			missing = append(missing, "[ ] "+c.Name+": "+c.Do(t, w))
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("Not done: %.64s changes the world, and not all holds that must:\n%s", t.Name, strings.Join(append(missing, held...), "\n"))
}

// findTool returns the declaration of a tool.
func (g Gate) findTool(name string) Tool {
	i := slices.IndexFunc(g.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{Name: name, Changes: true, Needs: []Condition{Confirmed()}}
	}
	return g.Tools[i]
}
