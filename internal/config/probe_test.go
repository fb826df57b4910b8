package config

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"ponder"
)

// TestProbeGoesNowhereElse checks that only its own server receives a key.
func TestProbeGoesNowhereElse(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	away := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/models", http.StatusTemporaryRedirect)
	})
	for _, s := range []*httptest.Server{httptest.NewServer(away), httptest.NewTLSServer(away)} {
		defer s.Close()
		usual := map[ponder.Role]string{ponder.Slow: "usual"}
		got := (&Config{env: func(string) string { return "" }}).assignUsual(t.Context(), s.Client(), Provider{Name: "openai", Type: "openai", BaseURL: s.URL, Key: "secret"}, usual)
		if asked != 0 || got[ponder.Slow] != "usual" {
			t.Errorf("another server was asked %d times, and the models are %v", asked, got)
		}
		c, err := Load(writeConfigs(t, "", "", map[string]string{"OLLAMA_HOST": s.URL, "OLLAMA_API_KEY": "secret"}))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Ollama(t.Context(), s.Client()); asked != 0 || err == nil {
			t.Errorf("another server was asked %d times for an Ollama's models: %v", asked, err)
		}
	}
}
