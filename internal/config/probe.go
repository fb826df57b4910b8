package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder"
)

// Timeouts for the list of a server's models.
const (
	probeTime       = 300 * time.Millisecond
	serverProbeTime = 2 * time.Second
)

const maxList = 4 << 20

type Install struct {
	Name    string `json:"name"`
	Details struct {
		Family   string   `json:"family"`
		Families []string `json:"families"`
	} `json:"details"`
}

func (m Install) isEmbedder() bool {
	return strings.Contains(m.Name, "embed") || strings.HasPrefix(m.Name, "bge-") || strings.HasPrefix(m.Name, "all-minilm") ||
		strings.Contains(m.Details.Family, "bert")
}

// Ollama returns Ollama's address and its models, the newest first. It returns no address if
// that is invalid. An unexpected answer is a [Refusal].
func (c *Config) Ollama(ctx context.Context, client *http.Client) (base string, installed []Install, err error) {
	p, err := c.Provider("ollama")
	if err != nil {
		return "", nil, err
	}
	patience := probeTime
	if c.addressSetting("ollama") != "" {
		patience = serverProbeTime
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var list struct {
		Models []Install `json:"models"`
	}
	err = fetchJSON(ctx, client, p.BaseURL+"/api/tags", p.Key, &list)
	var r Refusal
	if errors.As(err, &r) {
		err = r.explainFor(p)
	}
	return p.BaseURL, list.Models, err
}

// A Refusal is the status of an unexpected answer.
type Refusal int

func (r Refusal) Error() string {
	return strings.TrimSpace(strconv.Itoa(int(r)) + " " + http.StatusText(int(r)))
}

func (r Refusal) explainFor(p Provider) error {
	switch {
	case r != http.StatusUnauthorized && r != http.StatusForbidden:
		return fmt.Errorf("the server at %s returned %w: check that it is Ollama", p.BaseURL, r)
	case p.Key == "":
		return fmt.Errorf("Ollama at %s requires a key (%w): set %s", p.BaseURL, r, p.KeyEnv)
	}
	return fmt.Errorf("Ollama at %s rejects the key (%w): correct %s", p.BaseURL, r, p.KeyEnv)
}

// addressSetting returns the setting of a provider's address, or "".
func (c *Config) addressSetting(provider string) string {
	m, _ := findBuiltin(provider)
	switch {
	case m.urlEnv != "" && c.env(m.urlEnv) != "":
		return m.urlEnv
	case c.Providers[provider].BaseURL != "":
		return "providers." + provider + ".base_url"
	}
	return ""
}

func assignRoles(installed []Install) map[ponder.Role]string {
	models := map[ponder.Role]string{}
	if i := slices.IndexFunc(installed, func(m Install) bool { return m.Name != "" && !m.isEmbedder() }); i >= 0 {
		for _, role := range []ponder.Role{ponder.Fast, ponder.Slow, ponder.Cheap, ponder.Frontier} {
			models[role] = installed[i].Name
		}
	}
	if i := slices.IndexFunc(installed, Install.isEmbedder); i >= 0 {
		models[ponder.Embed] = installed[i].Name
	}
	return models
}

// assignServed assigns an OpenAI-compatible server's models to roles: the usual ones that it has,
// else its first. A server without a list gets the usual ones.
func assignServed(ctx context.Context, client *http.Client, p Provider, usual map[ponder.Role]string) map[ponder.Role]string {
	ctx, cancel := context.WithTimeout(ctx, serverProbeTime)
	defer cancel()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	err := fetchJSON(ctx, client, strings.TrimSuffix(p.BaseURL, "/")+"/models", p.Key, &list)
	var have []Install
	for _, m := range list.Data {
		if _, _, err := SplitModel(p.Name + "/" + m.ID); err == nil {
			have = append(have, Install{Name: m.ID})
		}
	}
	if err != nil || len(have) == 0 {
		return usual
	}
	models := assignRoles(have)
	for role, id := range usual {
		if slices.ContainsFunc(have, func(m Install) bool { return m.Name == id }) {
			models[role] = id
		}
	}
	return models
}

func fetchJSON(ctx context.Context, client *http.Client, address string, key Secret, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("list models: %w", err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+string(key))
	}
	asks := *client
	asks.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // keep the key on this server
	resp, err := asks.Do(req)
	if err != nil {
		return fmt.Errorf("list models: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("list models: %w", Refusal(resp.StatusCode))
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxList)).Decode(into); err != nil {
		return fmt.Errorf("list models: %w", err)
	}
	return nil
}
