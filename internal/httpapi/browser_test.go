package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"testing"
	"time"

	"ponder/internal/auth"
	"ponder/llm"
	"ponder/llm/llmtest"
)

var browsers = []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell"}

// asking requests a list and a turn stream, and posts the text that it could read.
const asking = `<!doctype html><title>asks</title><script>
const asked = new URLSearchParams(location.search), api = asked.get("api"), talk = asked.get("talk"), out = {};
const head = {Authorization: "Bearer mine"};
const tries = async (name, does) => { try { out[name] = await does(); } catch (e) { out[name] = "refused"; } };
(async () => {
	await tries("list", async () => (await (await fetch(api + "/api/threads", {headers: head})).json()).threads[0].thread_id);
	await tries("tag", async () => (await fetch(api + "/api/threads/" + talk + "/export", {headers: head})).headers.get("ETag") ? "read" : "hidden");
	await tries("stream", async () => {
		const r = await fetch(api + "/api/threads/" + talk + "/messages", {
			method: "POST", headers: {...head, "Content-Type": "application/json", Accept: "text/event-stream", "Idempotency-Key": location.port},
			body: JSON.stringify({content: "What is the sea?"}),
		});
		const parts = r.body.pipeThrough(new TextDecoderStream()).getReader();
		for (let text = ""; ;) {
			const {done, value} = await parts.read();
			if (done) return text.includes("event: turn") && text.includes("It is salt.") ? "answered" : text;
			text += value;
		}
	});
	await tries("token", async () => { await fetch(api + "/api/threads"); return "read"; });
	await fetch("/told", {method: "POST", body: JSON.stringify(out)});
})();
</script>`

type page struct {
	*httptest.Server
	told chan map[string]string
}

func newPage() *page {
	p := &page{told: make(chan map[string]string, 1)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && r.URL.Path == "/told":
			var out map[string]string
			if js, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(js, &out) != nil {
				return
			}
			select {
			case p.told <- out:
			default: // already reported
			}
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, asking)
		default:
			http.NotFound(w, r)
		}
	}))
	return p
}

// browserTime is generous, because test hosts are slow.
const browserTime = 3 * time.Minute

// loadPage returns the report of the page.
func (p *page) loadPage(t *testing.T, browser, api, talk string) map[string]string {
	t.Helper()
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // browser processes may still write
	ctx, cancel := context.WithTimeout(t.Context(), browserTime)
	defer cancel()
	var says bytes.Buffer
	cmd := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--no-proxy-server", "--user-data-dir="+dir, "--remote-debugging-port=0", p.URL+"/?"+url.Values{"api": {api}, "talk": {talk}}.Encode())
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir)
	cmd.Stderr, cmd.WaitDelay = &says, 10*time.Second
	if err := cmd.Start(); err != nil {
		t.Skipf("%s does not start here: %v", browser, err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	defer func() { cancel(); <-ended }()
	select {
	case out := <-p.told:
		return out
	case <-ended:
		t.Skipf("%s shows no page here: %.500s", browser, says.String())
	case <-ctx.Done():
		t.Skipf("%s has shown no page in %s", browser, browserTime)
	}
	return nil
}

// In a real browser, only pages of configured origins can read responses and streams.
func TestPagesInABrowser(t *testing.T) {
	browser := ""
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil && browser == "" {
			browser = path
		}
	}
	if browser == "" {
		t.Skip("no Chromium is installed, which shows pages of other sites: install chromium to have it tried")
	}
	good, bad := newPage(), newPage()
	defer good.Close()
	defer bad.Close()
	m := &llmtest.Model{Deltas: 5, Answer: func(*llm.Request) (llm.Message, error) { return llm.Say(llm.Assistant, "It is salt."), nil }}
	h := newTestServer(t, m)
	guard := auth.New(auth.Config{Origins: []string{good.URL}, Tokens: []auth.Token{{Name: "local", Owner: "local", Scopes: auth.Scopes(), Hash: auth.HashOf("mine")}}})
	h.testAPI = &testAPI{h.store, New(t.Context(), Config{Store: h.store, Hub: h.hub, Service: h, Requests: &memoryRequests{}, Guard: guard, Logger: slog.New(slog.DiscardHandler)})}
	server := httptest.NewServer(h.testAPI)
	defer server.Close()
	talk := h.openThread("a")
	for _, c := range []struct {
		name string
		*page
		want map[string]string
	}{
		{"a page that is named", good, map[string]string{"list": talk, "tag": "read", "stream": "answered", "token": "read"}},
		{"a page of another site", bad, map[string]string{"list": "refused", "tag": "refused", "stream": "refused", "token": "refused"}},
	} {
		if got := c.loadPage(t, browser, server.URL, talk); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
