package openai

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

// An effortStyle is a host's form of the reasoning effort.
type effortStyle int

const (
	effortLevel    effortStyle = iota // reasoning_effort: low, medium, high; off in chat_template_kwargs
	effortPlain                       // the same; cannot switch off
	effortOpenAI                      // reasoning_effort, by model
	effortObject                      // reasoning: {effort}
	effortThinking                    // reasoning_effort; off is thinking: {type: disabled}
	effortByModel                     // reasoning_effort of models with known levels
)

// A tier is a way to ask for a schema, strongest first.
type tier int

const (
	tierNative tier = iota // response_format json_schema
	tierForced             // a forced tool
	tierMode               // response_format json_object, and prompt
	tierPrompt             // the prompt
)

// A host describes the peculiarities of some servers. The zero value is an unknown one:
// most likely vLLM, llama.cpp, LM Studio or a proxy.
type host struct {
	domains []string // with their subdomains
	key     string   // usual variable
	apiKey  bool     // key goes in Api-Key

	responses bool
	maxAll    bool // max_completion_tokens, not max_tokens
	openai    bool // with OpenAI's models and limits
	effort    effortStyle
	schema    tier
	lengths   bool // may bound lengths of strings by a grammar
	noOptions bool // rejects stream_options
	usage     bool // requires usage: {include: true}
	cacheKey  bool
	cacheMark bool // passes cache_control on
	callID    int  // required length, or 0

	replay string // field for reasoning with calls, or ""
	must   bool   // required while reasoning

	partial bool   // incomplete list
	account string // checks the key if the list does not
}

func knownHosts() []host {
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
		{domains: []string{"api.mistral.ai"}, key: "MISTRAL_API_KEY", effort: effortByModel, noOptions: true, callID: 9},
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

// findHost returns a host by name, or a default.
func findHost(name string) host {
	name = strings.ToLower(name)
	for _, h := range knownHosts() {
		for _, d := range h.domains {
			if name == d || strings.HasSuffix(name, "."+d) {
				return h
			}
		}
	}
	return host{replay: "reasoning_content", lengths: true}
}

type traits struct {
	reasons bool // OpenAI: effort, no temperature
	levels  []string
	must    bool // requires reasoning with calls
	claude  bool
}

func (h host) modelTraits(id string) traits {
	name := strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	t := traits{
		must:   h.must || strings.Contains(name, "deepseek-v") || strings.HasPrefix(name, "kimi-k2.") || strings.Contains(name, "kimi-k2-thinking"),
		claude: strings.Contains(name, "claude"),
	}
	switch {
	case h.openai || strings.HasPrefix(name, "gpt-oss"):
		t.levels = openaiLevels(name)
		t.reasons = h.openai && len(t.levels) > 0
	case h.effort == effortByModel:
		t.levels = mistralLevels(name)
	}
	return t
}

// mistralLevels returns a model's effort levels, or nil if it always or never reasons.
func mistralLevels(name string) []string {
	switch {
	case slices.Contains([]string{"mistral-small-latest", "mistral-small-2603", "mistral-medium-latest", "mistral-medium-2604", "magistral-small-latest", "magistral-medium-latest"}, name),
		strings.HasPrefix(name, "mistral-medium-3-5"), strings.HasPrefix(name, "mistral-medium-3.5"):
		return []string{"none", "high"}
	case strings.HasPrefix(name, "mistral-large-4"):
		return []string{"low", "medium", "high"}
	}
	return nil
}

// openaiLevels returns a model's effort levels, or nil without reasoning.
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

// nearestLevel returns the level closest to want, the later of two.
func nearestLevel(want string, levels []string) string {
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

// A feature is a part of a request that some servers refuse; a bit set.
type feature uint

const (
	featTemperature feature = 1 << iota
	featEffort
	featOff       // enable_thinking: false
	featSummary   // OpenAI restricts it
	featEncrypted // to be returned
	featMax       // usual field of MaxTokens
	featOptions
	featCacheKey
	featOpaque // returned reasoning
	featNative // the tiers
	featForced
	featMode
	featSystem    // the system role
	featTurns     // neighbours of equal roles
	featLengths   // of strings, in a schema
	featTextParts // of Responses: texts beside media
	featPenalty
)

func (t tier) requiredFeature() feature {
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

func (h host) bestTier(without feature) tier {
	t := h.schema
	for t < tierPrompt && without&t.requiredFeature() != 0 {
		t++
	}
	return t
}

// tierFor returns the best tier. objects means that the native tier requires an object
// schema, as forced calls do.
func (h host) tierFor(s shape, tools int, objects bool, without feature) tier {
	t := h.bestTier(without)
	if t == tierNative && objects && !s.object {
		t = tierPrompt
	}
	if t == tierForced && (tools > 0 || !s.object) {
		t = tierMode
	}
	if t == tierMode && without&featMode != 0 {
		t = tierPrompt
	}
	return t
}

// refusedBy returns the features that an error names, and the permanent ones. The request
// may lack them.
func refusedBy(err error) (f, always feature) {
	var e *llm.Error
	if !errors.As(err, &e) {
		return 0, 0
	}
	text := strings.ToLower(e.Message)
	if f := refusedRoles(e.Class, text); f != 0 {
		return f, f
	}
	if e.Class != llm.BadRequest && e.Class != llm.NotFound {
		return 0, 0
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusNotImplemented:
	default:
		return 0, 0
	}
	for _, r := range knownRefusals() {
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
			f &^= featMode // not the mode
		}
	}
	always = f &^ featOpaque
	if strings.Contains(text, "invalid schema") { // another may work
		always &^= featNative | featForced
	}
	return f, always
}

// unknownField reports whether a refusal is about a field, not its value.
func unknownField(text string) bool {
	return slices.ContainsFunc([]string{"unsupported", "not supported", "unknown", "unrecognized", "extra", "not permitted", "instead", "unexpected", "not allowed"}, func(phrase string) bool {
		return strings.Contains(text, phrase)
	})
}

type refusal struct {
	feature feature
	phrases []string
}

func knownRefusals() []refusal {
	return []refusal{
		{featTemperature, []string{"temperature"}},
		{featPenalty, []string{"penalty"}},
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
		{featLengths, []string{"minlength", "maxlength", "grammar", "invalid schema", "features not supported", "unsupported features"}},
		{featMode, []string{"response_format", "response format", "json_object", "json mode", "text.format"}},
		{featTextParts, []string{"input_text"}},
	}
}
