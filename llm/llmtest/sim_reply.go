package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"ponder/llm"
	"ponder/llm/llmtest/internal/mimic"
)

// A reply is an answer in any dialect.
type reply struct {
	id        string
	created   time.Time
	model     string
	text      string
	reasoning string
	calls     []llm.ToolCall
	finish    llm.Finish
	use       llm.Usage // as reported
	silent    bool      // reports no usage
	seal      string    // encrypted, bound to the model
	conduct   conduct
	rng       *rand.Rand
	first     Delay
}

// overlong is the factor of the length.
const overlong = 10

// plan decides the answer, or returns a failure.
func (x *exchange) plan(a *ask) (*reply, failure, bool) {
	a.seal()
	c := x.config
	attempt := x.sim.seen.add(a.hash)
	x.rec.Prompt, x.rec.Attempt = strconv.FormatUint(a.hash, 16), attempt
	x.rec.PromptBytes, x.rec.Input, x.rec.Streamed = a.size, a.tokens(), a.stream
	if c.Asked != nil {
		c.Asked(x.rec)
	}
	rng := rand.New(rand.NewPCG(mix(c.Seed, a.hash), uint64(attempt)))
	met := draw(c.Behaviours, rng)
	line := x.sim.line(c.Script, a)
	if line != nil {
		met = append(met, line.Behaviours...)
	}
	x.rec.Behaviours = met
	if line != nil && line.Error != nil {
		return nil, failure{kind: kindOf(line.Error.Status), status: line.Error.Status, message: line.Error.Message, retry: line.Error.RetryAfter.draw(rng)}, false
	}
	if why, ok := x.objection(a, met, rng); !ok {
		return nil, why, false
	}
	r := x.write(a, line, met)
	r.rng, r.first = rng, c.FirstToken
	if line != nil && line.Latency != nil {
		r.first = *line.Latency
	}
	return r, failure{}, true
}

func (x *exchange) objection(a *ask, met conduct, rng *rand.Rand) (failure, bool) {
	for _, b := range met {
		f, ok := b.failure()
		if !ok || b == OverloadedMidway || f == filtered && x.dialect.blocks {
			continue
		}
		why := failure{kind: f, tokens: a.tokens(), limit: x.config.Context}
		if f == rateLimited {
			if why.retry = x.config.RetryAfter.draw(rng); why.retry == 0 {
				why.retry = time.Second
			}
		} else if f == unavailable || f == overloaded {
			why.retry = x.config.RetryAfter.draw(rng)
		}
		return why, false
	}
	switch n := a.tokens(); {
	case x.config.Context > 0 && n > x.config.Context:
		return failure{kind: tooLong, tokens: n, limit: x.config.Context}, false
	case met.has(NoSchema) && len(a.schema) > 0:
		return failure{kind: badRequest, param: "response_format", message: "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."}, false
	case met.has(NoTools) && len(a.tools) > 0:
		return failure{kind: badRequest, param: "tools", message: "this model does not support tools"}, false
	}
	return failure{}, true
}

func (x *exchange) write(a *ask, line *Line, met conduct) *reply {
	w := mimic.New(mix(x.config.Seed, a.hash), mimic.Prompt{
		System: a.system, Text: a.last, Schema: a.schema, JSON: a.json,
		Stretch:        max(x.config.Stretch, 1) * stretch(met),
		FalseCitations: met.has(FalseCitations), Most: bytesWithin(a.max, met),
	})
	r := &reply{created: time.Now(), model: a.model, finish: llm.FinishStop, conduct: met}
	id := mix(x.config.Seed, a.hash)
	r.id = token(id, 24)
	switch {
	case met.has(Empty):
	case line != nil && (len(line.Reply) > 0 || len(line.Calls) > 0):
		r.scripted(line, id)
	default:
		r.generate(a, w, met, id)
	}
	if met.has(Malformed) && r.text != "" {
		r.text = mimic.Mangle(id, r.text)
	}
	if (a.think || met.has(Reason)) && r.reasoning == "" && (line == nil || line.Reasoning == "") {
		r.reasoning = w.Reasoning()
	} else if line != nil && line.Reasoning != "" {
		r.reasoning = line.Reasoning
	}
	if r.reasoning != "" || a.encrypt || a.think {
		r.seal = sealed(a.model, id)
	}
	r.bound(a, met)
	r.account(a, x.config, met)
	if line != nil && line.Usage != nil {
		r.use = *line.Usage
	}
	return r
}

// bytesPerPiece is a token's minimum average size.
const bytesPerPiece = 3

