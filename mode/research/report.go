package research

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/mode/internal/lookup"
)

// The seed's stages of progress.
const (
	stagePlanning   = "planning"
	stageResearch   = "research"
	stageAnalysis   = "analysis"
	stageSynthesis  = "synthesis"
	stageReflection = "reflection"
	stageNote       = "note"
)

func (s *state) countSource(p piece) {
	if slices.Contains(s.Sources, p.PageKey) {
		return
	}
	s.Sources = append(s.Sources[:len(s.Sources):len(s.Sources)], p.PageKey)
	s.Tools = slices.Clone(s.Tools)
	if i := slices.IndexFunc(s.Tools, func(t toolCount) bool { return t.Tool == p.Tool }); i >= 0 {
		s.Tools[i].N++
		return
	}
	s.Tools = append(s.Tools, toolCount{p.Tool, 1})
}

func (s *state) lookupProgress(l lookupCall, news int) ponder.Progress {
	label, content := "Found", fmt.Sprintf("%s for “%s”.", formatCount(news, "new passage", "new passages"), lookup.Sanitize(l.Query))
	switch {
	case l.Fault != "":
		label, content = "Failed", fmt.Sprintf("%s failed: %s", l.toolName(), lookup.Sanitize(l.Fault))
	case news == 0 && len(l.Pieces) > 0:
		label, content = "Nothing new", fmt.Sprintf("Nothing new for “%s”.", lookup.Sanitize(l.Query))
	case len(l.Pieces) == 0:
		label, content = "Nothing found", fmt.Sprintf("Nothing found for “%s”.", lookup.Sanitize(l.Query))
	}
	if l.Age > 0 {
		content = strings.TrimSuffix(content, ".") + ", from a cached result of age " + formatAge(l.Age) + "."
	}
	b := ponder.Progress{Content: content, Stage: stageResearch, Label: label, Iteration: s.Counts.Iteration, Ref: l.Ref}
	if l.Fault != "" {
		b.Stage = stageNote
	}
	b.Meta = s.metaJSON(map[string]any{"tool": l.toolName(), "query": l.Query, "new": news, "error": l.Fault, "kept_seconds": l.Age}, news)
	return b
}

func formatAge(seconds int) string {
	switch {
	case seconds < 2*60:
		return formatCount(seconds, "second", "seconds")
	case seconds < 2*3600:
		return formatCount(seconds/60, "minute", "minutes")
	case seconds < 2*24*3600:
		return formatCount(seconds/3600, "hour", "hours")
	}
	return formatCount(seconds/(24*3600), "day", "days")
}

// metaJSON returns the Meta of a progress, including the seed's referenceSummary.
func (s *state) metaJSON(more map[string]any, news int) json.RawMessage {
	sum := Summary{Unique: len(s.Sources), Sent: s.Counts.Evidence, Execution: s.Counts.Iteration, New: news, Tools: make(map[string]int)}
	for _, t := range s.Tools {
		sum.Tools[t.Tool] = t.N
	}
	more["referenceSummary"] = sum
	js, err := json.Marshal(more)
	if err != nil {
		return nil // Meta of a model that cannot be encoded
	}
	return js
}
