package research

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/toolname"
	"ponder/knowledge/evidence"
	"ponder/mode/internal/lookup"
)

// A Summary counts the sources that were found. It is the seed's referenceSummary.
type Summary struct {
	Unique    int            `json:"totalUnique"`         // sources
	Sent      int            `json:"totalSent"`           // times that one was sent
	Execution int            `json:"toolExecutionNumber"` // uses of tools that came back
	New       int            `json:"newInThisRound"`      // that the last use brought
	Tools     map[string]int `json:"toolBreakdown"`       // sources by the tool that found them first
}

// Bounds on a summary that is read.
const (
	maxTools = 20
	maxTool  = 100 // bytes
)

// clean returns a summary that was read, as it may be shown.
func (s Summary) clean() Summary {
	tools := make(map[string]int)
	names := slices.Sorted(maps.Keys(s.Tools))
	for _, name := range names[:min(len(names), maxTools)] {
		tools[textkit.TruncateBytes(textkit.OneLine(name), maxTool)] = max(0, s.Tools[name])
	}
	return Summary{Unique: max(0, s.Unique), Sent: max(0, s.Sent), Execution: max(0, s.Execution), New: max(0, s.New), Tools: tools}
}

// The tools as the seed calls them.
const (
	seedWeb    = "webSearch"
	seedMemory = toolname.PersonaMemory
)

// seedTool returns what the seed calls a tool. Its memory has documents, too.
func seedTool(tool string) string {
	switch tool {
	case WebSearchTool, WebFetchTool:
		return seedWeb
	case SearchTool:
		return seedMemory
	}
	return tool
}

// seedMeta returns what a progress says beside, an object, with the seed's names of tools:
// of the tool that was used, and of those that are counted.
func seedMeta(object map[string]json.RawMessage) json.RawMessage {
	var tool string
	if json.Unmarshal(object["tool"], &tool) == nil && tool != "" {
		object["tool"] = jsonOf(seedTool(tool))
	}
	var sum map[string]json.RawMessage
	var counts map[string]int
	if json.Unmarshal(object["referenceSummary"], &sum) == nil && json.Unmarshal(sum["toolBreakdown"], &counts) == nil && counts != nil {
		named := make(map[string]int)
		for tool, n := range counts {
			named[seedTool(tool)] += n
		}
		sum["toolBreakdown"] = jsonOf(named)
		object["referenceSummary"] = jsonOf(sum)
	}
	return jsonOf(object)
}

// jsonOf returns JSON of what was made of JSON.
func jsonOf(v any) json.RawMessage {
	js, err := json.Marshal(v)
	if err != nil { // which cannot be
		panic(err)
	}
	return js
}

// A Chunk is what the seed streams of an event.
type Chunk struct {
	Type         string           `json:"type"` // "memory-sources" or "deep-think-progress"
	Progress     *ProgressPayload `json:"deepThinkProgress,omitempty"`
	Sources      []Reference      `json:"memorySources,omitempty"`
	Summary      *Summary         `json:"referenceSummary,omitempty"`
	Conversation ponder.ThreadID  `json:"conversationUniqueId,omitempty"`
	Models       []string         `json:"models,omitempty"` // that have answered
}

// The types of chunks.
const (
	SourcesChunk  = "memory-sources"
	ProgressChunk = "deep-think-progress"
)

// A ProgressPayload is the seed's DeepThinkProgressPayload.
type ProgressPayload struct {
	Stage      string          `json:"stage"` // planning, research, analysis, synthesis, reflection or note
	Label      string          `json:"label,omitempty"`
	Message    string          `json:"message"`
	Step       int             `json:"planStep,omitempty"`
	Total      int             `json:"totalSteps,omitempty"`
	Iteration  int             `json:"iteration,omitempty"`
	Confidence string          `json:"confidence,omitempty"` // low, medium or high
	Metadata   json.RawMessage `json:"metadata,omitempty"`   // an object
}

// A Reference is a source as the seed shows it. Memory is the text of what is
// remembered, Content that of all else.
type Reference struct {
	ID        string            `json:"id"` // of its evidence
	Memory    string            `json:"memory,omitempty"`
	Content   string            `json:"content,omitempty"`
	Metadata  ReferenceMetadata `json:"metadata"`
	Relevance float64           `json:"relevanceScore"` // 0 to 1, of the passage
	Tool      string            `json:"toolName"`
	FoundBy   []string          `json:"foundByTools"` // in the order in which they did
	Best      float64           `json:"bestScore"`    // of all that was found of it
	New       bool              `json:"isNewReference"`
}

