package subconscious

// IsTopic reports whether a text says what it is about: words such as "the" alone do not.
func IsTopic(text string) bool {
	p := newReader(nil).read(text)
	return len(p.words) > 0 || len(p.values) > 0
}
