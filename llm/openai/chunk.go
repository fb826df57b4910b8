package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

type (
	chunk struct {
		ID      string         `json:"id"`
		Object  string         `json:"object"`
		Model   string         `json:"model"`
		Choices []streamChoice `json:"choices"`
		Usage   *usage         `json:"usage"`
		Groq    *struct {
			ID    string `json:"id"`
			Usage *usage `json:"usage"`
		} `json:"x_groq"`
	}
	streamChoice struct {
		Index   int             `json:"index"`
		Delta   *messageDelta   `json:"delta"`
		Message *messageDelta   `json:"message"`
		Usage   *usage          `json:"usage"` // Moonshot
		Finish  string          `json:"finish_reason"`
		Error   json.RawMessage `json:"error"` // OpenRouter
	}
	messageDelta struct {
		Content          content           `json:"content"`
		ReasoningContent string            `json:"reasoning_content"`
		Reasoning        string            `json:"reasoning"`
		Details          []json.RawMessage `json:"reasoning_details"`
		Refusal          string            `json:"refusal"`
		Calls            []callPiece       `json:"tool_calls"`
	}
	callPiece struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string  `json:"name"`
			Arguments rawText `json:"arguments"`
		} `json:"function"`
	}
)

// unmarshalLenient ignores fields of a wrong type, because servers vary.
func unmarshalLenient(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return nil
	}
	return err
}

type content struct{ text, reasoning string }

// UnmarshalJSON accepts a string, null and a list of parts, as of Mistral. Other JSON is its
// own text: some servers, such as Cloudflare's, send the value of a JSON answer.
func (c *content) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, &c.text)
	case 'n':
		return nil
	case '[':
		var parts []json.RawMessage
		if json.Unmarshal(b, &parts) == nil && c.addParts(parts) {
			return nil
		}
	case '{':
		if c.addParts([]json.RawMessage{b}) {
			return nil
		}
	}
	c.text = string(b)
	return nil
}

// A contentPart is one part. Its text may be a string or, in some APIs, an object with a value.
type contentPart struct {
	Type      string          `json:"type"`
	Text      json.RawMessage `json:"text"`
	Value     string          `json:"value"`
	Thinking  json.RawMessage `json:"thinking"`
	Reasoning json.RawMessage `json:"reasoning"`
	Summary   json.RawMessage `json:"summary"`
	Refusal   string          `json:"refusal"`
}

// addParts reports whether all of list are parts. It ignores parts without text.
func (c *content) addParts(list []json.RawMessage) bool {
	parts := make([]contentPart, len(list))
	for i, raw := range list {
		if unmarshalLenient(raw, &parts[i]) != nil || !isPartType(parts[i].Type) {
			return false
		}
	}
	for _, p := range parts {
		text, thought := joinText(p.Text, 1), joinText(p.Thinking, 1)+joinText(p.Reasoning, 1)+joinText(p.Summary, 1)
		if p.Type == "thinking" || p.Type == "reasoning" {
			text, thought = "", thought+text
		}
		c.text += text + p.Refusal
		c.reasoning += thought
	}
	return true
}

// isPartType reports whether typ is of a part, not a member of a JSON answer.
func isPartType(typ string) bool {
	switch typ {
	case "text", "output_text", "refusal", "thinking", "reasoning", "redacted_thinking", "reference", "tool_reference",
		"image_url", "input_text", "image", "output_image", "audio", "file", "document_url", "tool_file":
		return true
	}
	return false
}

// maxPartDepth limits lists within parts.
const maxPartDepth = 3

// joinText returns the text of a string, of an object with a text or value, or of a list of them.
func joinText(raw json.RawMessage, depth int) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil || depth > maxPartDepth {
		return s
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for _, one := range list {
			s += joinText(one, depth+1)
		}
		return s
	}
	var p contentPart
	if unmarshalLenient(raw, &p) != nil {
		return ""
	}
	return joinText(p.Text, depth+1) + p.Value
}

// rawText is the text of a string, or other JSON verbatim.
type rawText string

func (t *rawText) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(t))
	case 'n':
		return nil
	}
	*t = rawText(b)
	return nil
}

// A detail is a piece of reasoning in OpenRouter's form.
type detail struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Index     json.RawMessage `json:"index"`
	Format    string          `json:"format"`
	Text      string          `json:"text"`
	Summary   string          `json:"summary"`
	Signature string          `json:"signature"`
}

func detailText(details []json.RawMessage) string {
	var b strings.Builder
	for _, raw := range details {
		var d detail
		if json.Unmarshal(raw, &d) == nil {
			b.WriteString(d.Text)
			b.WriteString(d.Summary)
		}
	}
	return b.String()
}

// details joins consecutive pieces of one text or summary.
type details struct {
	list []partialDetail
	size int
}

type partialDetail struct {
	detail
	raw    json.RawMessage // the first piece
	text   []byte
	pieces int
}

