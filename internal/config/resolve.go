package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"ponder"
)

// A Choice is the models of a role with the reason.
type Choice struct {
	Role   ponder.Role
	Models Chain  // the first is preferred; empty if none
	From   string // source of the choice, for the user

	Borrowed bool // from another role
}

type Choices []Choice

func (all Choices) ForRole(role ponder.Role) Choice {
	if i := slices.IndexFunc(all, func(c Choice) bool { return c.Role == role }); i >= 0 {
		return all[i]
	}
	return Choice{Role: role}
}

// Roles returns all roles in display order.
func Roles() []ponder.Role {
	return []ponder.Role{ponder.Fast, ponder.Slow, ponder.Cheap, ponder.Frontier, ponder.Embed}
}

// fallbackRoles returns the roles whose models an unset role borrows.
func fallbackRoles(role ponder.Role) []ponder.Role {
	switch role {
	case ponder.Fast:
		return []ponder.Role{ponder.Cheap, ponder.Slow, ponder.Frontier}
	case ponder.Slow:
		return []ponder.Role{ponder.Frontier, ponder.Fast, ponder.Cheap}
	case ponder.Cheap:
		return []ponder.Role{ponder.Fast, ponder.Slow, ponder.Frontier}
	case ponder.Frontier:
		return []ponder.Role{ponder.Slow, ponder.Fast, ponder.Cheap}
	}
	return nil
}

// Resolve returns the models of each role: those that are set for it, else those of the
// nearest role with a setting. If no text model is set, it uses the first provider with a
// key in the environment: openai, anthropic, gemini, groq, zai, openrouter. A foreign
// OPENAI_BASE_URL is asked for its models. Without a key, it uses the models of local
// servers: those in the user's file, then a running Ollama. The first server with a model for
// text serves the text roles, the first with an embedding model the role embed. It asks
// servers only if no text model is set, with a short timeout.
//
// Without any model, the error explains why a configured one or a running Ollama is
// unusable. It is nil if the user configured nothing and nothing was found.
func (c *Config) Resolve(ctx context.Context, client *http.Client) (Choices, error) {
	all := make(Choices, 0, 5)
	for _, role := range Roles() {
		all = append(all, c.configuredChoice(role))
	}
	if all.ForRole(ponder.Fast).Models == nil {
		return all, c.detectModels(ctx, client, all)
	}
	return all, nil
}

func ChoicesFor(model, from string) Choices {
	var all Choices
	for _, role := range Roles() {
		choice := Choice{Role: role, Models: Chain{model}, From: from}
		if role == ponder.Embed {
			choice = Choice{Role: role}
		}
		all = append(all, choice)
	}
	return all
}

// ChatChoices returns the models of conversations with one model, which is the fast one and fills
// the unset roles.
func (c *Config) ChatChoices(model, from string) Choices {
	all := ChoicesFor(model, from)
	for i, choice := range all {
		if models := c.Models.roleChain(choice.Role); models != nil && choice.Role != ponder.Fast {
			all[i] = Choice{Role: choice.Role, Models: models, From: c.Origin("models." + string(choice.Role))}
		}
	}
	return all
}

func (c *Config) configuredChoice(role ponder.Role) Choice {
	if models := c.Models.roleChain(role); models != nil {
		return Choice{Role: role, Models: models, From: c.Origin("models." + string(role))}
	}
	for _, other := range fallbackRoles(role) {
		if models := c.Models.roleChain(other); models != nil {
			return Choice{Role: role, Models: models, From: "same as " + string(other), Borrowed: true}
		}
	}
	return Choice{Role: role}
}

// detectModels fills in unset roles. If it finds nothing, it returns the error of Resolve.
func (c *Config) detectModels(ctx context.Context, client *http.Client, all Choices) error {
	p, missed := c.detectProvider(ctx, client, all)
	if p.Name != "" && !p.IsLocal() {
		return nil
	}
	for _, p := range c.localServers() {
		if all.ForRole(ponder.Slow).Models != nil && all.ForRole(ponder.Embed).Models != nil {
			break
		}
		s := c.probeServer(ctx, client, p)
		all.fillUnset(p.Name, assignServed(ctx, client, p, s.Models), p.describe())
		missed = cmp.Or(missed, s.Remedy)
	}
	if all.ForRole(ponder.Slow).Models != nil {
		return nil
	}
	_, err := c.Provider("ollama")
	return cmp.Or(missed, err)
}

// detectProvider fills in the models of the first built-in provider with a key or an address.
// Its error explains the first unusable one.
func (c *Config) detectProvider(ctx context.Context, client *http.Client, all Choices) (p Provider, missed error) {
	for _, m := range builtinProviders() {
		if m.local {
			continue
		}
		p, err := c.Provider(m.Name)
		if err != nil && missed == nil && (c.env(m.urlEnv) != "" || c.env(m.KeyEnv) != "") {
			missed = err
		}
		if err != nil || (p.Key == "" && p.BaseURL == m.BaseURL) {
			continue
		}
		models, from := m.models, p.KeyEnv
		if p.BaseURL != m.BaseURL && (p.Key == "" || p.Type == "openai") {
			from = c.addressSetting(m.Name)
		}
		if p.BaseURL != m.BaseURL && p.Type == "openai" {
			models = c.assignUsual(ctx, client, p, m.models)
		}
		all.fillUnset(m.Name, models, from)
		return p, nil
	}
	return Provider{}, missed
}

// A Server is a local server with its models.
type Server struct {
	Provider
	Models []ServedModel
	Err    error // why it listed none
	Remedy error // for a server without a model for text; nil for a missing Ollama without a given address
}

// ProbeServers returns the local servers that Resolve considers.
func (c *Config) ProbeServers(ctx context.Context, client *http.Client) (list []Server) {
	for _, p := range c.localServers() {
		list = append(list, c.probeServer(ctx, client, p))
	}
	return list
}

func (c *Config) probeServer(ctx context.Context, client *http.Client, p Provider) Server {
	s := Server{Provider: p}
	s.Models, s.Err = c.Served(ctx, client, p)
	switch {
	case s.Err != nil:
		s.Remedy = c.explainSilence(p, s.Err)
	case slices.ContainsFunc(s.Models, func(m ServedModel) bool { return m.Use == ForText }):
	case p.Type == "ollama":
		s.Remedy = fmt.Errorf("%s has no model for text: run `ollama pull llama3.1`", p.describe())
	default:
		s.Remedy = fmt.Errorf("%s has no model for text: load one there", p.describe())
	}
	return s
}

// explainSilence returns the remedy for a server that did not list its models. A missing Ollama
// without a configured address is no error.
func (c *Config) explainSilence(p Provider, err error) error {
	var refused Refusal
	setting := c.addressSetting(p.Name)
	switch {
	case errors.As(err, &refused):
		return err
	case setting == "":
		return nil
	case p.Type == "ollama":
		return fmt.Errorf("no answer from %s: run `ollama serve` there, or correct %s", p.describe(), setting)
	}
	return fmt.Errorf("no answer from %s: start the server, or correct %s", p.describe(), setting)
}

func (all Choices) fillUnset(provider string, models map[ponder.Role]string, from string) {
	for i := range all {
		if id := models[all[i].Role]; id != "" && all[i].Models == nil {
			all[i].Models, all[i].From = Chain{provider + "/" + id}, from
		}
	}
}
