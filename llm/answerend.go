package llm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// An AnswerEnd finds the end of a streamed answer to a request with a schema. The answer
// ends when the JSON value closes with which it begins. One corrected value may follow
// soon, and several values if none has all members that the schema requires. It also ends where
// a list begins to repeat an item. Without a schema, or if the answer begins with other text,
// there is no such end.
//
// The result does not depend on how the text is cut into pieces.
type AnswerEnd struct {
	required []string // members of the schema
	text     []byte   // of the answer so far
	scanned  int
	start    int // of the current value
	open     []openBracket
	quoted   bool
	escaped  bool
	state    endState
	values   int
	whole    bool // a value has all required members
	loop     bool // it ended because a list repeats an item
	closed   int  // end of the newest value
	proseEnd int  // bytes of text after it, without white space
}

type endState int

const (
	beforeValue endState = iota
	inValue
	afterValue
	noValue
	ended
)

const (
	maxBefore     = 200 // bytes of white space and a fence before a value
	maxAfterSpace = 16  // bytes of white space after a value
	maxAfterText  = 160 // bytes of text between two values
	maxValues     = 8   // of answers with one value for each item
	maxWholeText  = 1 << 20
	maxNesting    = 200

	maxEqualItems   = 3  // in a row
	maxEqualNumbers = 64 // in a row
)

// An openBracket is an object or list that is not closed yet.
type openBracket struct {
	list  bool
	item  int // start of the current item of the list
	first int // end of the first of the equal items before it
	last  int // end of the newest
	equal int // number of equal items
	from  int // start of the newest
}

// NewAnswerEnd returns the end of answers of a schema, which may be nil.
func NewAnswerEnd(schema *Schema) *AnswerEnd {
	e := &AnswerEnd{}
	if schema == nil {
		e.state = noValue
		return e
	}
	var s struct {
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(schema.JSON, &s) // another schema has no required members
	e.required = s.Required
	return e
}

// Add adds a piece of text. It reports the length of the answer, and whether the answer ended.
func (e *AnswerEnd) Add(piece string) (length int, done bool) {
	if e.state == noValue || e.state == ended {
		return e.closed, e.state == ended
	}
	if len(e.text)+len(piece) > maxWholeText {
		e.state, e.text = noValue, nil
		return 0, false
	}
	e.text = append(e.text, piece...)
	for e.scanned < len(e.text) && e.state != noValue && e.state != ended {
		switch e.state {
		case beforeValue:
			e.findStart()
		case inValue:
			e.scanValue()
		case afterValue:
			e.scanRest()
		}
		if e.state == beforeValue {
			break // the text is too short to tell
		}
	}
	return e.closed, e.state == ended
}

// IsClosed reports whether a value closed and no other one is open. The answer may then end
// at any time. It returns the length of the answer.
func (e *AnswerEnd) IsClosed() (length int, ok bool) {
	return e.closed, e.state == afterValue || e.state == ended
}

const fenceMark = "```"

// findStart looks for a value at the start of the text, perhaps in a fence.
func (e *AnswerEnd) findStart() {
	const mark = "\ufeff" // of the byte order
	if strings.HasPrefix(mark, string(e.text)) {
		return
	}
	text := strings.TrimLeft(strings.TrimPrefix(string(e.text), mark), " \t\r\n")
	rest, fenced := strings.CutPrefix(text, fenceMark)
	if fenced {
		line, after, ok := strings.Cut(rest, "\n")
		if !ok && len(rest) < maxAfterSpace {
			return
		}
		if len(line) >= maxAfterSpace {
			e.state = noValue
			return
		}
		text = strings.TrimLeft(after, " \t\r\n")
	}
	switch {
	case len(e.text)-len(text) > maxBefore:
		e.state = noValue
		return
	case text == "", !fenced && strings.HasPrefix(fenceMark, text):
		return
	case text[0] != '{' && text[0] != '[':
		e.state = noValue
		return
	}
	e.openValue(len(e.text) - len(text))
}

func (e *AnswerEnd) openValue(start int) {
	e.state, e.start, e.scanned, e.open, e.quoted, e.escaped = inValue, start, start, e.open[:0], false, false
}

func (e *AnswerEnd) scanValue() {
	for ; e.scanned < len(e.text); e.scanned++ {
		c := e.text[e.scanned]
		switch {
		case e.escaped:
			e.escaped = false
		case e.quoted && c == '\\':
			e.escaped = true
		case c == '"':
			e.quoted = !e.quoted
		case e.quoted:
		case c == '{', c == '[':
			if e.open = append(e.open, openBracket{list: c == '[', item: e.scanned + 1}); len(e.open) > maxNesting {
				e.state = noValue
				return
			}
		case c == ',', c == '}', c == ']':
			if e.endItem(); e.state == ended {
				return
			}
			if c == ',' {
				continue
			}
			if e.open = e.open[:len(e.open)-1]; len(e.open) == 0 {
				e.scanned++
				e.closeValue()
				return
			}
		}
	}
}

// endItem ends an item of the innermost list. It ends the answer if the item equals those before
// it too often.
func (e *AnswerEnd) endItem() {
	b := &e.open[len(e.open)-1]
	if !b.list {
		return
	}
	item := bytes.TrimSpace(e.text[b.item:e.scanned])
	if b.equal > 0 && bytes.Equal(item, bytes.TrimSpace(e.text[b.from:b.last])) {
		b.equal++
	} else {
		b.equal, b.first = 1, e.scanned
	}
	b.from, b.last, b.item = b.item, e.scanned, e.scanned+1
	limit := maxEqualItems
	if len(item) > 0 && strings.IndexByte("-0123456789", item[0]) >= 0 {
		limit = maxEqualNumbers
	}
	if b.equal >= limit && len(item) > 0 {
		e.state, e.closed, e.loop = ended, b.first, true
	}
}

// IsLoop reports whether the answer ended because a list repeats an item.
func (e *AnswerEnd) IsLoop() bool { return e.loop }

func (e *AnswerEnd) closeValue() {
	e.state, e.closed, e.proseEnd = afterValue, e.scanned, 0
	e.values++
	var members map[string]json.RawMessage
	whole := json.Unmarshal(e.text[e.start:e.closed], &members) == nil && len(members) > 0
	for _, name := range e.required {
		whole = whole && members[name] != nil
	}
	if e.whole && e.values > 1 || e.values >= maxValues { // a correction, or too many
		e.state = ended
	}
	e.whole = e.whole || whole
}

// scanRest reads the text after a value.
func (e *AnswerEnd) scanRest() {
	for ; e.scanned < len(e.text); e.scanned++ {
		c := e.text[e.scanned]
		after := e.scanned - e.closed
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			if after-e.proseEnd > maxAfterSpace {
				e.state = ended
				return
			}
			continue
		case c == '{':
			e.openValue(e.scanned)
			return
		case e.proseEnd == 0 && strings.IndexByte(`,:]}"`, c) >= 0: // the quotes of the value are wrong
			e.state = noValue
			return
		}
		if e.proseEnd = after + 1; e.proseEnd > maxAfterText {
			e.state = ended
			return
		}
	}
}
