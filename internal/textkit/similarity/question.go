package similarity

// The part that an English question with "what", "which" or "who" asks for.
const (
	subject = 1 // Which sources mention it?
	object  = 2 // Which sources does it mention?
)

// findAskedRole returns the part that the last sentence asks for, 0 if unknown.
func (r *reader) findAskedRole() uint8 {
	from := len(r.tokens) - 1
	for from > 0 && !r.tokens[from].first {
		from--
	}
	list := r.tokens[from:]
	if len(list) == 0 || !relativeWords[list[0].text] {
		return 0
	}
	for i := range list[1:] {
		t := &list[i+1]
		switch {
		case t.lexeme.is&(opensPhrase|joinsTerms) != 0:
		case doForms[t.text]:
			return object
		case helperVerbs[t.text]:
			return 0
		case t.kind != word || t.stop || t.known && t.entry.kind >= kindCondition:
			return subject
		}
	}
	return subject
}

var (
	relativeWords = words("which what who whom whose")
	doForms       = words("do does did")
)
