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

var errContent = &llm.Error{Class: llm.Malformed, Message: "the answer's content is neither text nor a list of parts"}

// UnmarshalJSON accepts a string, null, or Mistral's list of parts.
func (c *content) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, &c.text)
	case 'n':
		return nil
	case '[':
		return c.readParts(b)
	}
	return errContent
}

func (c *content) readParts(b []byte) error {
	type piece struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	var parts []piece
	if err := json.Unmarshal(b, &parts); err != nil {
		return errContent
	}
	for _, p := range parts {
		c.text += p.Text
		if len(p.Thinking) == 0 {
			continue
		}
		var inner []piece
		var text string
		if json.Unmarshal(p.Thinking, &inner) == nil {
			for _, t := range inner {
				c.reasoning += t.Text
			}
		} else if json.Unmarshal(p.Thinking, &text) == nil {
			c.reasoning += text
		}
	}
	return nil
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
