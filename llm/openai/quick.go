package openai

import "bytes"

// Nearly all that streams is the same small object around a few words. These
// functions find the words without decoding the object, and leave whatever is
// not quite so to the decoder.

// A quick is what a chunk says that is read without the decoder.
type quick struct {
	id, model string // as before where the chunk does not say
	said      said   // words only
	finish    string
	used      usage
}

// quickChunk returns what a chunk says, if it is one of the many that only say
// words, why the answer ended, or how much was used. The id and the model are
// those known so far, which chunks repeat.
func quickChunk(data []byte, id, model string) (q quick, ok bool) {
	q = quick{id: id, model: model}
	choices, counts := 0, 0
	ok = members(data, func(key, value []byte) bool {
		switch string(key) {
		case "id":
			return quickSame(value, &q.id)
		case "model":
			return quickSame(value, &q.model)
		case "choices":
			choices++
			return quickChoice(value, &q)
		case "usage":
			counts++
			return isNull(value) || quickUsage(value, &q.used)
		case "error":
			return false
		case "x_groq":
			return isNull(value)
		}
		return scalar(value)
	})
	return q, ok && choices == 1 && counts <= 1
}

// quickChoice reads a list of at most one choice.
func quickChoice(value []byte, q *quick) bool {
	if len(value) < 2 || value[0] != '[' {
		return false
	}
	one := bytes.TrimSpace(value[1 : len(value)-1])
	if len(one) == 0 {
		return true
	}
	deltas := 0
	ok := members(one, func(key, value []byte) bool {
		switch string(key) {
		case "index":
			return string(value) == "0"
		case "delta":
			deltas++
			return deltas == 1 && members(value, func(key, value []byte) bool { return quickDelta(key, value, &q.said) })
		case "finish_reason":
			return isNull(value) || quickString(value, &q.finish)
		}
		return isNull(value)
	})
	return ok && deltas == 1
}

func quickDelta(key, value []byte, s *said) bool {
	to := &s.Content.text
	switch string(key) {
	case "role":
		return scalar(value)
	case "content":
	case "reasoning_content":
		to = &s.ReasoningContent
	case "reasoning":
		to = &s.Reasoning
	default:
		return isNull(value)
	}
	return isNull(value) || *to == "" && quickString(value, to)
}

// quickUsage reads what was used, if there is nothing in it but the tokens that
// nearly all servers count.
func quickUsage(value []byte, u *usage) bool {
	return members(value, func(key, value []byte) bool {
		switch string(key) {
		case "prompt_tokens":
			return quickInt(value, &u.Prompt)
		case "completion_tokens":
			return quickInt(value, &u.Completion)
		case "total_tokens":
			return quickInt(value, &u.Total)
		case "prompt_tokens_details":
			return isNull(value) || quickCounts(value, &u.PromptDetails)
		case "completion_tokens_details":
			return isNull(value) || quickCounts(value, &u.CompletionDetails)
		}
		return isNull(value)
	})
}

func quickCounts(value []byte, c *counts) bool {
	return members(value, func(key, value []byte) bool {
		switch string(key) {
		case "cached_tokens":
			return quickInt(value, &c.Cached)
		case "cache_write_tokens":
			return quickInt(value, &c.CacheWrite)
		case "reasoning_tokens":
			return quickInt(value, &c.Reasoning)
		}
		return scalar(value)
	})
}

// quickEvent reads an event of the Responses API, if it only brings words, or
// nothing but its type matters.
func quickEvent(data []byte) (ev event, ok bool) {
	types, deltas, more := 0, 0, false
	ok = members(data, func(key, value []byte) bool {
		switch string(key) {
		case "type":
			types++
			ev.Type = quickType(value)
			return ev.Type != ""
		case "delta":
			deltas++
			return deltas == 1 && quickString(value, (*string)(&ev.Delta))
		case "summary_index":
			return quickInt(value, &ev.Summary)
		case "response", "item", "object":
			more = true
		}
		return string(key) != "error"
	})
	words := deltas == 1 && !more
	return ev, ok && types == 1 && (words || !bringsWords(ev.Type))
}

// bringsWords reports whether the delta of an event of a type matters.
func bringsWords(typ string) bool {
	return typ == "response.output_text.delta" || typ == "response.reasoning_summary_text.delta"
}

// quickType returns a type of event of which the words matter or nothing does,
// else "".
func quickType(quoted []byte) string {
	switch string(quoted) {
	case `"response.output_text.delta"`:
		return "response.output_text.delta"
	case `"response.reasoning_summary_text.delta"`:
		return "response.reasoning_summary_text.delta"
	case `"response.output_item.added"`:
		return "response.output_item.added"
	case `"response.function_call_arguments.delta"`, `"response.function_call_arguments.done"`, `"response.in_progress"`,
		`"response.content_part.added"`, `"response.content_part.done"`, `"response.output_text.done"`,
		`"response.reasoning_summary_part.added"`, `"response.reasoning_summary_part.done"`, `"response.reasoning_summary_text.done"`:
		return "of no matter"
	}
	return ""
}
