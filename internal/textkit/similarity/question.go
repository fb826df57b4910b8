package similarity

// The part that an English question with "what", "which" or "who" asks for.
const (
	subject = 1 // Which sources mention it?
	object  = 2 // Which sources does it mention?
)

// findAskedRole returns the part that the last sentence asks for, 0 if unknown.
func (r *reader) wanted() uint8 {
	from := len(r.tokens) - 1
	for from > 0 && !r.tokens[from].first {
		from--
	}
	list := r.tokens[from:]
	if len(list) == 0 || !relative[list[0].text] {
		return 0
	}
	for i := range list[1:] {
		t := &list[i+1]
		switch {
		case t.lexeme.is&(opens|belonging) != 0:
		case doing[t.text]:
			return object
		case helping[t.text]:
			return 0
		case t.kind != word || t.stop || t.known && t.entry.kind >= when:
			return subject
		}
	}
	return subject
}

var (
	relative = words("which what who whom whose")
	doing    = words("do does did")
)
