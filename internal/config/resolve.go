package config

import (
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
// OPENAI_BASE_URL is asked for its models. Without a key, it uses the models of a running
// Ollama. It asks servers only if no text model is set, with a short timeout.
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
			all[i] = Choice{choice.Role, models, c.Origin("models." + string(choice.Role))}
		}
	}
	return all
}

func (c *Config) configuredChoice(role ponder.Role) Choice {
	if models := c.Models.roleChain(role); models != nil {
		return Choice{role, models, c.Origin("models." + string(role))}
	}
	for _, other := range fallbackRoles(role) {
		if models := c.Models.roleChain(other); models != nil {
			return Choice{role, models, "same as " + string(other)}
		}
	}
	return Choice{Role: role}
}

// detectModels fills in unset roles. If it finds nothing, it returns the error of Resolve.
func (c *Config) detectModels(ctx context.Context, client *http.Client, all Choices) (missed error) {
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
			models = assignServed(ctx, client, p, m.models)
		}
		all.fillUnset(m.Name, models, from)
		return nil
	}
	base, installed, err := c.Ollama(ctx, client)
	if err == nil {
		all.fillUnset("ollama", assignRoles(installed), "Ollama at "+base)
	}
	given := c.addressSetting("ollama")
	var refused Refusal
	switch {
	case all.ForRole(ponder.Slow).Models != nil:
		return nil
	case missed != nil:
		return missed
	case err == nil:
		return fmt.Errorf("Ollama at %s has no model for text: run `ollama pull llama3.1`", base)
	case base == "" || errors.As(err, &refused):
		return err
	case given != "":
		return fmt.Errorf("no answer from Ollama at %s: run `ollama serve` there, or correct %s", base, given)
	}
	return nil
}

func (all Choices) fillUnset(provider string, models map[ponder.Role]string, from string) {
	for i := range all {
		if id := models[all[i].Role]; id != "" && all[i].Models == nil {
			all[i].Models, all[i].From = Chain{provider + "/" + id}, from
		}
	}
}
