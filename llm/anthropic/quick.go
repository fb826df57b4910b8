package anthropic

import "ponder/llm/internal/wire"

// quickDelta reads the most common event and leaves others to the decoder.
func quickDelta(data []byte) (index int, d delta, ok bool) {
	types, deltas := 0, 0
	s := wire.Scan(data)
	ok = s.Members(func(key []byte) bool {
		switch string(key) {
		case "type":
			types++
			return s.Word(`"content_block_delta"`)
		case "index":
			return s.Int(&index)
		case "delta":
			deltas++
			return deltas == 1 && s.Members(func(key []byte) bool { return quickField(&s, key, &d) })
		}
		return s.Null()
	})
	return index, d, ok && s.End() && types > 0 && d.Type != ""
}

func quickField(s *wire.Scanner, key []byte, d *delta) bool {
	switch string(key) {
	case "type":
		switch string(s.Raw()) {
		case `"text_delta"`:
			d.Type = "text_delta"
		case `"thinking_delta"`:
			d.Type = "thinking_delta"
		case `"input_json_delta"`:
			d.Type = "input_json_delta"
		default:
			return false
		}
		return true
	case "text":
		return s.Text(&d.Text)
	case "thinking":
		return s.Text(&d.Thinking)
	case "partial_json":
		return s.Text(&d.PartialJSON)
	}
	return false
}
