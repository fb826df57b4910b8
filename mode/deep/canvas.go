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

const (
	maxDrawing  = 20_000 // bytes
	maxDrawings = 3      // per reflection
)

var fence = regexp.MustCompile("(?s)```[ \t]*mermaid[ \t\r\n]+(.*?)\n?[ \t]*```")

type drawing string

const shown = "(A diagram of this was put beside the conversation.)"

// drawn separates the sound diagrams from a text. The rest may be empty.
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

var kinds = []string{
	"graph", "flowchart", "sequenceDiagram", "classDiagram", "stateDiagram", "stateDiagram-v2", "erDiagram", "journey", "gantt", "pie",
	"quadrantChart", "requirementDiagram", "gitGraph", "mindmap", "timeline", "sankey-beta", "xychart-beta", "block-beta", "packet-beta",
	"kanban", "architecture-beta", "C4Context",
}

// sound reports whether d has a known kind, content and balanced brackets, and cannot execute
// anything.
func (d drawing) sound() bool {
	text := string(d)
	head, body, lines := strings.Cut(text, "\n")
	if !lines || strings.TrimSpace(body) == "" { // a semicolon also ends a line
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

var clicks = regexp.MustCompile(`(?im)(^|;)\s*(click|callback|links?)\s`)

func (d drawing) attachment(n, i int) ponder.AttachmentAdded {
	sum := sha256.Sum256([]byte(d))
	return ponder.AttachmentAdded{
		Content: string(d), Name: fmt.Sprintf("diagram-%d-%d.mmd", n, i), Media: Mermaid, Hash: hex.EncodeToString(sum[:]), Bytes: int64(len(d)),
	}
}
