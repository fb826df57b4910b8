package research

import (
	"maps"
	"slices"

	"ponder/mode/internal/text"
)

// A Summary counts the sources that were found. It is the seed's referenceSummary.
type Summary struct {
	Unique    int            `json:"totalUnique"`         // sources
	Sent      int            `json:"totalSent"`           // times that one was sent
	Execution int            `json:"toolExecutionNumber"` // how many uses of tools have brought something
	New       int            `json:"newInThisRound"`      // sources that the last use brought
	Tools     map[string]int `json:"toolBreakdown"`       // sources by the tool that found them first
}

// maxTools bounds how many tools are told apart.
const maxTools = 20

// clean returns a summary that was read, as it may be shown.
func (s Summary) clean() Summary {
	tools := make(map[string]int)
	names := slices.Sorted(maps.Keys(s.Tools))
	for _, name := range names[:min(len(names), maxTools)] {
		tools[text.Clip(text.Line(name), maxShown)] = max(0, s.Tools[name])
	}
	return Summary{Unique: max(0, s.Unique), Sent: max(0, s.Sent), Execution: max(0, s.Execution), New: max(0, s.New), Tools: tools}
}
