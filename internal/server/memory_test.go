package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat/mcp"
	"ponder/internal/limitio"
	"ponder/internal/racetest"
)

const memoryToken = "0123456789abcdef0123456789abcdef"

// newTestHandler returns the whole handler of a server without models, and its routes.
func newTestHandler(t *testing.T) (h http.Handler, routes []string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"} {
		t.Setenv(name, dir)
	}
	t.Setenv("OLLAMA_HOST", "http://127.0.0.1:1")
	t.Setenv("PONDER_CONFIG", "")
	hosts := &mcp.Hosts{}
	a := app.New(app.Options{DB: filepath.Join(dir, "p.db")}).Serve(app.ModelHost{Name: mcp.Host, Provider: hosts})
	store, err := a.OpenStore(t.Context())
	checkOK(t, err)
	service, err := a.NewService(t.Context(), store, true)
	checkOK(t, err)
	s := &Server{Service: service, Hosts: hosts, Version: "test"}
	t.Cleanup(func() {
		s.Close(t.Context())
		checkOK(t, store.Close())
		a.Close()
	})
	guard := auth.Config{Tokens: []auth.Token{{Name: "a", Owner: app.LocalOwner, Scopes: auth.Scopes(), Hash: auth.HashOf(memoryToken)}}}
	h, err = s.newHandler(t.Context(), guard)
	checkOK(t, err)
	more, _ := MountProtocols(s.protocols(t.Context()))
	routes = slices.Collect(maps.Keys(more))
	routes = append(routes, slices.Collect(maps.Keys(s.adminRoutes()))...)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, newTestRequest(http.MethodGet, "/openapi.json", ""))
	var doc struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	checkOK(t, json.Unmarshal(w.Body.Bytes(), &doc))
	for path, methods := range doc.Paths {
		for method := range methods {
			routes = append(routes, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(routes)
	return h, slices.Compact(routes)
}

func newTestRequest(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+memoryToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

// bodyRoutes returns the routes that may read a body.
func bodyRoutes(routes []string) (list [][2]string) {
	for _, route := range routes {
		method, path, ok := strings.Cut(route, " ")
		if !ok {
			method, path = http.MethodPost, route
		}
		path = pathParameter.ReplaceAllString(path, "thr_01K0000000000000000000000A")
		switch {
		case method == http.MethodGet || strings.HasPrefix(path, "/debug/"):
		case strings.HasSuffix(path, "/rest/"):
			list = append(list, [2]string{method, path + "message:send"}, [2]string{method, path + "v1/message:send"})
		default:
			list = append(list, [2]string{method, path})
		}
	}
	return list
}

// hostileBodies returns bodies of about size bytes, each with many values, or texts that grow.
func hostileBodies(size int) map[string]string {
	long := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	bodies := make(map[string]string)
	for name, unit := range map[string]string{
		"lists": "[],", "objects": "{},", "words": "null,", "digits": "1,", "texts": `"a",`,
		"messages": `{"role":"user","content":"x"},`, "parts": `{"role":"user","content":[{"type":"text","text":"x"}]},`,
	} {
		list := "[" + strings.TrimSuffix(long(unit), ",") + "]"
		bodies[name] = list
		bodies[name+" in fields"] = `{"model":"ponder/chat","jsonrpc":"2.0","id":1,"method":"tools/call","params":` + `{"name":"ask","arguments":{"x":` + list[:len(list)/4] + "0]" + `}},"messages":` + cutList(list, unit) + "}"
	}
	for name, unit := range map[string]string{"letters": "a", "tags": "<b>", "escapes": `\u0001`, "lines": `\n`, "not UTF-8": "\xff", "base64": "iVBORw0K"} {
		text := `"` + long(unit) + `"`
		bodies[name] = `{"model":"ponder/chat","jsonrpc":"2.0","id":1,"method":"tools/call","question":` + text[:size/8/len(unit)*len(unit)+1] + `","content":` + text + `}`
		bodies[name+" of a message"] = `{"model":"ponder/chat","messages":[{"role":"user","content":` + text + `}]}`
	}
	bodies["an image"] = `{"model":"ponder/chat","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + long("iVBORw0K") + `"}}]}]}`
	bodies["depth"] = long("[")
	bodies["deep objects"] = long(`{"a":`)
	members := &strings.Builder{}
	for i := 0; members.Len() < size; i++ {
		members.WriteString(`"` + string(rune('a'+i%26)) + strings.Repeat("x", i%7) + `":1,`)
	}
	bodies["members"] = "{" + members.String() + `"z":1}`
	return bodies
}

// cutList returns a shorter list of whole units.
func cutList(list, unit string) string {
	n := (len(list) - 2) / len(unit) / 2
	if n == 0 {
		return "[]"
	}
	return "[" + strings.TrimSuffix(list[1:1+n*len(unit)], ",") + "]"
}

// peakOf returns the most memory in use while do runs.
func peakOf(do func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	live := func() uint64 {
		runtime.GC()
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := live()
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		most := before
		for {
			select {
			case <-done:
				peak <- most
				return
			default:
				most = max(most, live())
			}
		}
	}()
	do()
	close(done)
	return <-peak - before
}

// everywhere are the bodies for all routes. thorough are the routes that get all bodies, one of each kind.
var (
	everywhere = []string{"objects in fields", "escapes", "letters of a message"}
	thorough   = []string{"/api/threads", "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings", "/mcp"}
)

// A memoryRow is a valid request with a text at %s, in a header of its protocol.
type memoryRow struct {
	name, path, body string
	header           map[string]string
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}`

// memoryRows returns valid requests of protocols whose libraries copy texts.
func memoryRows(h http.Handler) []memoryRow {
	modern := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "ponder_think"}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ponder_think","arguments":{"question":"%s"}`
	w := httptest.NewRecorder()
	h.ServeHTTP(w, newTestRequest(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
	session := map[string]string{"Mcp-Session-Id": w.Header().Get("Mcp-Session-Id"), "Mcp-Protocol-Version": "2025-06-18"}
	message := `{"messageId":"m1","role":"ROLE_USER","parts":[%s]}`
	old := `{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"%s"}]}`
	return []memoryRow{
		{"direct call", "/mcp", call + "," + strings.Replace(modernMeta, "%s", "{}", 1) + "}}", modern},
		{"call with sampling", "/mcp", call + "," + strings.Replace(modernMeta, "%s", `{"sampling":{}}`, 1) + "}}", modern},
		{"call in a session", "/mcp", call + "}}", session},
		{"answer in a session", "/mcp", `{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","content":{"type":"text","text":"%s"},"model":"x"}}`, session},
		{"text", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":` + strings.Replace(message, "%s", `{"text":"%s"}`, 1) + `}}`, nil},
		{"file", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":` + strings.Replace(message, "%s", `{"raw":"%s","mediaType":"image/png"}`, 1) + `}}`, nil},
		{"data", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":` + strings.Replace(message, "%s", `{"data":{"a":"%s"}}`, 1) + `}}`, nil},
		{"old text", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":` + old + `}}`, nil},
		{"text", "/a2a/rest/message:send", `{"message":` + strings.Replace(message, "%s", `{"text":"%s"}`, 1) + `}`, nil},
		{"old text", "/a2a/rest/v1/message:send", `{"message":` + old + `}`, nil},
		{"text", "/api/completions", `{"messages":[{"role":"user","content":"%s"}]}`, nil},
		{"part", "/api/completions", `{"messages":[{"role":"user","content":[{"type":"text","text":"%s"}]}]}`, nil},
		{"image", "/api/completions", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]}]}`, nil},
	}
}

// TestRequestMemory checks on all routes that a request uses at most three times its body, or 8 MiB if its values
// need them.
func TestRequestMemory(t *testing.T) {
	racetest.Skip(t, "it measures memory, which the detector multiplies")
	h, routes := newTestHandler(t)
	list := bodyRoutes(routes)
	if len(list) < 60 {
		t.Fatalf("only %d routes: %v", len(list), list)
	}
	const size = 3 << 20
	bodies := hostileBodies(size)
	names := slices.Sorted(maps.Keys(bodies))
	for _, route := range list {
		for _, name := range names {
			if !slices.Contains(everywhere, name) && !slices.Contains(thorough, route[1]) {
				continue
			}
			checkMemory(t, h, newTestRequest(route[0], route[1], bodies[name]), bodies[name], name)
		}
	}
	for _, row := range memoryRows(h) {
		for name, unit := range map[string]string{"letters": "aaaa", "lines": `\n\n`} {
			if row.name == "file" || row.name == "image" {
				name, unit = "base64", "iVBORw0K"
			}
			body := strings.Replace(row.body, "%s", strings.Repeat(unit, size/len(unit)), 1)
			r := newTestRequest(http.MethodPost, row.path, body)
			for name, value := range row.header {
				r.Header.Set(name, value)
			}
			checkMemory(t, h, r, body, row.name+" of "+name)
		}
	}
}

func checkMemory(t *testing.T, h http.Handler, r *http.Request, body, name string) {
	t.Helper()
	size := int64(len(body))
	limit := 3 * size
	reading, err := limitio.NewMemory(limit).ReadBody(t.Context(), strings.NewReader(body), limitio.BodyLimit{Bytes: size, Size: size})
	if err != nil { // values that need more
		limit = max(limit, size+8<<20)
	} else {
		reading.Release()
	}
	w := &discardResponse{header: make(http.Header)}
	peak := int64(peakOf(func() { h.ServeHTTP(w, r) }))
	if peak > limit+1<<20 {
		t.Errorf("%s %s, %s: %.1f times the body of %d bytes (status %d)", r.Method, r.URL.Path, name, float64(peak)/float64(size), size, w.status)
	}
}

type discardResponse struct {
	header http.Header
	status int
}

func (d *discardResponse) Header() http.Header         { return d.header }
func (d *discardResponse) Write(b []byte) (int, error) { return len(b), nil }
func (d *discardResponse) WriteHeader(status int)      { d.status = status }
