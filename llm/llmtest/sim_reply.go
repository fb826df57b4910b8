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
	id         string
	created    time.Time
	model      string
	text       string
	reasoning  string
	calls      []llm.ToolCall
	finish     llm.Finish
	usage      llm.Usage // as reported
	silent     bool      // reports no usage
	seal       string    // encrypted, bound to the model
	behaviours behaviourSet
	rng        *rand.Rand
	first      Delay
}

// overlong is the factor of the length.
const overlong = 10

// planReply decides the answer, or returns a failure.
func (x *exchange) planReply(a *parsedRequest) (*reply, failure, bool) {
	a.computeHash()
	c := x.config
	attempt := x.sim.seen.add(a.hash)
	x.rec.Prompt, x.rec.Attempt = strconv.FormatUint(a.hash, 16), attempt
	x.rec.PromptBytes, x.rec.Input, x.rec.Streamed = a.size, a.countTokens(), a.stream
	if c.Asked != nil {
		c.Asked(x.rec)
	}
	rng := rand.New(rand.NewPCG(mixHash(c.Seed, a.hash), uint64(attempt)))
	met := drawBehaviours(c.Behaviours, rng)
	line := x.sim.matchLine(c.Script, a)
	if line != nil {
		met = append(met, line.Behaviours...)
	}
	x.rec.Behaviours = met
	if line != nil && line.Error != nil {
		return nil, failure{kind: kindForStatus(line.Error.Status), status: line.Error.Status, message: line.Error.Message, retry: line.Error.RetryAfter.drawDelay(rng)}, false
	}
	if why, ok := x.findFailure(a, met, rng); !ok {
		return nil, why, false
	}
	r := x.writeReply(a, line, met)
	r.rng, r.first = rng, c.FirstToken
	if line != nil && line.Latency != nil {
		r.first = *line.Latency
	}
	return r, failure{}, true
}

func (x *exchange) findFailure(a *parsedRequest, met behaviourSet, rng *rand.Rand) (failure, bool) {
	for _, b := range met {
		f, ok := b.failureKind()
		if !ok || b == OverloadedMidway || f == filtered && x.dialect.blocks {
			continue
		}
		why := failure{kind: f, tokens: a.countTokens(), limit: x.config.Context}
		if f == rateLimited {
			if why.retry = x.config.RetryAfter.drawDelay(rng); why.retry == 0 {
				why.retry = time.Second
			}
		} else if f == unavailable || f == overloaded {
			why.retry = x.config.RetryAfter.drawDelay(rng)
		}
		return why, false
	}
	if why, ok := x.checkContext(a); !ok {
		return why, false
	}
	switch {
	case met.hasBehaviour(NoSchema) && len(a.schema) > 0:
		return failure{kind: badRequest, param: "response_format", message: "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."}, false
	case met.hasBehaviour(NoTools) && len(a.tools) > 0:
		return failure{kind: badRequest, param: "tools", message: "this model does not support tools"}, false
	}
	return failure{}, true
}

func (x *exchange) writeReply(a *parsedRequest, line *Line, met behaviourSet) *reply {
	w := mimic.New(mixHash(x.config.Seed, a.hash), mimic.Prompt{
		System: a.system, Text: a.last, Schema: a.schema, JSON: a.json,
		Stretch:        max(x.config.Stretch, 1) * stretchFactor(met),
		FalseCitations: met.hasBehaviour(FalseCitations), MaxBytes: maxAnswerBytes(a.max, met),
	})
	r := &reply{created: time.Now(), model: a.model, finish: llm.FinishStop, behaviours: met}
	id := mixHash(x.config.Seed, a.hash)
	r.id = randomToken(id, 24)
	switch {
	case met.hasBehaviour(Empty):
	case line != nil && (len(line.Reply) > 0 || len(line.Calls) > 0):
		r.applyScript(line, id)
	default:
		r.generateText(a, w, met, id)
	}
	if met.hasBehaviour(Malformed) && r.text != "" {
		r.text = mimic.Mangle(id, r.text)
	}
	if (a.think || met.hasBehaviour(Reason)) && r.reasoning == "" && (line == nil || line.Reasoning == "") {
		r.reasoning = w.Reasoning()
	} else if line != nil && line.Reasoning != "" {
		r.reasoning = line.Reasoning
	}
	if r.reasoning != "" || a.encrypt || a.think {
		r.seal = newSeal(a.model, id)
	}
	r.limitLength(a, met)
	r.setUsage(a, x.config, met)
	if line != nil && line.Usage != nil {
		r.usage = *line.Usage
	}
	return r
}

// bytesPerPiece is a token's minimum average size.
const bytesPerPiece = 3

