package session

import (
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/llm/structured"
)

// readMarkdown parses a final answer in Markdown with a trailer of labelled lines: confidence, insights
// and remaining questions. A label on the first line, such as "ANSWER:", is removed. It returns false
// for JSON and for text that is labelled as a synthesis.
func readMarkdown(text string) (f summaryForm, ok bool) {
	text = trimWholeFence(textkit.CleanTrim(llm.FinalText(text)))
	if structured.IsJSON(text) || strings.Contains(text, "{") && (strings.Contains(text, `"answer"`) || strings.Contains(text, `"synthesis"`)) {
		return f, false
	}
	lines := strings.Split(text, "\n")
	if slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, "*# "), "SYNTHESIS:") }) {
		return f, false
	}
	at := trailerStart(lines)
	f, _ = summaryAnswer.Read("SYNTHESIS: -\n" + strings.Join(lines[at:], "\n"))
	if at > 0 {
		if name, said, ok := summaryAnswer.Label(lines[0]); ok && name == "synthesis" {
			lines[0] = said
		}
	}
	f.Synthesis = strings.TrimSpace(strings.Join(lines[:at], "\n"))
	for isRuleLine(lastLine(f.Synthesis)) {
		f.Synthesis = strings.TrimSpace(strings.TrimSuffix(f.Synthesis, lastLine(f.Synthesis)))
	}
	return f, true
}

// trimWholeFence returns text without a code fence around all of it.
func trimWholeFence(text string) string {
	if strings.HasPrefix(text, "```") && strings.HasSuffix(text, "```") && strings.Count(text, "```") == 2 {
		return structured.TrimFence(text)
	}
	return text
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// trailerStart returns the index of the first line of the trailer: the first label from which only labels,
// list items and lines directly below them follow.
func trailerStart(lines []string) int {
	at := len(lines)
	for i := len(lines) - 1; i >= 0; i-- {
		bare := strings.TrimSpace(lines[i])
		name, _, label := summaryAnswer.Label(lines[i])
		switch {
		case label && name != "synthesis":
			at = i
		case label, strings.HasPrefix(bare, "```"):
			return at
		case bare == "", isRuleLine(bare), structured.TrimBullet(bare) != bare:
		case strings.HasPrefix(bare, "#"), i > 0 && strings.TrimSpace(lines[i-1]) == "" && !followsLabel(lines, i):
			return at
		}
	}
	return at
}

// followsLabel reports whether only blank lines are between line i and a label of the trailer above it.
func followsLabel(lines []string, i int) bool {
	for i--; i >= 0 && strings.TrimSpace(lines[i]) == ""; i-- {
	}
	if i < 0 {
		return false
	}
	name, said, label := summaryAnswer.Label(lines[i])
	return label && name != "synthesis" && said == ""
}

func isRuleLine(line string) bool { return len(line) >= 3 && strings.Trim(line, "-*_= ") == "" }
