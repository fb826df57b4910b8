package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

func TestModelNotes(t *testing.T) {
	const fault, wait = "lab/x: the server refuses the key (401); next test now", "lab: 84 calls wait, 16 in flight of at most 16"
	tests := []struct {
		name     string
		status   int
		body     string
		lines    []string
		waits    []string
		degraded bool
		fails    bool
	}{
		{"all is well", 200, "ok\n", nil, nil, false, false},
		{"calls wait", 200, "ok\n" + wait + "\n", []string{wait}, []string{wait}, false, false},
		{"a model is refused too", 200, "degraded\n" + fault + "\n" + wait + "\n", []string{fault, wait}, []string{wait}, true, false},
		{"another token", 401, "no", nil, nil, false, false},
		{"stopping", 503, "not ready", nil, nil, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			}))
			defer s.Close()
			server := LocalServer{Address: s.URL}
			lines, degraded, err := server.ModelNotes(t.Context())
			if !slices.Equal(lines, tt.lines) || degraded != tt.degraded || (err != nil) != tt.fails {
				t.Errorf("%q, degraded %v, %v", lines, degraded, err)
			}
			if waits := server.WaitNotes(t.Context()); !slices.Equal(waits, tt.waits) {
				t.Errorf("waits: %q", waits)
			}
		})
	}
}