// maxAnswerBytes returns the size of tokens, or zero for no limit.
func maxAnswerBytes(tokens int, met behaviourSet) int {
	if tokens <= 0 || met.hasBehaviour(Overlong) || met.hasBehaviour(Endless) {
		return 0
	}
	return tokens * bytesPerPiece
}

func stretchFactor(met behaviourSet) int {
	if met.hasBehaviour(Overlong) {
		return overlong
	}
	return 1
}

func (r *reply) applyScript(line *Line, id uint64) {
	if len(line.Reply) > 0 {
		r.text = line.replyText()
	}
	for i, c := range line.Calls {
		input := c.Input
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		r.calls = append(r.calls, llm.ToolCall{ID: randomToken(mixHash(id, uint64(i)+7), 20), Name: c.Name, Input: input})
	}
}

func (r *reply) generateText(a *parsedRequest, w *mimic.Writer, met behaviourSet, id uint64) {
	var planted mimic.Order
	if met.hasBehaviour(FollowPlanted) {
		planted, _ = mimic.FindPlanted(string(a.all))
		if planted.Say != "" {
			w.Say(planted.Say)
		}
	}
	for i, t := range wantedTools(a, planted.Tool, met, id) {
		r.calls = append(r.calls, llm.ToolCall{ID: randomToken(mixHash(id, uint64(i)+7), 20), Name: t.Name, Input: w.Input(t.Schema)})
	}
	if len(r.calls) == 0 {
		r.text = w.Answer()
	}
}

// wantedTools returns required tools, or in the first turn those that the prompt names.
func wantedTools(a *parsedRequest, plantedTool string, met behaviourSet, id uint64) (tools []llm.Tool) {
	if len(a.tools) == 0 || a.choice == "none" {
		return nil
	}
	said := strings.ToLower(a.last)
	for _, t := range a.tools {
		name := strings.ToLower(t.Name)
		switch {
		case a.choice == t.Name || plantedTool == t.Name:
			return []llm.Tool{t}
		case a.answered:
		case len(tools) < 4 && (strings.Contains(said, name) || strings.Contains(said, strings.ReplaceAll(name, "_", " "))):
			tools = append(tools, t)
		}
	}
	if len(tools) == 0 && (a.choice == "required" || met.hasBehaviour(CallTools) && !a.answered) {
		return a.tools[id%uint64(len(a.tools)):][:1]
	}
	return tools
}

func (r *reply) limitLength(a *parsedRequest, met behaviourSet) {
	if met.hasBehaviour(Filtered) && len(r.calls) == 0 {
		r.text, r.finish = cutPieces(r.text, countPieces(r.text)/2), llm.FinishFilter
		return
	}
	if len(r.calls) > 0 {
		r.finish = llm.FinishTools
	}
	if a.max <= 0 || met.hasBehaviour(Overlong) || met.hasBehaviour(Endless) {
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

func (r *reply) outputTokens() int {
	return countPieces(r.reasoning) + countPieces(r.text) + r.callTokens()
}

func (r *reply) setUsage(a *parsedRequest, c *SimConfig, met behaviourSet) {
	in := a.countTokens()
	cached := int(float64(in) * min(max(c.Cached, 0), 1))
	r.usage = llm.Usage{Input: in - cached, CacheRead: cached, Output: r.outputTokens(), Reasoning: countPieces(r.reasoning)}
	switch {
	case met.hasBehaviour(UsageMissing):
		r.silent = true
	case met.hasBehaviour(UsageZero):
		r.usage = llm.Usage{}
	case met.hasBehaviour(UsageNegative):
		r.usage = llm.Usage{Input: -in, Output: -r.usage.Output}
	case met.hasBehaviour(UsageHuge):
		r.usage = llm.Usage{Input: 4e9, Output: 4e9}
	}
}

// randomToken returns n characters determined by seed.
func randomToken(seed uint64, n int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := make([]byte, n)
	for i := range b {
		seed = mixHash(seed, uint64(i)+1)
		b[i] = digits[seed%uint64(len(digits))]
	}
	return string(b)
}

const sealMark = "ponder-sim "

// newSeal returns an opaque string bound to the model.
func newSeal(model string, id uint64) string {
	return base64.StdEncoding.EncodeToString([]byte(sealMark + strconv.FormatUint(id, 16) + " " + randomToken(id, 48) + " " + model))
}

func isSealOf(model, s string) bool {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return false
	}
	rest, ok := strings.CutPrefix(string(b), sealMark)
	fields := strings.SplitN(rest, " ", 3)
	return ok && len(fields) == 3 && fields[2] == model
}
