package ollama

import "ponder/llm/internal/wire"

// quickLine reads a line that is like most, words with more to come, without
// decoding it, and leaves whatever is not quite so to the decoder. The model is
// the one known so far, which lines repeat.
func quickLine(data []byte, model string) (l line, ok bool) {
	l.Model = model
	messages := 0
	s := wire.Scan(data)
	ok = s.Members(func(key []byte) bool {
		switch string(key) {
		case "model":
			return s.Same(&l.Model)
		case "created_at":
			return s.Scalar()
		case "message":
			messages++
			return messages == 1 && s.Members(func(key []byte) bool {
				switch string(key) {
				case "role":
					return s.Scalar()
				case "content":
					return s.Text(&l.Message.Content)
				case "thinking":
					return s.Text(&l.Message.Thinking)
				}
				return s.Null()
			})
		case "done":
			return s.Word("false")
		}
		return s.Null()
	})
	return l, ok && s.End() && messages == 1
}
