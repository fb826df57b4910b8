package config

import (
	"bytes"
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
)

// Timeouts for the list of a server's models.
const (
	probeTime       = 300 * time.Millisecond
	serverProbeTime = 2 * time.Second
)

const maxList = 4 << 20

// Ollama returns Ollama's address and its models, the newest first. It returns no address if
// that is invalid. An unexpected answer is a [Refusal].
func (c *Config) Ollama(ctx context.Context, client *http.Client) (base string, served []ServedModel, err error) {
	p, err := c.Provider("ollama")
	if err != nil {
		return "", nil, err
	}
	served, err = c.Served(ctx, client, p)
	return p.BaseURL, served, err
}

// Served returns the models of a server, in its order. An unexpected answer is a [Refusal].
// Only servers with the API of OpenAI or Ollama have a list; others return none.
func (c *Config) Served(ctx context.Context, client *http.Client, p Provider) (served []ServedModel, err error) {
	patience := probeTime
	if c.addressSetting(p.Name) != "" {
		patience = serverProbeTime
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch p.Type {
	case "ollama":
		served, err = listOllama(ctx, client, p)
	case "openai":
		served, err = listOpenAI(ctx, client, p)
	}
	var r Refusal
	if errors.As(err, &r) {
		err = r.explainFor(p)
	}
	return slices.DeleteFunc(served, func(m ServedModel) bool {
		_, _, err := SplitModel(p.Name + "/" + m.Name)
		return err != nil
	}), err
}

// A Refusal is the status of an unexpected answer.
type Refusal int

func (r Refusal) Error() string {
	return strings.TrimSpace(strconv.Itoa(int(r)) + " " + http.StatusText(int(r)))
}

func (r Refusal) explainFor(p Provider) error {
	api, key := map[string]string{"ollama": "Ollama", "openai": "a server with the API of OpenAI"}[p.Type], p.KeyEnv
	if key == "" {
		key = "providers." + p.Name + ".api_key_env"
	}
	switch {
	case r != http.StatusUnauthorized && r != http.StatusForbidden:
		return fmt.Errorf("the server at %s returned %w: check that it is %s", p.BaseURL, r, api)
	case p.Key == "":
		return fmt.Errorf("%s requires a key (%w): set %s", p.describe(), r, key)
	}
	return fmt.Errorf("%s rejects the key (%w): correct %s", p.describe(), r, key)
}

// describe names a server for the user.
func (p Provider) describe() string {
	if p.Name == "ollama" {
		return "Ollama at " + p.BaseURL
	}
	return p.Name + " at " + p.BaseURL
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

// fetchJSON sends a GET request, or a POST request with a body.
func fetchJSON(ctx context.Context, client *http.Client, address string, key Secret, body, into any) error {
	method, content := http.MethodGet, io.Reader(nil)
	if body != nil {
		js, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("list models: %w", err)
		}
		method, content = http.MethodPost, bytes.NewReader(js)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return fmt.Errorf("list models: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
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