// ReferenceMetadata says where a source is from, as far as that is known.
type ReferenceMetadata struct {
	Link   string    `json:"link,omitempty"`
	Source string    `json:"source,omitempty"`
	Title  string    `json:"title,omitempty"`
	Date   time.Time `json:"date,omitzero"`
	Author string    `json:"author,omitempty"`
}

// References is the seed's stream of sources and progress: a fold over the events of a
// research. Each source is sent once, and again when another tool finds it, or it is
// found to fit better. It has one owner. The zero value has seen nothing.
type References struct {
	run     ponder.RunID
	places  map[string]int // of sources, by what they are known by
	sources []Reference
	models  []string
	sum     Summary
}

// Apply takes the next event of the thread and returns what the seed streams of it, if
// it streams anything. Of a thread with several, the newest research counts.
func (r *References) Apply(ev ponder.Event) []Chunk {
	if b, ok := ev.Body.(ponder.RunStarted); ok && b.Mode == Name && ev.Run != "" {
		*r = References{run: ev.Run}
		return nil
	}
	if r.run == "" || !ev.Run.Within(r.run) {
		return nil
	}
	if b, ok := ev.Body.(ponder.CallFinished); ok {
		r.answered(b)
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
		return r.found(ev, b)
	case ponder.Progress:
		p := Payload(b)
		return []Chunk{{Type: ProgressChunk, Progress: &p, Conversation: ev.Thread, Models: slices.Clone(r.models)}}
	}
	return nil
}

// answered notes which model has answered.
func (r *References) answered(b ponder.CallFinished) {
	if name := textkit.OneLine(b.Model); b.Error == "" && name != "" && !slices.Contains(r.models, name) && len(r.models) < maxTools {
		r.models = append(r.models, name)
	}
}

// Summary returns the count of the sources so far.
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

// found takes a passage, and returns its source if that is to be sent.
func (r *References) found(ev ponder.Event, b ponder.Evidence) []Chunk {
	ref := referenceOf(b)
	place := cmp.Or(evidence.Place(evidence.Piece{URL: b.URL, Source: b.Source}), "id:"+b.ID)
	i, again := r.places[place]
	if again {
		old := r.sources[i]
		better, other := ref.Relevance > old.Best, !slices.Contains(old.FoundBy, ref.Tool)
		if !better && !other {
			return nil
		}
		ref.ID, ref.New = old.ID, false // it is one source, whatever of it was found
		ref.FoundBy, ref.Best = union(old.FoundBy, ref.FoundBy), max(old.Best, ref.Best)
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

// referenceOf returns a passage as a source that is new.
func referenceOf(b ponder.Evidence) Reference {
	tool := seedTool(textkit.TruncateBytes(textkit.OneLine(cmp.Or(b.Found.Tool, b.Tool)), maxTool))
	score := lookup.Bound(b.Score, 1)
	ref := Reference{
		ID: textkit.OneLine(b.ID), Relevance: score, Tool: tool, FoundBy: union(nil, []string{tool}), Best: score, New: true,
		Metadata: ReferenceMetadata{
			Link: textkit.OneLine(b.URL), Source: textkit.OneLine(b.Source), Title: textkit.OneLine(b.Title), Date: b.Published, Author: textkit.OneLine(b.Author),
		},
	}
	if tool == seedMemory {
		ref.Memory = textkit.CleanTrim(b.Content)
	} else {
		ref.Content = textkit.CleanTrim(b.Content)
	}
	return ref
}

// Payload returns a progress as the seed streams it. What the seed has no stage for is
// a note.
func Payload(b ponder.Progress) ProgressPayload {
	p := ProgressPayload{
		Stage: "note", Label: textkit.OneLine(b.Label), Message: textkit.CleanTrim(b.Content), Step: max(0, b.Step), Total: max(0, b.Total),
		Iteration: max(0, b.Iteration), Confidence: inWords(b.Confidence),
	}
	if slices.Contains(seedStages, b.Stage) {
		p.Stage = b.Stage
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(b.Meta, &object) == nil && len(object) > 0 {
		p.Metadata = seedMeta(object)
	}
	return p
}

var seedStages = []string{"planning", "research", "analysis", "synthesis", "reflection", "note"}

// inWords returns a confidence as a word; nothing if none is said.
func inWords(confidence float64) string {
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