// bytesWithin returns the size of tokens, or zero for no limit.
func bytesWithin(tokens int, met conduct) int {
	if tokens <= 0 || met.has(Overlong) || met.has(Endless) {
		return 0
	}
	return tokens * bytesPerPiece
}

func stretch(met conduct) int {
	if met.has(Overlong) {
		return overlong
	}
	return 1
}

func (r *reply) scripted(line *Line, id uint64) {
	if len(line.Reply) > 0 {
		r.text = line.text()
	}
	for i, c := range line.Calls {
		input := c.Input
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		r.calls = append(r.calls, llm.ToolCall{ID: token(mix(id, uint64(i)+7), 20), Name: c.Name, Input: input})
	}
}

func (r *reply) generate(a *ask, w *mimic.Writer, met conduct, id uint64) {
	var told mimic.Order
	if met.has(Obey) {
		told, _ = mimic.Planted(string(a.all))
		if told.Say != "" {
			w.Say(told.Say)
		}
	}
	for i, t := range wanted(a, told.Tool, met, id) {
		r.calls = append(r.calls, llm.ToolCall{ID: token(mix(id, uint64(i)+7), 20), Name: t.Name, Input: w.Input(t.Schema)})
	}
	if len(r.calls) == 0 {
		r.text = w.Answer()
	}
}

// wanted returns required tools, or in the first turn those that the prompt names.
func wanted(a *ask, told string, met conduct, id uint64) (tools []llm.Tool) {
	if len(a.tools) == 0 || a.choice == "none" {
		return nil
	}
	said := strings.ToLower(a.last)
	for _, t := range a.tools {
		name := strings.ToLower(t.Name)
		switch {
		case a.choice == t.Name || told == t.Name:
			return []llm.Tool{t}
		case a.answered:
		case len(tools) < 4 && (strings.Contains(said, name) || strings.Contains(said, strings.ReplaceAll(name, "_", " "))):
			tools = append(tools, t)
		}
	}
	if len(tools) == 0 && (a.choice == "required" || met.has(CallTools) && !a.answered) {
		return a.tools[id%uint64(len(a.tools)):][:1]
	}
	return tools
}

func (r *reply) bound(a *ask, met conduct) {
	if met.has(Filtered) && len(r.calls) == 0 {
		r.text, r.finish = cutPieces(r.text, countPieces(r.text)/2), llm.FinishFilter
		return
	}
	if len(r.calls) > 0 {
		r.finish = llm.FinishTools
	}
	if a.max <= 0 || met.has(Overlong) || met.has(Endless) {
		return
	}
	thought := countPieces(r.reasoning)
	if thought+r.callTokens()+countPieces(r.text) <= a.max {
		return
	}
	r.finish, r.calls = llm.FinishLength, nil
	r.reasoning = cutPieces(r.reasoning, a.max)
	r.text = cutPieces(r.text, max(a.max-thought, 0))
}

func (r *reply) callTokens() (n int) {
	for _, c := range r.calls {
		n += len(c.Name)/4 + len(c.Input)/4 + 8
	}
	return n
}

func (r *reply) output() int {
	return countPieces(r.reasoning) + countPieces(r.text) + r.callTokens()
}

func (r *reply) account(a *ask, c *SimConfig, met conduct) {
	in := a.tokens()
	cached := int(float64(in) * min(max(c.Cached, 0), 1))
	r.use = llm.Usage{Input: in - cached, CacheRead: cached, Output: r.output(), Reasoning: countPieces(r.reasoning)}
	switch {
	case met.has(UsageMissing):
		r.silent = true
	case met.has(UsageZero):
		r.use = llm.Usage{}
	case met.has(UsageNegative):
		r.use = llm.Usage{Input: -in, Output: -r.use.Output}
	case met.has(UsageHuge):
		r.use = llm.Usage{Input: 4e9, Output: 4e9}
	}
}

// token returns n characters determined by seed.
func token(seed uint64, n int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := make([]byte, n)
	for i := range b {
		seed = mix(seed, uint64(i)+1)
		b[i] = digits[seed%uint64(len(digits))]
	}
	return string(b)
}

const sealMark = "ponder-sim "

// sealed returns an opaque string bound to the model.
func sealed(model string, id uint64) string {
	return base64.StdEncoding.EncodeToString([]byte(sealMark + strconv.FormatUint(id, 16) + " " + token(id, 48) + " " + model))
}

func unsealed(model, s string) bool {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return false
	}
	rest, ok := strings.CutPrefix(string(b), sealMark)
	fields := strings.SplitN(rest, " ", 3)
	return ok && len(fields) == 3 && fields[2] == model
}
