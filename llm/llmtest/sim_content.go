package llmtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"unicode"

	"ponder/llm"
	"ponder/llm/llmtest/internal/mimic"
)

// content is a string, or parts as in chat completions, Responses and Anthropic.
type content []contentPart

type contentPart struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ImageURL  json.RawMessage `json:"image_url"` // {"url"} or a string
	Source    *mediaSource    `json:"source"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   content         `json:"content"` // of a result
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
}

type mediaSource struct {
	Type string `json:"type"`
	Data string `json:"data"`
	URL  string `json:"url"`
}

const maxNested = 64

func (c *content) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	if len(b) > 0 && b[0] == '"' {
		var text string
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	if len(b) > 0 && b[0] != '[' {
		return fmt.Errorf("content is neither a string nor a list")
	}
	if bytes.Count(b, []byte(`"tool_result"`)) > 1 && bracketDepth(b) > maxNested {
		return fmt.Errorf("content is nested too deep")
	}
	return json.Unmarshal(b, (*[]contentPart)(c))
}

// bracketDepth counts brackets in strings too.
func bracketDepth(b []byte) (maxDepth int) {
	depth := 0
	for _, ch := range b {
		switch ch {
		case '[', '{':
			depth++
			maxDepth = max(maxDepth, depth)
		case ']', '}':
			depth--
		}
	}
	return maxDepth
}

func (c content) joinText() string {
	if len(c) == 1 {
		return c[0].Text
	}
	var b []byte
	for _, p := range c {
		b = append(b, p.Text...)
	}
	return string(b)
}

func (c content) addTo(a *parsedRequest, role string) {
	for _, p := range c {
		switch {
		case p.ImageURL != nil:
			var url struct{ URL string }
			if json.Unmarshal(p.ImageURL, &url) != nil {
				_ = json.Unmarshal(p.ImageURL, &url.URL) // else no image
			}
			a.addImage(url.URL)
		case p.Source != nil:
			a.addImage(p.Source.Data + p.Source.URL)
		case p.Text != "":
			a.addText(role, p.Text)
		}
	}
}

func decodeRequest(body []byte, into any) (failure, bool) {
	if err := json.Unmarshal(body, into); err != nil {
		return failure{kind: badRequest, message: "We could not parse the JSON body of your request: " + err.Error()}, false
	}
	return failure{}, true
}

// A schemaShape has what providers check.
type schemaShape struct {
	Type                 json.RawMessage            `json:"type"`
	Properties           map[string]json.RawMessage `json:"properties"`
	Required             []string                   `json:"required"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	Items                json.RawMessage            `json:"items"`
	AnyOf                []json.RawMessage          `json:"anyOf"`
	Defs                 map[string]json.RawMessage `json:"$defs"`
}

const maxShape = 32

type schemaChecker struct {
	fine  mimic.Memo[struct{}] // valid schemas
	check func(at string, raw json.RawMessage, s schemaShape) string
}

// findFault returns the fault of a schema named at, or "".
func (c *schemaChecker) findFault(schema json.RawMessage, at string) string {
	if _, ok := c.fine.Load(schema); ok {
		return ""
	}
	why := checkShapes(schema, at, 0, c.check)
	if why == "" {
		c.fine.Store(schema, struct{}{})
	}
	return why
}

// checkShapes calls check for a schema and its subschemas, with paths.
func checkShapes(schema json.RawMessage, at string, depth int, check func(at string, raw json.RawMessage, s schemaShape) string) string {
	var s schemaShape
	if depth > maxShape || len(schema) == 0 || json.Unmarshal(schema, &s) != nil {
		return ""
	}
	if why := check(at, schema, s); why != "" {
		return why
	}
	inside := slices.Clone(s.AnyOf)
	if len(s.Items) > 0 {
		inside = append(inside, s.Items)
	}
	for _, sub := range inside {
		if why := checkShapes(sub, at+".items", depth+1, check); why != "" {
			return why
		}
	}
	for _, group := range []map[string]json.RawMessage{s.Properties, s.Defs} {
		for _, name := range sortedKeys(group) {
			if why := checkShapes(group[name], at+"."+name, depth+1, check); why != "" {
				return why
			}
		}
	}
	return ""
}

// isClosed reports whether an object allows no other properties, as OpenAI's strict mode
// and Anthropic require.
func isClosed(s schemaShape) bool {
	return len(s.Properties) == 0 && !bytes.Equal(s.Type, []byte(`"object"`)) || bytes.Equal(bytes.TrimSpace(s.AdditionalProperties), []byte("false"))
}

// dimensions is the default length of embeddings.
const dimensions = 256

// strList is a string or list in JSON.
type strList []string

