package ollama

import (
	"context"
	"errors"
	"net/http"
	"time"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

// window returns the context of a model in tokens: its num_ctx, or the largest. Zero is unknown.
func (f facts) window() int {
	if f.defaultContext > 0 && f.context > 0 {
		return min(f.defaultContext, f.context)
	}
	return max(f.defaultContext, f.context)
}

// fixedContext returns the configured context of a model, or zero.
func (m *model) fixedContext() int {
	if n := m.contexts[m.id]; n > 0 {
		return n
	}
	return m.context
}

// ListedContext implements [llm.WindowLister].
func (m *model) ListedContext() int {
	if n := m.fixedContext(); n > 0 {
		return n
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.windows[m.id]
}

func (p *Provider) setWindow(id string, tokens int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.windows[id] = tokens
}

// requestContext returns the num_ctx of a request, or zero for a model elsewhere.
func (m *model) requestContext(req *llm.Request, f facts) int {
	if m.isRemote() {
		return 0
	}
	if n := m.fixedContext(); n > 0 {
		return n
	}
	return f.contextSize(req)
}

// largerContext returns the next context for a request that was refused as too long, or zero. The
// estimate of the prompt may be wrong by a factor of two.
func (m *model) largerContext(ctx context.Context, err error, req *llm.Request, f facts, size int) int {
	var e *llm.Error
	if !errors.As(err, &e) || e.Class != llm.TooLong || m.isRemote() {
		return 0
	}
	if loaded := m.loadedContext(ctx); loaded > 0 && loaded < size {
		e.Limits.Context = loaded // the server has no memory for more
		m.setWindow(m.id, loaded)
		return 0
	}
	if m.fixedContext() > 0 || f.defaultContext > 0 || f.context <= size || 2*wire.Tokens(req.Size()) < size {
		return 0
	}
	return min(2*size, f.context)
}

const loadedTime = 2 * time.Second

// loadedContext returns the context with which the server loaded the model, or zero.
func (m *model) loadedContext(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(wire.ImmediateContext(ctx), loadedTime)
	defer cancel()
	var got struct {
		Models []struct {
			Name    string `json:"name"`
			Model   string `json:"model"`
			Context int    `json:"context_length"`
		} `json:"models"`
	}
	if m.fetchJSON(ctx, m.id, http.MethodGet, "/api/ps", nil, &got) != nil {
		return 0 // the refusal says enough
	}
	for _, running := range got.Models {
		if name := running.Name; name == m.id || name == m.id+":latest" || running.Model == m.id {
			return running.Context
		}
	}
	return 0
}

var _ llm.WindowLister = (*model)(nil)
