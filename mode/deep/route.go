package deep

import (
	"slices"
	"strings"

	"ponder/internal/toolname"
	"ponder/llm"
)

// A route says for which topics a tool is offered: those that have one of the
// words. Without words it is for all.
type route struct {
	tool  string
	words []string
}

// routes are the tools that a reflection may be given. Looking things up in what
// the user knows is seldom wrong; the others are for when it is spoken of.
var routes = []route{
	{tool: toolname.KnowledgeSearch},
	{tool: toolname.KnowledgeRead},
	{tool: toolname.ThreadRead, words: []string{"earlier", "before", "previous", "last time", "yesterday", "remember", "again", "we said", "you said", "history", "conversation"}},
	{tool: toolname.EarlierSessions, words: []string{"session", "concluded", "earlier", "thought about", "decided"}},
	{tool: toolname.WebSearch, words: []string{"latest", "news", "current", "today", "price", "release", "version", "web", "online", "source"}},
}

// Route returns the tools, of those that there are, that fit a topic: what a
// reflection is asked to be about, or the conversation if it is asked for nothing
// in particular. It is pure; their order stays.
func Route(topic, conversation string, tools []llm.Tool) (list []llm.Tool) {
	text := strings.ToLower(topic)
	if len(strings.Fields(topic)) < 3 {
		text += " " + strings.ToLower(conversation[max(0, len(conversation)-2000):])
	}
	for _, t := range tools {
		i := slices.IndexFunc(routes, func(r route) bool { return r.tool == t.Name })
		if i < 0 {
			continue
		}
		if words := routes[i].words; len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) }) {
			list = append(list, t)
		}
	}
	return list
}
