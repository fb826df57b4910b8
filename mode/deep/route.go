package deep

import (
	"slices"
	"strings"

	"ponder/internal/toolname"
	"ponder/llm"
)

// route offers a tool for topics with one of the words, or for all if there are none.
type route struct {
	tool  string
	words []string
}

// routes list the possible tools. Searching the user's knowledge is nearly always useful; the
// others need a mention.
var routes = []route{
	{tool: toolname.KnowledgeSearch},
	{tool: toolname.KnowledgeRead},
	{tool: toolname.ThreadRead, words: []string{"earlier", "before", "previous", "last time", "yesterday", "remember", "again", "we said", "you said", "history", "conversation"}},
	{tool: toolname.EarlierSessions, words: []string{"session", "concluded", "earlier", "thought about", "decided"}},
	{tool: toolname.WebSearch, words: []string{"latest", "news", "current", "today", "price", "release", "version", "web", "online", "source"}},
}

// Route selects the tools that fit a topic, or the conversation if the topic is vague. It is pure
// and keeps the order.
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
