package research

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/toolname"
	"ponder/knowledge/evidence"
	"ponder/mode/internal/lookup"
)

// Summary counts the sources found: the seed's referenceSummary.
type Summary struct {
	Unique    int            `json:"totalUnique"`
	Sent      int            `json:"totalSent"`           // sources sent, including repeats
	Execution int            `json:"toolExecutionNumber"` // completed uses of tools
	New       int            `json:"newInThisRound"`      // from the last use
	Tools     map[string]int `json:"toolBreakdown"`       // sources by the tool that found them first
}

const (
	maxTools = 20
	maxTool  = 100 // bytes
)

func (s Summary) cleanSummary() Summary {
	tools := make(map[string]int)
	names := slices.Sorted(maps.Keys(s.Tools))
	for _, name := range names[:min(len(names), maxTools)] {
		tools[textkit.TruncateBytes(textkit.OneLine(name), maxTool)] = max(0, s.Tools[name])
	}
	return Summary{Unique: max(0, s.Unique), Sent: max(0, s.Sent), Execution: max(0, s.Execution), New: max(0, s.New), Tools: tools}
}

const (
	seedWeb    = "webSearch"
	seedMemory = toolname.PersonaMemory
)

// seedTool returns the seed's name of a tool. The seed's memory includes documents.
func seedTool(tool string) string {
	switch tool {
	case WebSearchTool, WebFetchTool:
		return seedWeb
	case SearchTool:
		return seedMemory
	}
	return tool
}

func seedMeta(object map[string]json.RawMessage) json.RawMessage {
	var tool string
	if json.Unmarshal(object["tool"], &tool) == nil && tool != "" {
		object["tool"] = mustJSON(seedTool(tool))
	}
	var sum map[string]json.RawMessage
	var counts map[string]int
	if json.Unmarshal(object["referenceSummary"], &sum) == nil && json.Unmarshal(sum["toolBreakdown"], &counts) == nil && counts != nil {
		named := make(map[string]int)
		for tool, n := range counts {
			named[seedTool(tool)] += n
		}
		sum["toolBreakdown"] = mustJSON(named)
		object["referenceSummary"] = mustJSON(sum)
	}
	return mustJSON(object)
}

func mustJSON(v any) json.RawMessage {
	js, err := json.Marshal(v)
	if err != nil { // cannot happen
		panic(err)
	}
	return js
}

// Chunk is what the seed streams for an event.
type Chunk struct {
	Type         string           `json:"type"` // "memory-sources" or "deep-think-progress"
	Progress     *ProgressPayload `json:"deepThinkProgress,omitempty"`
	Sources      []Reference      `json:"memorySources,omitempty"`
	Summary      *Summary         `json:"referenceSummary,omitempty"`
	Conversation ponder.ThreadID  `json:"conversationUniqueId,omitempty"`
	Models       []string         `json:"models,omitempty"` // that answered so far
}

const (
	SourcesChunk  = "memory-sources"
	ProgressChunk = "deep-think-progress"
)

// ProgressPayload is the seed's DeepThinkProgressPayload.
type ProgressPayload struct {
	Stage      string          `json:"stage"` // planning, research, analysis, synthesis, reflection or note
	Label      string          `json:"label,omitempty"`
	Message    string          `json:"message"`
	Step       int             `json:"planStep,omitempty"`
	Total      int             `json:"totalSteps,omitempty"`
	Iteration  int             `json:"iteration,omitempty"`
	Confidence string          `json:"confidence,omitempty"` // low, medium, high, or the words of the model
	Metadata   json.RawMessage `json:"metadata,omitempty"`   // an object
}

// Reference is a source in the seed's form. Memory is the text of a memory; Content is any other
// text.
type Reference struct {
	ID        string            `json:"id"` // of its evidence
	Memory    string            `json:"memory,omitempty"`
	Content   string            `json:"content,omitempty"`
	Metadata  ReferenceMetadata `json:"metadata"`
	Relevance float64           `json:"relevanceScore"` // of the passage, 0 to 1
	Tool      string            `json:"toolName"`
	FoundBy   []string          `json:"foundByTools"` // in order of discovery
	Best      float64           `json:"bestScore"`    // of all its passages
	New       bool              `json:"isNewReference"`
}

// ReferenceMetadata is the known origin of a source.
type ReferenceMetadata struct {
	Link   string    `json:"link,omitempty"`
	Source string    `json:"source,omitempty"`
	Title  string    `json:"title,omitempty"`
	Date   time.Time `json:"date,omitzero"`
	Author string    `json:"author,omitempty"`
}

// References folds the events of a research into the seed's stream. It sends a source once, and
// again for another tool or a better score. It is not safe for concurrent use. The zero value is
// empty.
type References struct {
	run     ponder.RunID
	places  map[string]int // index in sources, by source key
	sources []Reference
	models  []string
	sum     Summary
}