func (l *strList) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '"' {
		*l = strList{""}
		return json.Unmarshal(b, &(*l)[0])
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// embedTexts returns vectors and tokens, or sends the failure and returns false.
func (x *exchange) embedTexts(model string, texts []string, size int) (vectors [][]float32, tokens int, ok bool) {
	x.rec.Model = model
	if why, ok := x.checkLimits(); !ok {
		x.sendFailure(why)
		return nil, 0, false
	}
	if !x.hasModel(model) {
		x.sendFailure(failure{kind: noModel})
		return nil, 0, false
	}
	a := &parsedRequest{model: model}
	for _, t := range texts {
		a.addTurn("user")
		a.addText("user", t)
	}
	r, why, ok := x.planReply(a)
	if !ok {
		x.sendFailure(why)
		return nil, 0, false
	}
	s := &stream{x: x, r: r, slow: 1}
	if r.behaviours.hasBehaviour(Hang) {
		<-x.r.Context().Done()
		return nil, 0, false
	}
	if !s.waitDelay(x.config.FirstToken) {
		return nil, 0, false
	}
	for _, t := range texts {
		vectors = append(vectors, x.embedText(model, t, size))
		tokens += (len(t) + 3) / 4
	}
	x.rec.Whole = true
	return vectors, tokens, true
}

func (x *exchange) embedText(model, text string, size int) []float32 {
	if x.config.LSA != nil && strings.TrimSuffix(model, ":latest") == LSAModel {
		return x.config.LSA.embedDimensions(text, size)
	}
	if size <= 0 || size > 4096 {
		size = dimensions
	}
	return hashEmbedding(text, size)
}

// hashEmbedding returns a unit vector, close for the same words.
func hashEmbedding(text string, size int) []float32 {
	v := make([]float32, size)
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(strings.TrimSuffix(word, "s"))) // never fails
		x := h.Sum64()
		for range 4 { // for each word
			x = mixHash(x, 1)
			v[x%uint64(size)] += float32(int(x>>32&1)*2 - 1)
		}
	}
	var sum float64
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	if sum == 0 {
		v[0], sum = 1, 1
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// embeddingFormat returns numbers, or base64 of little-endian floats.
func embeddingFormat(v []float32, format string) any {
	if format != "base64" {
		return v
	}
	b := make([]byte, 0, 4*len(v))
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// A parsedRequest is a request's meaning, in any dialect.
type parsedRequest struct {
	model    string
	system   string
	last     string // last user text; seal adds results
	results  string // later results
	fresh    bool   // next user text starts a question
	all      []byte // for the hash and planted instructions
	tools    []llm.Tool
	choice   string // as in llm.Request
	schema   json.RawMessage
	json     bool // JSON without a schema
	max      int  // tokens, or 0
	stream   bool
	usage    bool // in the stream
	think    bool
	encrypt  bool // encrypted reasoning
	answered bool // ends in results
	messages int
	images   int
	size     int // of the prompt
	hash     uint64
}

const imageTokens = 258

func (a *parsedRequest) addTurn(role string) {
	a.all = append(append(a.all, 1), role...)
	a.messages++
	a.fresh = role == "user"
}

func (a *parsedRequest) addText(role, text string) {
	a.all = append(append(append(a.all, role...), 0), text...)
	a.size += len(text)
	switch role {
	case "system":
		a.system = joinParagraphs(a.system, text)
	case "user":
		if a.fresh {
			a.last, a.results, a.answered, a.fresh = "", "", false, false
		}
		a.last = joinParagraphs(a.last, text)
	}
}

func (a *parsedRequest) addResult(text string) {
	a.addText("tool", text)
	a.results = joinParagraphs(a.results, text)
	a.answered, a.fresh = true, false
}

func joinParagraphs(before, text string) string {
	if before == "" {
		return text
	}
	return before + "\n\n" + text
}

func (a *parsedRequest) addCall(name string, input []byte) {
	a.addText("call", name)
	a.addText("input", string(input))
}

func (a *parsedRequest) addImage(data string) {
	sum := sha256.Sum256([]byte(data))
	a.all = append(a.all, sum[:]...)
	a.images++
}

func (a *parsedRequest) addTool(name, doc string, schema json.RawMessage) {
	a.tools = append(a.tools, llm.Tool{Name: name, Doc: doc, Schema: schema})
	a.size += len(name) + len(doc) + len(schema)
}

// computeHash computes the hash at the end.
func (a *parsedRequest) computeHash() {
	a.last = strings.TrimPrefix(joinParagraphs(a.last, a.results), "\n\n")
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

func (a *parsedRequest) countTokens() int {
	return (a.size+3)/4 + 4*a.messages + 3 + imageTokens*a.images
}
