package openai

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

// An effortStyle is where a host wants to read how hard a model should think.
type effortStyle int

const (
	effortLevel    effortStyle = iota // reasoning_effort: low, medium, high; off in chat_template_kwargs
	effortPlain                       // reasoning_effort: low, medium, high; no way to say off
	effortOpenAI                      // reasoning_effort, with the levels each of OpenAI's models has
	effortObject                      // reasoning: {effort}
	effortThinking                    // reasoning_effort; off is thinking: {type: disabled}
	effortSilent                      // nowhere
)

// A tier is a way to ask for an answer of a schema, the strongest first.
type tier int

const (
	tierNative tier = iota // response_format json_schema
	tierForced             // a tool that must be called
	tierMode               // response_format json_object, and words
	tierWords              // words in the prompt
)

// A host is what the servers of some domains do in their own way. The zero value is
// a server nobody knows: most likely vLLM, llama.cpp, LM Studio or a proxy.
type host struct {
	domains []string // itself and those below it
	key     string   // the variable its key is usually in
	apiKey  bool     // the key goes in a header of its own

	responses bool        // has the Responses API
	maxAll    bool        // says max_completion_tokens instead of max_tokens
	openai    bool        // serves OpenAI's models, with their limits
	effort    effortStyle // where the effort goes
	schema    tier        // the best way to ask for a schema
	noOptions bool        // does not know stream_options
	usage     bool        // wants usage: {include: true}
	cacheKey  bool        // takes prompt_cache_key
	cacheMark bool        // passes cache_control on to models that want it
	callID    int         // the length that ids of calls must have, or 0

	replay string // field that reasoning goes back in beside tool calls, "" for none
	must   bool   // refuses calls without it while thinking

	partial bool   // lists only some of its models
	account string // route that tells whether a key is good, where the list does not
}

