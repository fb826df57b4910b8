package gemini

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"iter"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

type (
	generateResponse struct {
		Candidates []struct {
			Content struct {
				Parts []json.RawMessage `json:"parts"`
			} `json:"content"`
			FinishReason  string `json:"finishReason"`
			FinishMessage string `json:"finishMessage"`
			Index         int    `json:"index"`
		} `json:"candidates"`
		PromptFeedback struct {
			BlockReason        string `json:"blockReason"`
			BlockReasonMessage string `json:"blockReasonMessage"`
		} `json:"promptFeedback"`
		UsageMetadata *usage `json:"usageMetadata"`
		ModelVersion  string `json:"modelVersion"`
		ResponseID    string `json:"responseId"`
	}
	usage struct {
		Prompt     *wire.Count `json:"promptTokenCount"`
		Cached     wire.Count  `json:"cachedContentTokenCount"`
		Candidates wire.Count  `json:"candidatesTokenCount"`
		Thoughts   wire.Count  `json:"thoughtsTokenCount"`
		ToolUse    wire.Count  `json:"toolUsePromptTokenCount"`
	}
)

// A fold implements wire.Fold.
type fold struct {
	full string // requested
	size int    // request bytes

	parts      wire.Parts
	calls      int
	open       *partialCall
	finish     string
	why        string // finishMessage
	used       llm.Usage
	id, served string
}

// Add never reports last, because some models send a finish reason in every piece.
func (f *fold) Add(data []byte) (llm.Delta, bool, error) {
	var r generateResponse
	if err := json.Unmarshal(data, &r); err != nil {
		return llm.Delta{}, false, wire.PieceError("a piece", err)
	}
	f.countUsage(r.UsageMetadata)
	if r.ResponseID != "" {
		f.id = r.ResponseID
	}
	if r.ModelVersion != "" {
		f.served = r.ModelVersion
	}
	if b := r.PromptFeedback; b.BlockReason != "" {
		return llm.Delta{}, false, blockedError(b.BlockReason, b.BlockReasonMessage)
	}
	var out llm.Delta
	for _, c := range r.Candidates {
		if c.Index != 0 {
			continue
		}
		for _, raw := range c.Content.Parts {
			if err := f.addPart(&out, raw); err != nil {
				return llm.Delta{}, false, err
			}
		}
		if c.FinishReason != "" && c.FinishReason != "FINISH_REASON_UNSPECIFIED" {
			f.finish, f.why = c.FinishReason, c.FinishMessage
		}
	}
	return out, false, nil
}

func blockedError(reason, words string) error {
	text := "the prompt was blocked: " + strings.ToLower(reason)
	if words != "" {
		text += ": " + words
	}
	return &llm.Error{Class: llm.Filtered, Message: text}
}

// addPart keeps a signed part separate, because its signature belongs to exactly that part.
func (f *fold) addPart(out *llm.Delta, raw json.RawMessage) error {
	var p part
	if err := json.Unmarshal(raw, &p); err != nil {
		return wire.PieceError("a part", err)
	}
	own, err := f.signatureOpaque(p.ThoughtSignature)
	if err != nil {
		return err
	}
	switch {
	case p.FunctionCall != nil:
		return f.addCall(p.FunctionCall, own)
	case p.InlineData != nil:
		data, err := base64.StdEncoding.DecodeString(p.InlineData.Data)
		if err != nil {
			return wire.PieceError("an image", err)
		}
		return f.parts.Add(llm.Part{Media: &llm.Media{Type: p.InlineData.MimeType, Data: data}, Opaque: own})
	case p.Text != nil:
		return f.addText(out, p, own)
	case len(raw) > len("{}"):
		return f.parts.Add(llm.Part{Opaque: &llm.Opaque{Model: f.full, Data: raw}})
	}
	return nil
}

func (f *fold) signatureOpaque(s string) (*llm.Opaque, error) {
	if s == "" {
		return nil, nil
	}
	data, err := json.Marshal(s)
	return &llm.Opaque{Model: f.full, Data: data}, err
}

func (f *fold) addText(out *llm.Delta, p part, own *llm.Opaque) error {
	if p.Thought {
		out.Reasoning += *p.Text
	} else {
		out.Text += *p.Text
	}
	switch {
	case own == nil && p.Thought:
		return f.parts.Reasoning(*p.Text)
	case own == nil:
		return f.parts.Text(*p.Text)
	case p.Thought:
		return f.parts.Add(llm.Part{Reasoning: *p.Text, Opaque: own})
	}
	return f.parts.Add(llm.Part{Text: *p.Text, Opaque: own})
}

// countUsage replaces the usage, which is cumulative, and skips empty ones.
func (f *fold) countUsage(u *usage) {
	if u == nil || u.Prompt == nil && u.Candidates+u.Thoughts == 0 {
		return
	}
	prompt := u.ToolUse
	if u.Prompt != nil {
		prompt += *u.Prompt
	}
	f.used = llm.Usage{
		Input:     int(max(0, prompt-u.Cached)),
		CacheRead: int(u.Cached),
		Output:    int(u.Candidates + u.Thoughts),
		Reasoning: int(u.Thoughts),
	}
}

func (f *fold) Usage() llm.Usage {
	if f.parts.Size() == 0 {
		return f.used
	}
	return wire.FillMissing(f.used, f.size, f.parts.Size())
}

func (f *fold) IsFinished() bool { return f.finish != "" }

func (f *fold) Answer() (*llm.Response, error) {
	if !f.IsFinished() {
		return nil, nil
	}
	if class := failureClass(f.finish); class != "" {
		text := "the model failed: " + strings.ToLower(f.finish)
		if f.why != "" {
			text += ": " + f.why
		}
		return nil, &llm.Error{Class: class, Message: text}
	}
	finish := convertFinish(f.finish)
	if f.open != nil && finish == llm.FinishStop {
		return nil, errOpenCall
	}
	if finish == llm.FinishStop && f.calls > 0 {
		finish = llm.FinishTools
	}
	used := f.Usage()
	msg := llm.Message{Role: llm.Assistant, Parts: f.parts.TakeParts()}
	return &llm.Response{Message: msg, Finish: finish, Model: f.full, Served: f.served, ID: f.id, Usage: used}, nil
}

func failureClass(reason string) llm.Class {
	switch reason {
	case "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		return llm.Malformed
	case "MISSING_THOUGHT_SIGNATURE":
		return llm.BadRequest
	}
	return ""
}

func convertFinish(reason string) llm.Finish {
	switch reason {
	case "STOP":
		return llm.FinishStop
	case "MAX_TOKENS":
		return llm.FinishLength
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT",
		"IMAGE_RECITATION", "MODEL_ARMOR":
		return llm.FinishFilter
	}
	return llm.FinishOther
}

// eachElement yields the elements of JSON lists, which some servers send instead of events.
func eachElement(pieces iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for piece, err := range pieces {
			var list []json.RawMessage
			if err != nil || len(bytes.TrimSpace(piece)) == 0 || bytes.TrimSpace(piece)[0] != '[' {
				if !yield(piece, err) {
					return
				}
				continue
			}
			if err := json.Unmarshal(piece, &list); err != nil {
				yield(nil, wire.PieceError("a list", err))
				return
			}
			for _, one := range list {
				if !yield(one, nil) {
					return
				}
			}
		}
	}
}
