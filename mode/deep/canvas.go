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
	maxDiagramBytes = 20_000 // bytes
	maxDiagrams     = 3      // per reflection
)

var fencePattern = regexp.MustCompile("(?s)```[ \t]*mermaid[ \t\r\n]+(.*?)\n?[ \t]*```")

type diagram string

const diagramNote = "(A diagram of this was put beside the conversation.)"

// extractDiagrams separates the sound diagrams from a text. The rest may be empty.
func extractDiagrams(text string) (rest string, list []diagram) {
	rest = strings.TrimSpace(fencePattern.ReplaceAllStringFunc(text, func(block string) string {
		d := diagram(strings.TrimSpace(fencePattern.FindStringSubmatch(block)[1]))
		switch {
		case slices.Contains(list, d):
		case d.isSafe() && len(list) < maxDiagrams:
			list = append(list, d)
		default:
			return ""
		}
		return diagramNote
	}))
	if len(list) > 0 && strings.TrimSpace(strings.ReplaceAll(rest, diagramNote, "")) == "" {
		rest = "I drew a diagram. " + diagramNote
	}
	return rest, list
}

var diagramKinds = []string{
	"graph", "flowchart", "sequenceDiagram", "classDiagram", "stateDiagram", "stateDiagram-v2", "erDiagram", "journey", "gantt", "pie",
	"quadrantChart", "requirementDiagram", "gitGraph", "mindmap", "timeline", "sankey-beta", "xychart-beta", "block-beta", "packet-beta",
	"kanban", "architecture-beta", "C4Context",
}

// isSafe reports whether d has a known kind, content and balanced brackets, and cannot execute
// anything.
func (d diagram) isSafe() bool {
	text := string(d)
	head, body, lines := strings.Cut(text, "\n")
	if !lines || strings.TrimSpace(body) == "" { // a semicolon also ends a line
		head, body, _ = strings.Cut(text, ";")
	}
	word, _, _ := strings.Cut(strings.TrimSpace(head), " ")
	lower := strings.ToLower(text)
	switch {
	case len(text) > maxDiagramBytes, !slices.Contains(diagramKinds, strings.TrimSuffix(word, ";")), strings.TrimSpace(body) == "":
		return false
	case strings.Contains(lower, "%%{"), strings.Contains(lower, "javascript:"), strings.Contains(lower, "<script"), clickPattern.MatchString(text):
		return false
	}
	return !slices.ContainsFunc([]string{"[]", "()", "{}"}, func(pair string) bool {
		return strings.Count(text, pair[:1]) != strings.Count(text, pair[1:]) && word != "erDiagram"
	})
}

var clickPattern = regexp.MustCompile(`(?im)(^|;)\s*(click|callback|links?)\s`)

func (d diagram) toAttachment(n, i int) ponder.AttachmentAdded {
	sum := sha256.Sum256([]byte(d))
	return ponder.AttachmentAdded{
		Content: string(d), Name: fmt.Sprintf("diagram-%d-%d.mmd", n, i), Media: Mermaid, Hash: hex.EncodeToString(sum[:]), Bytes: int64(len(d)),
	}
}