func (d *details) addDetails(raws []json.RawMessage) error {
	for _, raw := range raws {
		if d.size += len(raw); d.size > maxAnswer {
			return errTooLarge
		}
		var in detail
		if json.Unmarshal(raw, &in) != nil {
			continue
		}
		if n := len(d.list); n > 0 && d.list[n-1].continuesWith(in) {
			d.list[n-1].appendPiece(in)
			continue
		}
		d.list = append(d.list, partialDetail{detail: in, raw: raw, text: []byte(in.Text + in.Summary), pieces: 1})
	}
	return nil
}

func (g *partialDetail) continuesWith(in detail) bool {
	return in.Type == g.Type && (in.Type == "reasoning.text" || in.Type == "reasoning.summary") &&
		string(in.Index) == string(g.Index) && (in.ID == "" || g.ID == "" || in.ID == g.ID) &&
		(g.Signature == "" || in.Text == "")
}

func (g *partialDetail) appendPiece(in detail) {
	g.text = append(g.text, in.Text+in.Summary...)
	g.pieces++
	if in.Signature != "" {
		g.Signature = in.Signature
	}
	g.ID = cmp.Or(g.ID, in.ID)
	g.Format = cmp.Or(g.Format, in.Format)
}

// joinDetails returns the details, verbatim if they came in one piece.
func (d *details) joinDetails() (out []json.RawMessage) {
	for _, g := range d.list {
		out = append(out, g.joinPieces())
	}
	return out
}

func (g *partialDetail) joinPieces() json.RawMessage {
	o, err := wire.ParseObject(g.raw)
	if err != nil || g.pieces == 1 {
		return g.raw
	}
	key := "text"
	if g.Type == "reasoning.summary" {
		key = "summary"
	}
	for _, f := range []struct{ key, value string }{{key, string(g.text)}, {"signature", g.Signature}, {"id", g.ID}, {"format", g.Format}} {
		if quoted, err := json.Marshal(f.value); err == nil && f.value != "" {
			o.Set(f.key, quoted)
		}
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return g.raw
	}
	return text
}

// usage has the usage fields of all servers.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Input      int `json:"input_tokens"`  // Responses
	Output     int `json:"output_tokens"` // Responses

	PromptDetails     counts `json:"prompt_tokens_details"`
	InputDetails      counts `json:"input_tokens_details"` // Responses
	CompletionDetails counts `json:"completion_tokens_details"`
	OutputDetails     counts `json:"output_tokens_details"` // Responses

	CacheHit   int `json:"prompt_cache_hit_tokens"`     // DeepSeek
	Cached     int `json:"cached_tokens"`               // Moonshot
	CacheWrite int `json:"cache_creation_input_tokens"` // Vercel

	Cost        *amount `json:"cost"` // US dollars
	BYOK        bool    `json:"is_byok"`
	CostDetails struct {
		Upstream *amount `json:"upstream_inference_cost"`
	} `json:"cost_details"`
	Ticks *amount `json:"cost_in_usd_ticks"` // xAI
}

type counts struct {
	Cached     int `json:"cached_tokens"`
	CacheWrite int `json:"cache_write_tokens"`
	Reasoning  int `json:"reasoning_tokens"`
}

// An amount is a number or a numeric string.
type amount float64

// UnmarshalJSON decodes other values as NaN.
func (a *amount) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64)
	if err != nil {
		f = math.NaN()
	}
	*a = amount(f)
	return nil
}

const (
	microsPerDollar = 1e6
	ticksPerMicro   = 1e4 // 1e10 a dollar
)

// toUsage converts the usage to disjoint parts.
func (u *usage) toUsage() llm.Usage {
	if u == nil {
		return llm.Usage{}
	}
	prompt := firstPositive(u.Prompt, u.Input)
	read := min(firstPositive(u.PromptDetails.Cached, u.InputDetails.Cached, u.CacheHit, u.Cached), prompt)
	write := min(firstPositive(u.PromptDetails.CacheWrite, u.InputDetails.CacheWrite, u.CacheWrite), prompt-read)
	out := firstPositive(u.Completion, u.Output)
	reasoning := firstPositive(u.CompletionDetails.Reasoning, u.OutputDetails.Reasoning)
	if u.Total == prompt+out+reasoning || reasoning > out { // counted separately
		out += reasoning
	}
	return llm.Usage{
		Input: prompt - read - write, CacheRead: read, CacheWrite: write,
		Output: out, Reasoning: reasoning, Cost: u.costMicros(),
	}
}

// costMicros returns millionths of a dollar, or nil.
func (u *usage) costMicros() *int64 {
	micros := math.NaN()
	switch {
	case u.Ticks != nil:
		micros = float64(*u.Ticks) / ticksPerMicro
	case u.Cost != nil:
		micros = float64(*u.Cost) * microsPerDollar
		if u.BYOK && u.CostDetails.Upstream != nil { // only the broker's fee
			micros += float64(*u.CostDetails.Upstream) * microsPerDollar
		}
	}
	if math.IsNaN(micros) || micros < 0 || micros > 1e15 {
		return nil
	}
	n := int64(math.Round(micros))
	return &n
}

// maxCount keeps sums from overflowing.
const maxCount = 1 << 28

// firstPositive returns the first positive number, or 0.
func firstPositive(list ...int) int {
	for _, n := range list {
		if n > 0 {
			return min(n, maxCount)
		}
	}
	return 0
}
