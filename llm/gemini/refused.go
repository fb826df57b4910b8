package gemini

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

// A feature is a part of a request that some models refuse; a bit set.
type feature uint

const (
	featOpaque feature = 1 << iota // returned signatures and parts
	featSystem                     // systemInstruction: Gemma has none
	featSchema                     // the answer's schema
)

// refusedBy returns the features that a refusal names.
func refusedBy(err error) feature {
	var e *llm.Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest || e.Class != llm.BadRequest {
		return 0
	}
	text := strings.ToLower(e.Message)
	switch {
	case strings.Contains(text, "signature"):
		return featOpaque
	case !strings.Contains(text, "not enabled") && !strings.Contains(text, "not support"):
		return 0
	case strings.Contains(text, "developer instruction"), strings.Contains(text, "system instruction"), strings.Contains(text, "system_instruction"):
		return featSystem
	case strings.Contains(text, "json mode"), strings.Contains(text, "response_mime_type"), strings.Contains(text, "response mime type"), strings.Contains(text, "response schema"):
		return featSchema
	}
	return 0
}

const maxRemembered = 10000

// refusedFeatures returns the features that a model refused since the start.
func (p *Provider) refusedFeatures(id string) feature {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused[id]
}

// recordRefused records f, but for opaque parts, which only one conversation may have wrong.
func (p *Provider) recordRefused(id string, f feature) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f &^= featOpaque; f != 0 && len(p.refused) < maxRemembered {
		p.refused[id] |= f
	}
}

// sendAdapted sends a request and repeats it without refused features.
func (m *model) sendAdapted(ctx context.Context, req *llm.Request) (*http.Response, error) {
	for without := m.refusedFeatures(m.id); ; {
		resp, uses, err := m.sendPlan(ctx, req, without)
		drop := uses & refusedBy(err)
		if drop == 0 {
			return resp, err
		}
		m.recordRefused(m.id, drop)
		without |= drop
	}
}

// setSystem sets the system prompt, or puts it before the first user's message.
func (body *generateRequest) setSystem(system string, uses *feature, without feature) {
	switch {
	case system == "":
	case without&featSystem == 0:
		*uses |= featSystem
		body.SystemInstruction = &content{Role: "user", Parts: []any{part{Text: &system}}}
	case len(body.Contents) > 0 && body.Contents[0].Role == "user":
		body.Contents[0].Parts = slices.Insert(body.Contents[0].Parts, 0, any(part{Text: &system}))
	default:
		body.Contents = slices.Insert(body.Contents, 0, content{Role: "user", Parts: []any{part{Text: &system}}})
	}
}

// schemaWords sets the answer's schema, or returns words for the prompt.
func (m *model) schemaWords(config *generationConfig, body *generateRequest, s *llm.Schema, uses *feature, without feature) string {
	if s == nil {
		return ""
	}
	if without&featSchema == 0 && m.setSchema(config, body, s) {
		*uses |= featSchema
		return ""
	}
	return wire.SchemaPrompt(s.JSON)
}
