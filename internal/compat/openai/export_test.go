package openai

// CutPieces returns text before the first of the stops, in pieces of n bytes.
func CutPieces(text string, stops []string, n int) (out string) {
	c := stopCutter{stops: stops}
	for len(text) > 0 {
		size := min(n, len(text))
		out += c.add(text[:size])
		text = text[size:]
	}
	return out + c.takeRest()
}
