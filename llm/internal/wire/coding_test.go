package wire

import (
	"compress/gzip"
	"io"
	"net/http"
	"testing"

	"ponder/llm"
)

func TestCoding(t *testing.T) {
	for _, tt := range []struct {
		coding string
		status int
		want   string
		class  llm.Class
	}{
		{"gzip", 200, "data: a\n\n", ""},
		{"x-gzip", 200, "data: a\n\n", ""},
		{"gzip", 400, "", llm.TooLong},
		{"br", 200, "", llm.Malformed},
	} {
		base := serveHandler(t, func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("Accept-Encoding"); got != "identity" {
				t.Errorf("asks for %q", got)
			}
			w.Header().Set("Content-Encoding", tt.coding)
			w.WriteHeader(tt.status)
			z := gzip.NewWriter(w)
			defer z.Close()
			if tt.status == 200 {
				_, _ = io.WriteString(z, tt.want)
			} else {
				_, _ = io.WriteString(z, `{"error":{"code":"context_length_exceeded","message":"too long"}}`)
			}
		})
		resp, err := postBody(t.Context(), newClient(), base, nil)
		if err != nil {
			if llm.ClassOf(err) != tt.class {
				t.Errorf("%s %d: got %v, want %s", tt.coding, tt.status, err, tt.class)
			}
			continue
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || tt.class != "" || string(got) != tt.want {
			t.Errorf("%s %d: got %q, %v", tt.coding, tt.status, got, err)
		}
	}
}
