package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/toolname"
	weighing "ponder/knowledge/evidence"
	"ponder/mode/internal/lookup"
)

// EarlierTool finds conclusions of the owner's earlier sessions. Its input is {question, limit}.
// Its result is {hits}, each with thread, question, answer, confidence and score, and untrusted if
// the answer rests on untrusted text.
const EarlierTool = toolname.EarlierSessions

const (
	maxEarlier      = 3
	maxEarlierText  = 1200 // bytes of an answer
	earlierScheme   = "thread:"
	wrongBelow      = 0.25 // a lower outcome counts as wrong
	rightFrom       = 0.75
	maxEarlierScore = 0.9 // maximum score, because an answer is no source
)

func (s *state) earlierAction() ponder.Action {
	return lookup.NewToolUse(s.Step.actionKey(), EarlierTool, map[string]any{"question": textkit.TruncateBytes(textkit.OneLine(s.run.Input), maxFocus), "limit": maxEarlier})
}

// applyEarlier applies the look-up. No or unreadable results are no failure.
func (s *state) applyEarlier(b ponder.ToolResult) {
	var raw struct {
		Hits []struct {
			Thread     string
			Question   string
			Answer     string
			Confidence float64
			Resolved   *float64 // outcome: 1 is right, 0 is wrong
			Score      float64
			Untrusted  bool
		}
	}
	if b.Error != "" || json.Unmarshal([]byte(b.Result), &raw) != nil {
		raw.Hits = nil
	}
	var add []ponder.Body
	for _, h := range raw.Hits[:min(len(raw.Hits), maxEarlier)] {
		text := textkit.TruncateBytes(lookup.DefuseCitations(textkit.CleanTrim(h.Answer)), maxEarlierText)
		if h.Thread == "" || !hasText(text) || h.Resolved != nil && *h.Resolved < wrongBelow {
			continue // a wrong answer would mislead
		}
		s.Counts.Evidence++
		title := textkit.TruncateBytes(textkit.OneLine(h.Question), maxLabel) + earlierNote(h.Confidence, h.Resolved)
		e := evidence{N: s.Counts.Evidence, Source: earlierScheme + textkit.TruncateBytes(textkit.OneLine(h.Thread), maxLabel), Title: title, Quote: textkit.OneLine(text), Score: earlierScore(h.Score, h.Confidence), Earlier: true, Untrusted: h.Untrusted}
		var quality []ponder.Signal
		if e.Untrusted {
			e.Title, e.Quote = lookup.Sanitize(e.Title), lookup.Sanitize(e.Quote)
			if g, ok := weighing.AddressesProgram(e.Title + "\n" + text); ok {
				e.Addressed, quality = true, []ponder.Signal{g}
			}
		}
		s.Evidence = append(s.Evidence[:len(s.Evidence):len(s.Evidence)], e)
		sum := sha256.Sum256([]byte(text))
		add = append(add, ponder.Evidence{
			Content: text, ID: e.id(), Source: e.Source, Title: e.Title, End: len(text), Hash: hex.EncodeToString(sum[:]), Score: e.Score, Tool: EarlierTool,
			Untrusted: e.Untrusted, Quality: quality,
		})
	}
	s.queueWrite("found", &s.Counts.Found, add...)
	s.startWave()
}

func earlierNote(confidence float64, outcome *float64) string {
	sure := ""
	if confidence > 0 {
		sure = fmt.Sprintf(", confidence %.2f", lookup.ClampUnit(confidence))
	}
	if sure += outcomeNote(outcome); sure == "" {
		return ""
	}
	return " (" + strings.TrimPrefix(sure, ", ") + ")"
}

// earlierScore returns the score of an earlier answer as evidence: its relevance, capped by its
// confidence. A confidence of zero means unknown.
func earlierScore(score, confidence float64) float64 {
	if confidence == 0 {
		confidence = defaultConfidence
	}
	return min(lookup.ClampUnit(score), lookup.ClampUnit(confidence), maxEarlierScore)
}

func outcomeNote(outcome *float64) string {
	switch {
	case outcome == nil:
		return ""
	case *outcome >= rightFrom:
		return ", which turned out right"
	}
	return ", which turned out partly right"
}
