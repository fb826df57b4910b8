package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"ponder/llm"
)

// listedContext has the fields in which lists of models name the context.
type listedContext struct {
	MaxModelLen   int `json:"max_model_len"`         // vLLM, SGLang
	ContextLength int `json:"context_length"`        // OpenRouter, Together, LM Studio
	ContextWindow int `json:"context_window"`        // Groq
	MaxContext    int `json:"max_context_length"`    // Mistral
	Loaded        int `json:"loaded_context_length"` // LM Studio
	Meta          struct {
		Context int `json:"n_ctx"` // llama.cpp; n_ctx_train is of the training
	} `json:"meta"`
}

// tokens returns the listed context, or zero.
func (m listedContext) tokens() int {
	return max(0, cmp.Or(m.MaxModelLen, m.Loaded, m.Meta.Context, m.ContextLength, m.ContextWindow, m.MaxContext))
}

// recordContexts records the contexts of listed models.
func (p *Provider) recordContexts(list []listedModel) {
	for _, m := range list[:min(len(list), maxRemembered)] {
		p.recordContext(m.ID, m.tokens())
	}
}

func (p *Provider) recordContext(id string, tokens int) {
	if tokens <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.contexts == nil {
		p.contexts = make(map[string]int)
	}
	p.contexts[id] = tokens
}

// ListedContext implements [llm.WindowLister].
func (m *model) ListedContext() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contexts[m.id]
}

// A probe asks a kind of server for the context of a model.
type probe struct {
	path string // below the root of the server
	read func(data []byte, id string) int
}

// probesOf returns the probes of the servers whose lists of models name no context.
func probesOf(id string) []probe {
	return []probe{
		{"/props?" + url.Values{"model": {id}, "autoload": {"false"}}.Encode(), readProps},
		{"/api/v0/models", readLoaded},
		{"/api/ps", readRunning},
		{"/info", readInfo},
		{"/get_server_info", readServerInfo},
	}
}

const (
	probeTime = 2 * time.Second
	maxProbe  = 4 << 20
)

// probeContext asks an unknown server for the context of a model that its list does not name. It asks
// no server that cannot be reached or refuses the key.
func (p *Provider) probeContext(ctx context.Context, id string, listErr error) {
	if len(p.host.domains) > 0 || listErr != nil && !noRoute(listErr) || (&model{Provider: p, id: id}).ListedContext() > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	for _, pr := range probesOf(id) {
		data, err := p.client.Fetch(ctx, id, http.MethodGet, p.rootURL()+pr.path, p.header, nil, maxProbe)
		if err != nil {
			continue
		}
		if n := pr.read(data, id); n > 0 {
			p.recordContext(id, n)
			return
		}
	}
}

// rootURL returns the base URL without the version of the API.
func (p *Provider) rootURL() string {
	u := *p.base
	u.RawQuery, u.Path, u.RawPath = "", strings.TrimSuffix(u.Path, "/v1"), ""
	return strings.TrimSuffix(u.String(), "/")
}

// readProps reads llama.cpp's n_ctx of a slot.
func readProps(data []byte, _ string) int {
	var got struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	decodeProbe(data, &got)
	return got.Settings.Context
}

// readLoaded reads LM Studio's context of a loaded model. It ignores the largest possible context,
// because LM Studio loads models with less.
func readLoaded(data []byte, id string) int {
	var got struct {
		Data []struct {
			ID      string `json:"id"`
			Loaded  int    `json:"loaded_context_length"`
			Context int    `json:"context_length"`
		} `json:"data"`
	}
	decodeProbe(data, &got)
	for _, m := range got.Data {
		if m.ID == id {
			return cmp.Or(m.Loaded, m.Context)
		}
	}
	return 0
}

// readRunning reads Ollama's context of a running model.
func readRunning(data []byte, id string) int {
	var got struct {
		Models []struct {
			Name    string `json:"name"`
			Model   string `json:"model"`
			Context int    `json:"context_length"`
		} `json:"models"`
	}
	decodeProbe(data, &got)
	for _, m := range got.Models {
		if slices.Contains([]string{id, id + ":latest"}, cmp.Or(m.Name, m.Model)) {
			return m.Context
		}
	}
	return 0
}

// readInfo reads the limit of TGI.
func readInfo(data []byte, _ string) int {
	var got struct {
		Total int `json:"max_total_tokens"`
	}
	decodeProbe(data, &got)
	return got.Total
}

// readServerInfo reads the context of SGLang, or less if its memory has less.
func readServerInfo(data []byte, _ string) int {
	var got struct {
		Context int `json:"context_length"`
		Memory  int `json:"max_total_num_tokens"`
	}
	decodeProbe(data, &got)
	if got.Context > 0 && got.Memory > 0 {
		return min(got.Context, got.Memory)
	}
	return max(got.Context, got.Memory)
}

// decodeProbe leaves v unchanged where the answer is of another form.
func decodeProbe(data []byte, v any) { _ = json.Unmarshal(data, v) }

var _ llm.WindowLister = (*model)(nil)
