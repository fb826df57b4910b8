package wire

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

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
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
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
		resp, err := post(t.Context(), client(), base, nil)
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

// TestProxyRefuses sees that a proxy which will not connect is no lost connection.
func TestProxyRefuses(t *testing.T) {
	proxy := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) })
	c := client()
	c.HTTP.Transport.(*http.Transport).Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy) }
	_, err := post(t.Context(), c, "https://model.invalid/", nil)
	if llm.ClassOf(err) != llm.Unreachable || err.Error() != "acme/m1: the proxy refuses to connect: 407 Proxy Authentication Required" {
		t.Errorf("got %v", err)
	}
}

// TestUnsent sees that a request which was given up before it was released used nothing.
func TestUnsent(t *testing.T) {
	base := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if data, _ := io.ReadAll(r.Body); len(data) > 0 {
			t.Errorf("%q was sent", data)
		}
	})
	ctx, cancel := context.WithCancel(Hold(t.Context(), make(chan struct{})))
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := post(ctx, client(), base, struct{}{})
	var e *llm.Error
	if !errors.As(Ask{Size: 36}.Cut(err, llm.Usage{}), &e) || e.Class != llm.Cancelled || e.Usage != (llm.Usage{}) {
		t.Errorf("got %+v", e)
	}
}

func TestCounts(t *testing.T) {
	for text, want := range map[string]Count{
		`5`: 5, `5.0`: 5, `"5"`: 5, `{}`: 0, `[]`: 0, `-3`: 0, `9e18`: maxCount, `1e999`: maxCount, `true`: 0, `"x"`: 0,
	} {
		var c Count
		if err := json.Unmarshal([]byte(text), &c); err != nil || c != want {
			t.Errorf("%s: got %d, %v", text, c, err)
		}
	}
}

func TestCountedOr(t *testing.T) {
	cost := int64(7)
	for _, tt := range []struct {
		used, want llm.Usage
		out        int
	}{
		{llm.Usage{Input: 3, Output: 1}, llm.Usage{Input: 3, Output: 1}, 36},
		{llm.Usage{Input: 3}, llm.Usage{Input: 3}, 0},
		{llm.Usage{Input: 3}, llm.Usage{Input: 3, Output: 10, Estimated: true}, 36},
		{llm.Usage{Cost: &cost}, llm.Usage{Input: 20, Output: 10, Cost: &cost, Estimated: true}, 36},
	} {
		if got := CountedOr(tt.used, 72, tt.out); got != tt.want {
			t.Errorf("CountedOr(%+v, 72, %d) = %+v, want %+v", tt.used, tt.out, got, tt.want)
		}
	}
}

func TestVectors(t *testing.T) {
	for _, tt := range []struct {
		vectors [][]float32
		ok      bool
	}{
		{[][]float32{{1, 2}, {3, 4}}, true},
		{[][]float32{{1, 2}}, false},
		{[][]float32{{1, 2}, {}}, false},
		{[][]float32{{1, 2}, {1}}, false},
	} {
		if err := Vectors(tt.vectors, 2); (err == nil) != tt.ok {
			t.Errorf("Vectors(%v, 2) = %v", tt.vectors, err)
		}
	}
}
