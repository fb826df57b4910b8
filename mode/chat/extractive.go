package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/toolname"
	"ponder/llm"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/questionwords"
)

// Without a model, the mode answers with verbatim quotations found by searchTool.
const (
	searchTool    = toolname.KnowledgeSearch
	maxQuotes     = 5
	maxQuoteBytes = 600 // bytes of each
)

const signalAddressed = "addressed"

const (
	extractiveIntro = "This answer was put together without a model: it only quotes search results."
	nothingFound    = "No model is available, and the search found nothing about this."
)

// extractiveActions returns the actions of a turn without a model: one search.
func (s *state) extractiveActions() []ponder.Action {
	key := s.actionKey(toolKey, 1, 0)
	if slices.ContainsFunc(s.opts.Tools, func(t llm.Tool) bool { return t.Name == searchTool }) && strings.TrimSpace(s.Waiting[0].Message.Text) != "" {
		args, _ := json.Marshal(map[string]any{"query": s.Waiting[0].Message.Text, "limit": maxQuotes})
		return []ponder.Action{ponder.Do{Key: key, Tool: searchTool, Args: args, Internal: true}}
	}
	w := work{Out: []pendingWrite{{Key: s.actionKey(sayKey, 1), Say: nothingFound}}}
	return append([]ponder.Action{w.Out[0].toAction()}, s.endActions(&w)...)
}

type searchResult struct {
	Hits []struct {
		Source, Title, Quote string
		Page                 int
		Untrusted            bool
		Quality              []ponder.Signal
	}
}

func (s *state) applySearch(b ponder.ToolResult) {
	say := nothingFound
	var f searchResult
	if b.Error != "" {
		say += " The search failed: " + b.Error
	} else if json.Unmarshal([]byte(b.Result), &f) == nil {
		if list, said := f.formatQuotes(); len(list) > 0 {
			say = extractiveIntro + questionwords.DescribeMissing(s.Waiting[0].Message.Text, said) + "\n\n" + strings.Join(list, "\n")
		}
	}
	s.Work = &work{Round: 1, Out: []pendingWrite{{Key: s.actionKey(sayKey, 1), Say: say}}, Over: true}
}

// formatQuotes returns list items and the source texts in them. It omits untrusted text addressed to
// programs.
func (f searchResult) formatQuotes() (list, said []string) {
	for _, h := range f.Hits {
		if h.Untrusted && slices.ContainsFunc(h.Quality, func(q ponder.Signal) bool { return q.Name == signalAddressed }) {
			continue
		}
		place := lookup.SourceName(h.Source)
		if h.Title != "" && h.Title != h.Source {
			place = h.Title + ", " + place
		}
		if h.Page > 0 {
			place += fmt.Sprintf(", page %d", h.Page)
		}
		quote := strings.Join(strings.Fields(truncateMiddle(h.Quote, maxQuoteBytes)), " ")
		list = append(list, fmt.Sprintf("- “%s” (%s)", quote, place))
		said = append(said, h.Title+"\n"+quote)
	}
	return list, said
}
