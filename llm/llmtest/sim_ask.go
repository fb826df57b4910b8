package llmtest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"ponder/llm"
)

// An ask is what a request asks for, whatever its dialect.
type ask struct {
	model    string
	system   string
	last     string // the last user's text, when sealed with results of tools after it
	results  string // what tools returned since
	fresh    bool   // the next text of the user begins a question
	all      []byte // all that was said, for the hash and to look for planted instructions
	tools    []llm.Tool
	choice   string // as in llm.Request
	schema   json.RawMessage
	json     bool // a JSON object without a schema
	max      int  // tokens, or 0
	stream   bool
	usage    bool // usage in the stream
	think    bool // reasoning is to be shown
	encrypt  bool // reasoning is to come with an opaque copy
	answered bool // the last message has results of tools
	messages int
	images   int
	size     int // bytes of the prompt
	hash     uint64
}

// imageTokens is what an image counts.
const imageTokens = 258

// turn begins a message.
func (a *ask) turn(role string) {
	a.all = append(append(a.all, 1), role...)
	a.messages++
	a.fresh = role == "user"
}

// say adds text to the message.
func (a *ask) say(role, text string) {
	a.all = append(append(append(a.all, role...), 0), text...)
	a.size += len(text)
	switch role {
	case "system":
		a.system = paragraph(a.system, text)
	case "user":
		if a.fresh {
			a.last, a.results, a.answered, a.fresh = "", "", false, false
		}
		a.last = paragraph(a.last, text)
	}
}

// result adds what a tool returned.
func (a *ask) result(text string) {
	a.say("tool", text)
	a.results = paragraph(a.results, text)
	a.answered, a.fresh = true, false
}

func paragraph(before, text string) string {
	if before == "" {
		return text
	}
	return before + "\n\n" + text
}

// call adds a call of a tool that the model made.
func (a *ask) call(name string, input []byte) {
	a.say("call", name)
	a.say("input", string(input))
}

// image adds an image.
func (a *ask) image(data string) {
	sum := sha256.Sum256([]byte(data))
	a.all = append(a.all, sum[:]...)
	a.images++
}

// tool adds a tool.
func (a *ask) tool(name, doc string, schema json.RawMessage) {
	a.tools = append(a.tools, llm.Tool{Name: name, Doc: doc, Schema: schema})
	a.size += len(name) + len(doc) + len(schema)
}

// seal computes what is known when all is said.
func (a *ask) seal() {
	a.last = strings.TrimPrefix(paragraph(a.last, a.results), "\n\n")
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%t\x00", a.model, a.choice, a.json)
	h.Write(a.schema)
	for _, t := range a.tools {
		fmt.Fprintf(h, "\x00%s", t.Name)
	}
	h.Write(a.all)
	a.hash = binary.BigEndian.Uint64(h.Sum(nil))
	a.size += len(a.schema)
}

// tokens estimates the tokens of the prompt.
func (a *ask) tokens() int {
	return (a.size+3)/4 + 4*a.messages + 3 + imageTokens*a.images
}
