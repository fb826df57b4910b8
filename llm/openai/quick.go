package openai

import "ponder/llm/internal/wire"

// Most chunks are the same small object around a few words. These functions leave all
// others to the decoder.

type quickResult struct {
	id, model string       // or the known values
	said      messageDelta // words only
	finish    string
	used      usage
}

// quickChunk reads words, a finish reason or usage. id and model are known values, which
// chunks repeat.
func quickChunk(data []byte, id, model string) (q quickResult, ok bool) {
	q = quickResult{id: id, model: model}
	choices, counts := 0, 0
	s := wire.Scan(data)
	ok = s.Members(func(key []byte) bool {
		switch string(key) {
		case "id":
			return s.TextLike(&q.id)
		case "model":
			return s.TextLike(&q.model)
		case "choices":
			choices++
			return quickChoice(&s, &q)
		case "usage":
			counts++
			return s.Null() || quickUsage(&s, &q.used)
		case "error":
			return false
		case "x_groq":
			return s.Null()
		}
		return s.Scalar()
	})
	return q, ok && s.End() && choices == 1 && counts <= 1
}

// quickChoice reads at most one choice.
func quickChoice(s *wire.Scanner, q *quickResult) bool {
	if !s.Take('[') {
		return false
	}
	if s.Take(']') {
		return true
	}
	deltas := 0
	ok := s.Members(func(key []byte) bool {
		switch string(key) {
		case "index":
			return s.Word("0")
		case "delta":
			deltas++
			return deltas == 1 && s.Members(func(key []byte) bool { return quickDelta(s, key, &q.said) })
		case "finish_reason":
			return s.Text(&q.finish)
		}
		return s.Null()
	})
	return ok && deltas == 1 && s.Take(']')
}

func quickDelta(s *wire.Scanner, key []byte, said *messageDelta) bool {
	to := &said.Content.text
	switch string(key) {
	case "role":
		return s.Scalar()
	case "content":
	case "reasoning_content":
		to = &said.ReasoningContent
	case "reasoning":
		to = &said.Reasoning
	default:
		return s.Null()
	}
	return *to == "" && s.Text(to)
}

// quickUsage reads the common counts only.
func quickUsage(s *wire.Scanner, u *usage) bool {
	return s.Members(func(key []byte) bool {
		switch string(key) {
		case "prompt_tokens":
			return s.Int(&u.Prompt)
		case "completion_tokens":
			return s.Int(&u.Completion)
		case "total_tokens":
			return s.Int(&u.Total)
		case "prompt_tokens_details":
			return s.Null() || quickCounts(s, &u.PromptDetails)
		case "completion_tokens_details":
			return s.Null() || quickCounts(s, &u.CompletionDetails)
		}
		return s.Null()
	})
}

func quickCounts(s *wire.Scanner, c *counts) bool {
	return s.Members(func(key []byte) bool {
		switch string(key) {
		case "cached_tokens":
			return s.Int(&c.Cached)
		case "cache_write_tokens":
			return s.Int(&c.CacheWrite)
		case "reasoning_tokens":
			return s.Int(&c.Reasoning)
		}
		return s.Scalar()
	})
}

// quickEvent reads events with words, or of which only the type matters.
func quickEvent(data []byte) (ev event, ok bool) {
	types, deltas, more := 0, 0, false
	s := wire.Scan(data)
	ok = s.Members(func(key []byte) bool {
		switch string(key) {
		case "type":
			types++
			ev.Type = quickType(s.Raw())
			return ev.Type != ""
		case "delta":
			deltas++
			return deltas == 1 && s.Text((*string)(&ev.Delta))
		case "summary_index":
			return s.Int(&ev.Summary)
		case "output_index":
			ev.Index.ok = !s.Null() && s.Int(&ev.Index.n)
			return ev.Index.ok
		case "response", "item", "object":
			more = true
		}
		return string(key) != "error" && s.Skip()
	})
	words := deltas == 1 && !more && ev.Index.ok
	return ev, ok && s.End() && types == 1 && (words || !hasText(ev.Type))
}

func hasText(typ string) bool {
	return typ == "response.output_text.delta" || typ == "response.reasoning_summary_text.delta"
}

// quickType returns the type, or "" for those of the decoder.
func quickType(quoted []byte) string {
	switch string(quoted) {
	case `"response.output_text.delta"`:
		return "response.output_text.delta"
	case `"response.reasoning_summary_text.delta"`:
		return "response.reasoning_summary_text.delta"
	case `"response.function_call_arguments.delta"`, `"response.function_call_arguments.done"`, `"response.in_progress"`,
		`"response.content_part.added"`, `"response.content_part.done"`, `"response.output_text.done"`,
		`"response.reasoning_summary_part.added"`, `"response.reasoning_summary_part.done"`, `"response.reasoning_summary_text.done"`:
		return "of no matter"
	}
	return ""
}
