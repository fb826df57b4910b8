package config

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"ponder"
)

// A ServedModel is a model in the list of a server.
type ServedModel struct {
	Name string
	Use  ModelUse
}

// A ModelUse is the purpose for which a model was made.
type ModelUse string

const (
	ForText  ModelUse = "text"
	ForEmbed ModelUse = "embed"
	ForOther ModelUse = "other" // reranking, images or speech
)

var (
	embedderName = regexp.MustCompile(`(?i)embed|bert|(?:^|[^a-z])(?:bge|gte|minilm|mxbai|labse|uae|stella|sentence-t5|sentence-transformers)(?:[^a-z]|$)|e5(?:[^a-z0-9]|$)`)
	otherName    = regexp.MustCompile(`(?i)rerank|whisper|(?:^|[^a-z])(?:clip|siglip|tts|stt|asr|flux|sdxl|stable-diffusion|dall-e|image|imagen|moderation|transcribe|sora|mmproj)(?:[^a-z]|$)`)
)

// UseOfName guesses the use of a model without metadata.
func UseOfName(name string) ModelUse {
	switch {
	case otherName.MatchString(name):
		return ForOther
	case embedderName.MatchString(name):
		return ForEmbed
	}
	return ForText
}

// useOfCapabilities returns the use that Ollama states, or "".
func useOfCapabilities(capabilities []string) ModelUse {
	switch {
	case slices.Contains(capabilities, "completion"):
		return ForText
	case slices.Contains(capabilities, "embedding"):
		return ForEmbed
	case len(capabilities) > 0:
		return ForOther
	}
	return ""
}

type ollamaModel struct {
	Name         string   `json:"name"`
	Capabilities []string `json:"capabilities"` // only newer versions list them
	Details      struct {
		Family   string   `json:"family"`
		Families []string `json:"families"`
	} `json:"details"`
}

func (m ollamaModel) use() ModelUse {
	if use := useOfCapabilities(m.Capabilities); use != "" {
		return use
	}
	if use := UseOfName(m.Name); use != ForText {
		return use
	}
	if slices.ContainsFunc(append(m.Details.Families, m.Details.Family), func(f string) bool { return strings.Contains(f, "bert") }) {
		return ForEmbed
	}
	return ForText
}

func listOllama(ctx context.Context, client *http.Client, p Provider) (served []ServedModel, err error) {
	var list struct {
		Models []ollamaModel `json:"models"`
	}
	err = fetchJSON(ctx, client, p.BaseURL+"/api/tags", p.Key, nil, &list)
	for _, m := range list.Models {
		served = append(served, ServedModel{m.Name, m.use()})
	}
	return served, err
}

// listOpenAI reads /v1/models. LM Studio states the type of each model in a list of its own.
// llama.cpp and vLLM state none: llama.cpp even claims completion for embedding models.
func listOpenAI(ctx context.Context, client *http.Client, p Provider) (served []ServedModel, err error) {
	var list struct {
		Data []struct {
			ID    string `json:"id"`
			Owner string `json:"owned_by"`
		} `json:"data"`
	}
	base := strings.TrimSuffix(p.BaseURL, "/")
	if err := fetchJSON(ctx, client, base+"/models", p.Key, nil, &list); err != nil {
		return nil, err
	}
	types := make(map[string]ModelUse)
	if len(list.Data) > 0 && list.Data[0].Owner == lmStudioOwner {
		types = lmStudioTypes(ctx, client, p)
	}
	for _, m := range list.Data {
		use := types[m.ID]
		if use == "" {
			use = UseOfName(m.ID)
		}
		served = append(served, ServedModel{m.ID, use})
	}
	return served, nil
}

// lmStudioOwner is the owner of all models in LM Studio's /v1/models.
const lmStudioOwner = "organization_owner"

func lmStudioTypes(ctx context.Context, client *http.Client, p Provider) map[string]ModelUse {
	root, err := url.Parse(p.BaseURL)
	if err != nil {
		return nil
	}
	var list struct {
		Data []struct {
			ID   string `json:"id"`
			Type string `json:"type"` // llm, vlm or embeddings
		} `json:"data"`
	}
	root.Path = "/api/v0/models"
	if err := fetchJSON(ctx, client, root.String(), p.Key, nil, &list); err != nil {
		return nil // an older version
	}
	types := make(map[string]ModelUse)
	for _, m := range list.Data {
		switch m.Type {
		case "llm", "vlm":
			types[m.ID] = ForText
		case "embeddings", "embedding":
			types[m.ID] = ForEmbed
		default:
			types[m.ID] = ForOther
		}
	}
	return types
}

// UseOf returns the use of a model of a server. Ollama is asked about the model; otherwise the
// list decides, and for unlisted models the name.
func (c *Config) UseOf(ctx context.Context, client *http.Client, p Provider, id string) ModelUse {
	if p.Type == "ollama" {
		if use := showOllama(ctx, client, p, id); use != "" {
			return use
		}
	}
	if p.IsLocal() {
		if served, err := c.Served(ctx, client, p); err == nil {
			for _, m := range served {
				if m.Name == id || p.Type == "ollama" && m.Name == id+":latest" {
					return m.Use
				}
			}
		}
	}
	return UseOfName(id)
}

// showOllama returns the use that Ollama states for a model, or "".
func showOllama(ctx context.Context, client *http.Client, p Provider, id string) ModelUse {
	ctx, cancel := context.WithTimeout(ctx, serverProbeTime)
	defer cancel()
	var m ollamaModel
	if err := fetchJSON(ctx, client, p.BaseURL+"/api/show", p.Key, map[string]string{"model": id}, &m); err != nil {
		return ""
	}
	return useOfCapabilities(m.Capabilities)
}

// maxShown bounds the models that are described to choose one of each use.
const maxShown = 8

// assignServed assigns the models of a server to roles: the first for text to all roles but
// embed, the first for embedding to that. Ollama confirms the use of the chosen ones.
func assignServed(ctx context.Context, client *http.Client, p Provider, served []ServedModel) map[ponder.Role]string {
	chosen, shown := make(map[ModelUse]string), 0
	for _, m := range served {
		if chosen[m.Use] == "" && p.Type == "ollama" && shown < maxShown {
			shown++
			if use := showOllama(ctx, client, p, m.Name); use != "" {
				m.Use = use
			}
		}
		if chosen[m.Use] == "" {
			chosen[m.Use] = m.Name
		}
	}
	text := chosen[ForText]
	return roleModels(text, text, text, text, chosen[ForEmbed])
}

// assignUsual is assignServed, except that the usual models of a provider come first. A server
// without a list has the usual models.
func (c *Config) assignUsual(ctx context.Context, client *http.Client, p Provider, usual map[ponder.Role]string) map[ponder.Role]string {
	served, err := c.Served(ctx, client, p)
	if err != nil || len(served) == 0 {
		return usual
	}
	models := assignServed(ctx, client, p, served)
	for role, id := range usual {
		if slices.ContainsFunc(served, func(m ServedModel) bool { return m.Name == id }) {
			models[role] = id
		}
	}
	return models
}
