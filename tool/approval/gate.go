// Package approval decides whether a tool that a model wishes for may be used now.
//
// A tool looks, or it changes the world. One that looks is always let through. One
// that changes the world has a checklist ([Tool.Needs]), which must be satisfied by
// what was said and done in the conversation; if it is not, the model is told what is
// missing, and what to do about it. A tool that nobody has declared is taken to
// change the world, and needs the user's word.
//
// In plan mode no tool that changes the world is used before the user has approved a
// plan that names it. The mode is on where [Gate.Plan] says so, and in a conversation
// from a message on that begins with [PlanMark].
//
// condition.go has what checklists are made of, confirm.go says when a user has
// confirmed a call, plan.go finds plans. All of it is pure and reads nothing but what
// it is given. It goes by words: what it takes for a yes, confirm.go says.
package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ponder/internal/toolname"
)

// A Wish is a call of a tool that a model wishes for.
type Wish struct {
	Tool  string
	Args  json.RawMessage
	Turns []Turn // of the conversation, oldest first; the last is the one that goes on
}

// A Turn is a message of the user and what came of it so far.
type Turn struct {
	User   string
	Answer []string // what was said to the user
}

// A Tool says what a tool does, and when it may.
type Tool struct {
	Name    string
	Changes bool        // the world
	Needs   []Condition // all of them; for a tool that looks, none
	Words   []string    // beside its name, what it is called when the user is asked: "remember", "keep"
}

// A Gate knows tools. Its zero value knows none.
type Gate struct {
	Tools []Tool
	Plan  bool // plan mode is on
}

// Ours returns the tools of Ponder.
func Ours() []Tool {
	list := []Tool{{
		Name: toolname.Remember, Changes: true, Words: []string{"remember", "keep", "note", "save", "merken", "merke", "notieren"},
		Needs: []Condition{Either(Asked("remember", "note", "keep", "save", "memorize", "memorise", "merke", "merk", "notiere"), Confirmed())},
	}}
	for _, name := range []string{
		toolname.Think, toolname.DeepThink, toolname.KnowledgeSearch, toolname.KnowledgeRead, toolname.PersonaMemory, toolname.EarlierSessions, toolname.ThreadRead, toolname.WebSearch, toolname.WebFetch,
	} {
		list = append(list, Tool{Name: name})
	}
	return list
}

// Check returns why a tool is not used now, in words for the model that wishes for
// it; or "" if it may be used.
func (g Gate) Check(w Wish) (reason string) {
	t := g.tool(w.Tool)
	if !t.Changes {
		return ""
	}
	needs := t.Needs
	if g.planning(w.Turns) {
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

// tool returns what is known of a tool.
func (g Gate) tool(name string) Tool {
	i := slices.IndexFunc(g.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{Name: name, Changes: true, Needs: []Condition{Confirmed()}}
	}
	return g.Tools[i]
}
