// Package approval decides whether a model may use a tool now, whether Ponder must ask the user, or
// whether the call is refused.
//
// Each tool has an [Effect]. Calls that act, and calls that can send data out of a context with
// untrusted text, need the approval of the user. The user approves a question that Ponder itself
// asks, with the exact tool and arguments: no text of a model asks, and no text of a message
// approves. See [ponder.ApprovalRequested]. A policy of the user changes how often Ponder asks.
//
// In plan mode, a tool that acts also needs an approved plan that names it. [Gate.Plan] enables
// the mode for all conversations. A message that starts with [PlanMark] enables it for the rest of
// one conversation.
//
// gate.go decides, remember.go finds the statement that the user wants to store, plan.go finds
// plans, and question.go shows a call. All functions are pure.
package approval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"ponder/internal/taint"
	"ponder/internal/toolname"
)

// An Effect is what a tool does outside the conversation.
type Effect int

// The effects.
const (
	Act      Effect = iota // it changes something; the zero value, for tools that are not declared
	Local                  // it reads on this machine
	Search                 // it sends a query to a search provider
	Fetch                  // it sends a request to an address
	Ask                    // it sends its arguments to a server that only reads
	Remember               // it stores a memory
)

// Policies say how often Ponder asks for the approval of a tool.
const (
	Always = "ask"   // each call
	Once   = "once"  // the first call in a conversation
	Never  = "never" // no call: the user trusts the model with the tool
)

// A Request is a tool call that a model requests.
type Request struct {
	Tool     string
	Args     json.RawMessage
	Turns    []Turn     // of the conversation, oldest first; the last is the current one
	View     taint.View // the texts that the model has read
	Returned []string   // what the server of the tool has returned in this turn
	Approved []string   // tools of which the user approved a call in this conversation
	Alone    bool       // no user can answer a question
}

// A Turn is a message of the user and the answers to it.
type Turn struct {
	User   string
	Answer []string
}

// A Tool declares a tool.
type Tool struct {
	Name   string
	Effect Effect
	Server string // the MCP server that it belongs to, or empty
}

// A Gate decides on tool calls. Its zero value declares no tools.
type Gate struct {
	Tools  []Tool
	Policy map[string]string // by tool; the default depends on the effect
	Plan   bool              // plan mode is on
}

// Declarations returns the declarations of Ponder's own tools.
func Declarations() []Tool {
	list := []Tool{{Name: toolname.Remember, Effect: Remember}, {Name: toolname.WebSearch, Effect: Search}, {Name: toolname.WebFetch, Effect: Fetch}}
	for _, name := range []string{
		toolname.Think, toolname.DeepThink, toolname.KnowledgeSearch, toolname.KnowledgeRead, toolname.PersonaMemory, toolname.EarlierSessions, toolname.ThreadRead,
	} {
		list = append(list, Tool{Name: name, Effect: Local})
	}
	return list
}

// Reasons of questions, for users.
const (
	actsReason   = "it acts outside the conversation"
	fetchReason  = "the model has read text of strangers, and neither you nor a search for your question named this address"
	askReason    = "the model has read text of strangers, and the arguments are not only your words"
	searchReason = "the model has read text of strangers, and most words of the query are private: only your notes or earlier messages have them"
	rememberText = "the statement is not in your message"
)

// Decide decides on a call.
func (g Gate) Decide(r Request) taint.Decision {
	i := slices.IndexFunc(g.Tools, func(t Tool) bool { return t.Name == r.Tool })
	effect := Act
	if i >= 0 {
		effect = g.Tools[i].Effect
	}
	if (effect == Act || effect == Remember) && g.inPlanMode(r.Turns) && !isPlanned(r) {
		return taint.Decision{Refusal: fmt.Sprintf(planMissing, r.Tool)}
	}
	switch effect {
	case Local:
		return taint.Decision{}
	case Search:
		return g.decideSearch(r)
	case Fetch:
		if !r.View.IsExposed() || r.View.IsKnown(textOf(r.Args, "url")) {
			return taint.Decision{}
		}
		return g.ask(r, Always, fetchReason)
	case Ask:
		text, ok := taint.ArgumentText(r.Args)
		if !r.View.IsTainted() || ok && r.View.IsReturned(text, r.Returned...) {
			return taint.Decision{}
		}
		if !ok || !r.View.IsOwn(text) { // an earlier approval was for other data
			return g.ask(r, Always, askReason)
		}
		return g.ask(r, Once, askReason)
	case Remember:
		if args := ownStatement(r); args != nil {
			return taint.Decision{Args: args}
		}
		d := g.ask(r, Always, rememberText)
		d.Args = markUntrusted(r)
		return d
	}
	return g.ask(r, Always, actsReason)
}

// ask returns the decision on a call that needs an approval, by the policy of its tool.
func (g Gate) ask(r Request, usual, reason string) taint.Decision {
	policy := cmp.Or(g.Policy[r.Tool], usual)
	switch {
	case policy == Never, policy == Once && slices.Contains(r.Approved, r.Tool):
		return taint.Decision{}
	case r.Alone:
		return taint.Decision{Refusal: fmt.Sprintf("Not run: %.64s needs the approval of the user, who cannot be asked here: %s.", r.Tool, reason)}
	case len(r.Args) > maxShown:
		return taint.Decision{Refusal: fmt.Sprintf("Not run: the arguments have more than %d bytes, too many for the user to check. Use shorter ones.", maxShown)}
	}
	return taint.Decision{Ask: reason}
}

// decideSearch decides on a search after untrusted text. It removes private words from the query. If
// they are most of it, Ponder asks.
func (g Gate) decideSearch(r Request) taint.Decision {
	if !r.View.IsExposed() {
		return taint.Decision{}
	}
	var in map[string]json.RawMessage
	if json.Unmarshal(r.Args, &in) != nil {
		return taint.Decision{}
	}
	query, isMost := r.View.OwnQuery(textOf(r.Args, "query"))
	switch {
	case !isMost:
		return g.ask(r, Always, searchReason)
	case query == "":
		return taint.Decision{Refusal: "Not run: the query contains only addresses. Search with words of the question."}
	}
	out := make(map[string]json.RawMessage)
	for _, key := range []string{"limit", "offset", "from", "to", "seconds", "fresh"} {
		if v, ok := in[key]; ok && len(v) <= 40 {
			out[key] = v
		}
	}
	for _, key := range []string{"domains", "without", "prefer"} {
		var hosts []string
		if json.Unmarshal(in[key], &hosts) != nil {
			continue
		}
		hosts = slices.DeleteFunc(hosts, func(h string) bool { return !r.View.IsOwn(h) })
		if len(hosts) > 0 {
			out[key], _ = json.Marshal(hosts) // strings never fail
		}
	}
	out["query"], _ = json.Marshal(query)
	args, _ := json.Marshal(out)
	return taint.Decision{Args: args}
}

// textOf returns a text argument, or "".
func textOf(args json.RawMessage, key string) (text string) {
	var in map[string]json.RawMessage
	if json.Unmarshal(args, &in) == nil {
		_ = json.Unmarshal(in[key], &text)
	}
	return text
}
