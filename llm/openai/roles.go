package openai

import (
	"slices"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

// Some chat templates have no system role, or want users and assistants strictly in turn.
// No server says so before it refuses a request.

// refusedRoles returns the roles that a refusal in lower case names: [featSystem], or
// [featTurns] with [featSystem], which some templates refuse with the same words.
func refusedRoles(class llm.Class, text string) feature {
	switch class {
	case llm.BadRequest, llm.NotFound, llm.Transient, llm.Malformed: // llama.cpp has status 500
	default:
		return 0
	}
	names := func(phrases ...string) bool {
		return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
	}
	switch {
	case names("roles must alternate", "roles should alternate", "roles should be alternating", "must alternate between", "should alternate between",
		"alternate user and assistant", "alternating user", "role 'user' after role", "consecutive messages with the same role", "consecutive user messages"):
		return featTurns | featSystem
	case names("only user and assistant roles", "only user, assistant", "only 'user' and 'assistant'", "only user or assistant"):
		return featSystem
	case !names("not support", "unsupported", "not enabled", "not allowed", "not available", "invalid", "unexpected", "unknown", "must be", "only "):
		return 0
	case names("system role", "role system", "role: system", "system message", "system prompt", "system instruction", "'system'", `"system"`, "`system`",
		"developer role", "developer instruction", "developer message", "'developer'", `"developer"`, "`developer`"):
		return featSystem
	}
	return 0
}

// turnRules tell how to write a conversation, and what a server may refuse of it.
type turnRules struct {
	bare   bool // omit opaque parts
	strict bool // join neighbours of equal roles
	apart  bool // text of no message has an object, as far as possible

	opaque bool // has opaque parts
	turns  bool // has neighbours of equal roles
	mixed  bool // has objects with text
}

func newTurnRules(without feature) turnRules {
	return turnRules{bare: without&featOpaque != 0, strict: without&featTurns != 0, apart: without&featTextParts != 0}
}

func (t *turnRules) rules() *turnRules { return t }

// A promptWriter writes a conversation in a dialect.
type promptWriter interface {
	writeConversation(req *llm.Request, system string) error
	prependUser(text string)
	requireUser()
	rules() *turnRules
}

// writePrompt writes the conversation and records the features that a server may refuse.
func (p *plan) writePrompt(w promptWriter, req *llm.Request, system string, without feature) error {
	folded := ""
	if system != "" && !p.useFeature(featSystem, without) {
		system, folded = "", system
	}
	if err := w.writeConversation(req, system); err != nil {
		return err
	}
	if folded != "" {
		w.prependUser(folded)
	}
	w.requireUser()
	t := w.rules()
	for _, used := range []struct {
		feature feature
		is      bool
	}{{featTurns, t.turns && !t.strict}, {featOpaque, t.opaque}, {featTextParts, t.mixed && !t.apart}} {
		if used.is {
			p.uses |= used.feature
		}
	}
	return nil
}

// addMessage adds a message. For strict templates it joins neighbours of equal roles, and a
// user's message after results with the last result; after results, media need a turn between.
func (w *chatWriter) addMessage(m message) {
	if n := len(w.out) - 1; n >= 0 && w.out[n].refusesNext(m) {
		w.turns = true
		switch {
		case !w.strict:
		case w.out[n].join(m):
			return
		default:
			w.out = append(w.out, message{Role: "assistant", Content: noMessage})
		}
	}
	w.out = append(w.out, m)
}

// refusesNext reports whether strict templates refuse next after m.
func (m *message) refusesNext(next message) bool {
	return m.Role == next.Role && m.Role != "tool" || m.Role == "tool" && next.Role == "user"
}

// join adds the content of next, and reports whether the role of m can have it.
func (m *message) join(next message) bool {
	content := joinContents(m.Content, next.Content)
	if _, text := content.(string); m.Role == "tool" && !text {
		return false
	}
	m.Content, m.Calls = content, append(m.Calls, next.Calls...)
	m.ReasoningContent += next.ReasoningContent
	m.Reasoning += next.Reasoning
	m.Details = append(m.Details, next.Details...)
	return true
}

// joinContents joins two contents to a text, or to parts if one of them has parts.
func joinContents(a, b any) any {
	first, ok := a.(string)
	second, also := b.(string)
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case ok && also:
		return wire.Paragraphs(first, second)
	}
	return slices.Concat(contentParts(a), contentParts(b))
}

func contentParts(content any) []part {
	if text, ok := content.(string); ok {
		return []part{textPart(text)}
	}
	parts, _ := content.([]part)
	return parts
}

// prependUser puts a text before the first user's message, which it adds if necessary.
func (w *chatWriter) prependUser(text string) {
	if len(w.out) == 0 || w.out[0].Role != "user" {
		w.out = slices.Insert(w.out, 0, message{Role: "user"})
	}
	w.out[0].Content = joinContents(text, w.out[0].Content)
}

const noMessage = "(no message)"

// requireUser has a conversation begin with a user's message, as strict templates require.
func (w *chatWriter) requireUser() {
	first := 0
	if len(w.out) > 0 && w.out[0].Role == "system" {
		first = 1
	}
	if first == len(w.out) || w.out[first].Role != "assistant" {
		return
	}
	if w.turns = true; w.strict {
		w.out = slices.Insert(w.out, first, message{Role: "user", Content: noMessage})
	}
}
