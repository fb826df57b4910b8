package openai

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"ponder/llm"
)

// A feature is a part of a request that some server refuses; a set of bits.
type feature uint

const (
	featTemperature feature = 1 << iota
	featEffort
	featOff       // the switch of templates
	featSummary   // of reasoning, which OpenAI gives to some accounts only
	featEncrypted // reasoning to be given back
	featMax       // the field that is usual at the host
	featOptions   // stream_options
	featCacheKey
	featOpaque // reasoning that is given back
	featNative // the tiers of asking for a schema
	featForced
	featMode
)

// tierFeatures returns the feature that a tier is, 0 for words.
func (t tier) feature() feature {
	switch t {
	case tierNative:
		return featNative
	case tierForced:
		return featForced
	case tierMode:
		return featMode
	}
	return 0
}

// tier returns the best way to ask for a schema that is not refused.
func (h host) tier(without feature) tier {
	t := h.schema
	for t < tierWords && without&t.feature() != 0 {
		t++
	}
	return t
}

// tierFor returns the best way to ask for a schema beside so many tools. Objects says that
// the native way is for schemas of objects only, as a forced call is.
func (h host) tierFor(s shape, tools int, objects bool, without feature) tier {
	t := h.tier(without)
	if t == tierNative && objects && !s.object {
		t = tierWords
	}
	if t == tierForced && (tools > 0 || !s.object) {
		t = tierMode
	}
	if t == tierMode && without&featMode != 0 {
		t = tierWords
	}
	return t
}

// refusedBy returns the features that an error names, and those of them that
// the server will never take. They need not be in the request that it answers.
func refusedBy(err error) (f, always feature) {
	var e *llm.Error
	if !errors.As(err, &e) || e.Class != llm.BadRequest && e.Class != llm.NotFound {
		return 0, 0
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusNotImplemented:
	default:
		return 0, 0
	}
	text := strings.ToLower(e.Message)
	for _, r := range refusals() {
		for _, phrase := range r.phrases {
			if strings.Contains(text, phrase) {
				f |= r.feature
				break
			}
		}
	}
	if !unknownField(text) {
		f &^= featMax
	}
	if strings.Contains(text, "json_schema") || strings.Contains(text, "json schema") || strings.Contains(text, "invalid schema") {
		if f&featNative != 0 {
			f &^= featMode // it is the schema that is refused
		}
	}
	always = f &^ featOpaque
	if strings.Contains(text, "invalid schema") { // another one may do
		always &^= featNative | featForced
	}
	return f, always
}

// unknownField reports whether a refusal is of a field itself and not of its value.
func unknownField(text string) bool {
	return slices.ContainsFunc([]string{"unsupported", "not supported", "unknown", "unrecognized", "extra", "not permitted", "instead", "unexpected", "not allowed"}, func(phrase string) bool {
		return strings.Contains(text, phrase)
	})
}

// A refusal is the words that name a feature.
type refusal struct {
	feature feature
	phrases []string
}

func refusals() []refusal {
	return []refusal{
		{featTemperature, []string{"temperature"}},
		{featEffort, []string{"reasoning_effort", "reasoning.effort", "reasoningeffort", "reasoning effort", "'thinking'", "\"thinking\"",
			"thinking.type", "does not support thinking", "does not support reasoning"}},
		{featOff, []string{"chat_template_kwargs", "enable_thinking"}},
		{featSummary, []string{"reasoning.summary", "reasoning summar"}},
		{featEncrypted, []string{"encrypted content is not supported", "reasoning.encrypted_content"}},
		{featMax, []string{"max_tokens", "max_completion_tokens"}},
		{featOptions, []string{"stream_options"}},
		{featCacheKey, []string{"prompt_cache_key"}},
		{featOpaque, []string{"signature", "encrypted content", "encrypted_content", "reasoning_details", "could not be verified",
			"reasoning' was provided without", "thinking block"}},
		{featNative, []string{"response_format", "response format", "json_schema", "json schema", "text.format", "structured output", "grammar", "json mode", "invalid schema"}},
		{featForced, []string{"tool_choice", "tool choice", "tool use", "support tool"}},
		{featMode, []string{"response_format", "response format", "json_object", "json mode", "text.format"}},
	}
}
