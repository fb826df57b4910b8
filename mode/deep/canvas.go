package deep

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ponder"
)

// Mermaid is the media type of diagrams.
const Mermaid = "text/vnd.mermaid"

// Bounds on diagrams.
const (
	maxDrawing  = 20_000 // bytes
	maxDrawings = 3      // of a reflection
)

// fence finds diagrams in what a model wrote.
var fence = regexp.MustCompile("(?s)```[ \t]*mermaid[ \t\r\n]+(.*?)\n?[ \t]*```")

// A drawing is the source of a diagram.
type drawing string

// What is said in the place of a diagram that is shown.
const shown = "(A diagram of this was put beside the conversation.)"

// drawn returns a text without its diagrams, and those of them that are sound. The
// text is empty if nothing is left of it.
func drawn(text string) (rest string, list []drawing) {
	rest = strings.TrimSpace(fence.ReplaceAllStringFunc(text, func(block string) string {
		d := drawing(strings.TrimSpace(fence.FindStringSubmatch(block)[1]))
		switch {
		case slices.Contains(list, d):
		case d.sound() && len(list) < maxDrawings:
			list = append(list, d)
		default:
			return ""
		}
		return shown
	}))
	if len(list) > 0 && strings.TrimSpace(strings.ReplaceAll(rest, shown, "")) == "" {
		rest = "I drew a diagram. " + shown
	}
	return rest, list
}

// kinds are the words that diagrams begin with.
var kinds = []string{
	"graph", "flowchart", "sequenceDiagram", "classDiagram", "stateDiagram", "stateDiagram-v2", "erDiagram", "journey", "gantt", "pie",
	"quadrantChart", "requirementDiagram", "gitGraph", "mindmap", "timeline", "sankey-beta", "xychart-beta", "block-beta", "packet-beta",
	"kanban", "architecture-beta", "C4Context",
}

// sound reports whether a diagram is of a kind that there is, has something in it
// and closes its brackets; and that it cannot run anything where it is shown.
func (d drawing) sound() bool {
	text := string(d)
	head, body, lines := strings.Cut(text, "\n")
	if !lines || strings.TrimSpace(body) == "" { // a semicolon ends a line too
		head, body, _ = strings.Cut(text, ";")
	}
	word, _, _ := strings.Cut(strings.TrimSpace(head), " ")
	lower := strings.ToLower(text)
	switch {
	case len(text) > maxDrawing, !slices.Contains(kinds, strings.TrimSuffix(word, ";")), strings.TrimSpace(body) == "":
		return false
	case strings.Contains(lower, "%%{"), strings.Contains(lower, "javascript:"), strings.Contains(lower, "<script"), clicks.MatchString(text):
		return false
	}
	return !slices.ContainsFunc([]string{"[]", "()", "{}"}, func(pair string) bool {
		return strings.Count(text, pair[:1]) != strings.Count(text, pair[1:]) && word != "erDiagram"
	})
}

// clicks finds lines that make a part of a diagram do something.
var clicks = regexp.MustCompile(`(?im)(^|;)\s*(click|callback|links?)\s`)

// attachment returns the diagram as it is put beside the conversation.
func (d drawing) attachment(n, i int) ponder.AttachmentAdded {
	sum := sha256.Sum256([]byte(d))
	return ponder.AttachmentAdded{
		Content: string(d), Name: fmt.Sprintf("diagram-%d-%d.mmd", n, i), Media: Mermaid, Hash: hex.EncodeToString(sum[:]), Bytes: int64(len(d)),
	}
}