// Apply folds the next event of the thread and returns its chunks, if any. A newer research on the
// thread resets the fold.
func (r *References) Apply(ev ponder.Event) []Chunk {
	if b, ok := ev.Body.(ponder.RunStarted); ok && b.Mode == Name && ev.Run != "" {
		*r = References{run: ev.Run}
		return nil
	}
	if r.run == "" || !ev.Run.IsWithin(r.run) {
		return nil
	}
	if b, ok := ev.Body.(ponder.CallFinished); ok {
		r.addModel(b)
	}
	if ev.Run != r.run || ev.Internal {
		return nil
	}
	switch b := ev.Body.(type) {
	case ponder.ToolResult:
		if b.RetryAt.IsZero() && !b.Dropped {
			r.sum.Execution++
			r.sum.New = 0
		}
	case ponder.Evidence:
		return r.addSource(ev, b)
	case ponder.Progress:
		p := Payload(b)
		return []Chunk{{Type: ProgressChunk, Progress: &p, Conversation: ev.Thread, Models: slices.Clone(r.models)}}
	}
	return nil
}

func (r *References) addModel(b ponder.CallFinished) {
	if name := textkit.OneLine(b.Model); b.Error == "" && name != "" && !slices.Contains(r.models, name) && len(r.models) < maxTools {
		r.models = append(r.models, name)
	}
}

// Summary returns the current count of sources.
func (r *References) Summary() Summary {
	sum := r.sum
	sum.Unique, sum.Tools = len(r.sources), make(map[string]int)
	for _, s := range r.sources {
		if len(s.FoundBy) > 0 {
			sum.Tools[s.FoundBy[0]]++
		}
	}
	return sum
}

// addSource folds a passage and returns its source if it changed.
func (r *References) addSource(ev ponder.Event, b ponder.Evidence) []Chunk {
	ref := newReference(b)
	place := placeOf(b)
	i, again := r.places[place]
	if again {
		old := r.sources[i]
		better, other := ref.Relevance > old.Best, !slices.Contains(old.FoundBy, ref.Tool)
		if !better && !other {
			return nil
		}
		ref.ID, ref.New = old.ID, false // passages of one source share its id
		ref.FoundBy, ref.Best = unionTexts(old.FoundBy, ref.FoundBy), max(old.Best, ref.Best)
		r.sources[i] = ref
	} else {
		if r.places == nil {
			r.places = make(map[string]int)
		}
		r.places[place] = len(r.sources)
		r.sources = append(r.sources, ref)
		r.sum.New++
	}
	r.sum.Sent++
	sum := r.Summary()
	return []Chunk{{Type: SourcesChunk, Sources: []Reference{ref}, Summary: &sum, Conversation: ev.Thread, Models: slices.Clone(r.models)}}
}

// placeOf returns the key of the source of a passage. Files and posts may have equal names.
func placeOf(b ponder.Evidence) string {
	place := cmp.Or(evidence.PlaceKey(evidence.Piece{URL: b.URL, Source: b.Source}), "id:"+b.ID)
	if b.URL == "" && !strings.ContainsAny(b.Source, "/:") {
		place += " " + b.Hash
	}
	return place
}

func newReference(b ponder.Evidence) Reference {
	tool := seedTool(textkit.TruncateBytes(textkit.OneLine(cmp.Or(b.Found.Tool, b.Tool)), maxTool))
	score := lookup.ClampTo(b.Score, 1)
	ref := Reference{
		ID: textkit.OneLine(b.ID), Relevance: score, Tool: tool, FoundBy: unionTexts(nil, []string{tool}), Best: score, New: true,
		Metadata: ReferenceMetadata{
			Link: textkit.OneLine(b.URL), Source: lookup.SourceName(textkit.OneLine(b.Source)), Title: textkit.OneLine(b.Title), Date: b.Published, Author: textkit.OneLine(b.Author),
		},
	}
	if tool == seedMemory {
		ref.Memory = textkit.CleanTrim(b.Content)
	} else {
		ref.Content = textkit.CleanTrim(b.Content)
	}
	return ref
}

// Payload returns a progress in the seed's form. Unknown stages become notes.
func Payload(b ponder.Progress) ProgressPayload {
	p := ProgressPayload{
		Stage: "note", Label: textkit.OneLine(b.Label), Message: textkit.CleanTrim(b.Content), Step: max(0, b.Step), Total: max(0, b.Total),
		Iteration: max(0, b.Iteration), Confidence: confidenceWord(b.Confidence),
	}
	if slices.Contains(seedStages, b.Stage) {
		p.Stage = b.Stage
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(b.Meta, &object) == nil && len(object) > 0 {
		var words string
		if json.Unmarshal(object["confidence"], &words) == nil && words != "" { // as the model said it
			p.Confidence = textkit.TruncateBytes(textkit.OneLine(words), lookup.MaxLabel)
		}
		p.Metadata = seedMeta(object)
	}
	return p
}

var seedStages = []string{"planning", "research", "analysis", "synthesis", "reflection", "note"}

// confidenceWord returns a confidence as a word, or "" if there is none.
func confidenceWord(confidence float64) string {
	switch {
	case !(confidence > 0):
		return ""
	case confidence < 0.4:
		return "low"
	case confidence < 0.7:
		return "medium"
	}
	return "high"
}