// hosts returns what is known. The order does not matter.
func hosts() []host {
	return []host{
		{domains: []string{"api.openai.com"}, key: "OPENAI_API_KEY", responses: true, maxAll: true, openai: true,
			effort: effortOpenAI, cacheKey: true},
		{domains: []string{"openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"}, key: "AZURE_OPENAI_API_KEY",
			apiKey: true, maxAll: true, openai: true, effort: effortOpenAI, partial: true},
		{domains: []string{"openrouter.ai"}, key: "OPENROUTER_API_KEY", effort: effortObject, usage: true, cacheMark: true,
			replay: "reasoning", account: "key"},
		{domains: []string{"ai-gateway.vercel.sh"}, key: "AI_GATEWAY_API_KEY", effort: effortObject, cacheMark: true,
			replay: "reasoning", account: "credits"},
		{domains: []string{"api.groq.com"}, key: "GROQ_API_KEY", effort: effortPlain},
		{domains: []string{"api.x.ai"}, key: "XAI_API_KEY", effort: effortPlain, replay: "reasoning_content"},
		{domains: []string{"api.z.ai", "open.bigmodel.cn"}, key: "ZAI_API_KEY", effort: effortThinking, schema: tierForced,
			replay: "reasoning_content", partial: true},
		{domains: []string{"api.deepseek.com"}, key: "DEEPSEEK_API_KEY", effort: effortThinking, schema: tierMode,
			replay: "reasoning_content", must: true},
		{domains: []string{"api.moonshot.ai", "api.moonshot.cn"}, key: "MOONSHOT_API_KEY", effort: effortThinking, schema: tierMode,
			replay: "reasoning_content", must: true},
		{domains: []string{"api.mistral.ai"}, key: "MISTRAL_API_KEY", effort: effortSilent, noOptions: true, callID: 9},
		{domains: []string{"router.huggingface.co"}, key: "HF_TOKEN", effort: effortPlain},
		{domains: []string{"api.avian.io"}, key: "AVIAN_API_KEY", effort: effortPlain, replay: "reasoning_content"},
		{domains: []string{"api.cerebras.ai"}, key: "CEREBRAS_API_KEY", effort: effortPlain, maxAll: true},
		{domains: []string{"api.together.xyz", "api.together.ai"}, key: "TOGETHER_API_KEY", effort: effortPlain, partial: true},
		{domains: []string{"api.fireworks.ai"}, key: "FIREWORKS_API_KEY", effort: effortPlain, replay: "reasoning_content", partial: true},
		{domains: []string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"}, key: "DASHSCOPE_API_KEY", effort: effortPlain, schema: tierMode, partial: true},
		{domains: []string{"generativelanguage.googleapis.com"}, key: "GEMINI_API_KEY", effort: effortPlain, partial: true},
		{domains: []string{"api.perplexity.ai"}, key: "PERPLEXITY_API_KEY", effort: effortPlain, partial: true},
	}
}

// hostOf returns what is known of a host by its name.
func hostOf(name string) host {
	name = strings.ToLower(name)
	for _, h := range hosts() {
		for _, d := range h.domains {
			if name == d || strings.HasSuffix(name, "."+d) {
				return h
			}
		}
	}
	return host{replay: "reasoning_content"}
}

// traits are what a model does in its own way at its host.
type traits struct {
	reasons bool // an OpenAI model that reasons: it takes an effort and no temperature
	levels  []string
	must    bool // refuses calls without reasoning while thinking
	claude  bool
}

func (h host) traits(id string) traits {
	name := strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	t := traits{
		must:   h.must || strings.Contains(name, "deepseek-v") || strings.HasPrefix(name, "kimi-k2.") || strings.Contains(name, "kimi-k2-thinking"),
		claude: strings.Contains(name, "claude"),
	}
	if h.openai || strings.HasPrefix(name, "gpt-oss") {
		t.levels = openaiLevels(name)
		t.reasons = h.openai && len(t.levels) > 0
	}
	return t
}

// openaiLevels returns the levels of effort of an OpenAI model, none if it does
// not reason.
func openaiLevels(name string) []string {
	switch {
	case strings.Contains(name, "-chat"):
		return nil
	case strings.HasPrefix(name, "o1"), strings.HasPrefix(name, "o3"), strings.HasPrefix(name, "o4"),
		strings.HasPrefix(name, "gpt-oss"), strings.HasPrefix(name, "codex-"):
		return []string{"low", "medium", "high"}
	case name == "gpt-5" || strings.HasPrefix(name, "gpt-5-"):
		return []string{"minimal", "low", "medium", "high"}
	case len(name) > 4 && strings.HasPrefix(name, "gpt-") && name[4] >= '5' && name[4] <= '9':
		return []string{"none", "low", "medium", "high"}
	}
	return nil
}

// nearest returns the level closest to what is wanted, the higher of two.
func nearest(want string, levels []string) string {
	far := func(level string) int {
		n := wire.EffortRank(level) - wire.EffortRank(want)
		return max(n, -n)
	}
	best := ""
	for _, l := range levels {
		if best == "" || far(l) <= far(best) {
			best = l
		}
	}
	return best
}

// A feature is a part of a request that some server refuses; a set of bits.
type feature uint

const (
	featTemperature feature = 1 << iota
	featEffort
	featOff       // the switch of templates
	featSummary   // of reasoning, which OpenAI gives to some accounts only
	featEncrypted // reasoning to be given back
	featMax       // the field that is usual at the host
	featOptions   // stream_options
	featCacheKey
	featOpaque // reasoning that is given back
	featNative // the tiers of asking for a schema
	featForced
	featMode
)

// tierFeatures returns the feature that a tier is, 0 for words.
func (t tier) feature() feature {
	switch t {
	case tierNative:
		return featNative
	case tierForced:
		return featForced
	case tierMode:
		return featMode
	}
	return 0
}

// tier returns the best way to ask for a schema that is not refused.
func (h host) tier(without feature) tier {
	t := h.schema
	for t < tierWords && without&t.feature() != 0 {
		t++
	}
	return t
}

// tierFor returns the best way to ask for a schema beside so many tools. Objects says that
// the native way is for schemas of objects only, as a forced call is.
func (h host) tierFor(s shape, tools int, objects bool, without feature) tier {
	t := h.tier(without)
	if t == tierNative && objects && !s.object {
		t = tierWords
	}
	if t == tierForced && (tools > 0 || !s.object) {
		t = tierMode
	}
	if t == tierMode && without&featMode != 0 {
		t = tierWords
	}
	return t
}

// refusedBy returns the features that an error names, and those of them that
// the server will never take. They need not be in the request that it answers.
func refusedBy(err error) (f, always feature) {
	var e *llm.Error
	if !errors.As(err, &e) || e.Class != llm.BadRequest && e.Class != llm.NotFound {
		return 0, 0
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusNotImplemented:
	default:
		return 0, 0
	}
	text := strings.ToLower(e.Message)
	for _, r := range refusals() {
		for _, phrase := range r.phrases {
			if strings.Contains(text, phrase) {
				f |= r.feature
				break
			}
		}
	}
	if !unknownField(text) {
		f &^= featMax
	}
	if strings.Contains(text, "json_schema") || strings.Contains(text, "json schema") || strings.Contains(text, "invalid schema") {
		if f&featNative != 0 {
			f &^= featMode // it is the schema that is refused
		}
	}
	always = f &^ featOpaque
	if strings.Contains(text, "invalid schema") { // another one may do
		always &^= featNative | featForced
	}
	return f, always
}

// unknownField reports whether a refusal is of a field itself and not of its value.
func unknownField(text string) bool {
	return slices.ContainsFunc([]string{"unsupported", "not supported", "unknown", "unrecognized", "extra", "not permitted", "instead", "unexpected", "not allowed"}, func(phrase string) bool {
		return strings.Contains(text, phrase)
	})
}

// A refusal is the words that name a feature.
type refusal struct {
	feature feature
	phrases []string
}

func refusals() []refusal {
	return []refusal{
		{featTemperature, []string{"temperature"}},
		{featEffort, []string{"reasoning_effort", "reasoning.effort", "reasoningeffort", "reasoning effort", "'thinking'", "\"thinking\"",
			"thinking.type", "does not support thinking", "does not support reasoning"}},
		{featOff, []string{"chat_template_kwargs", "enable_thinking"}},
		{featSummary, []string{"reasoning.summary", "reasoning summar"}},
		{featEncrypted, []string{"encrypted content is not supported", "reasoning.encrypted_content"}},
		{featMax, []string{"max_tokens", "max_completion_tokens"}},
		{featOptions, []string{"stream_options"}},
		{featCacheKey, []string{"prompt_cache_key"}},
		{featOpaque, []string{"signature", "encrypted content", "encrypted_content", "reasoning_details", "could not be verified",
			"reasoning' was provided without", "thinking block"}},
		{featNative, []string{"response_format", "response format", "json_schema", "json schema", "text.format", "structured output", "grammar", "json mode", "invalid schema"}},
		{featForced, []string{"tool_choice", "tool choice", "tool use", "support tool"}},
		{featMode, []string{"response_format", "response format", "json_object", "json mode", "text.format"}},
	}
}
