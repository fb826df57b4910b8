package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func walkJSON(at string, v any, f func(at string, object map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(at, v)
		for name, value := range v {
			walkJSON(at+"/"+name, value, f)
		}
	case []any:
		for _, value := range v {
			walkJSON(at+"/[]", value, f)
		}
	}
}

// The OpenAPI 3.1 references resolve, and each operation is documented.
func TestOpenAPI(t *testing.T) {
	_, js := newAPI(t, nil).sendRequest("mine", "GET", "/openapi.json", "")
	var doc map[string]any
	if err := json.Unmarshal([]byte(js), &doc); err != nil || !strings.HasPrefix(doc["openapi"].(string), "3.1") {
		t.Fatalf("%v %.200s", err, js)
	}
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	walkJSON("", doc, func(at string, o map[string]any) {
		ref, ok := o["$ref"].(string)
		if name, local := strings.CutPrefix(ref, "#/components/schemas/"); ok && (!local || schemas[name] == nil) {
			t.Errorf("%s refers to %s, which is not there", at, ref)
		}
	})
	seen := make(map[string]string)
	for path, item := range doc["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			at, o := method+" "+path, op.(map[string]any)
			id, _ := o["operationId"].(string)
			if id == "" || seen[id] != "" {
				t.Errorf("%s has the id %q, as has %q", at, id, seen[id])
			}
			seen[id] = at
			tags, _ := o["tags"].([]any)
			responses, _ := o["responses"].(map[string]any)
			if o["summary"] == nil || len(tags) == 0 || o["security"] == nil {
				t.Errorf("%s has no summary, no tag or no security", at)
			}
			checkResponses(t, at, responses, strings.Contains(path, "{"), o["requestBody"] != nil)
			for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
				if js, _ := json.Marshal(o["parameters"]); !strings.Contains(string(js), `"in":"path","name":"`+m[1]) && !strings.Contains(string(js), `"name":"`+m[1]+`"`) {
					t.Errorf("%s does not describe {%s}", at, m[1])
				}
			}
		}
	}
	for _, path := range strings.Fields("/api/thinking/ /api/thinking/start /api/thinking/{id} /api/thinking/{id}/stream /api/thinking/{id}/questions /api/thinking/{id}/syntheses " +
		"/api/thinking/{id}/stats /api/thinking/{id}/export /api/thinking/{id}/pause /api/thinking/{id}/resume /api/thinking/{id}/cancel /api/thinking/{id}/steer /api/thinking/{id}/fork " +
		"/api/completions /api/threads /api/threads/{id}/messages /api/threads/{id}/events /api/approvals /api/threads/{id}/approvals /api/threads/{id}/approvals/{approval_id} /api/mind /api/mind/tick /api/mind/events /api/memory /api/memory/search /api/usage") {
		if doc["paths"].(map[string]any)[path] == nil {
			t.Errorf("%s is not described", path)
		}
	}
}

func checkResponses(t *testing.T, at string, responses map[string]any, named, body bool) {
	t.Helper()
	good, problems := 0, 0
	for code, r := range responses {
		content, _ := r.(map[string]any)["content"].(map[string]any)
		switch {
		case code < "400" && code != "204" && code != "304":
			good++
			for kind, media := range content {
				if media.(map[string]any)["schema"] == nil {
					t.Errorf("%s: %s of %s has no schema", at, kind, code)
				}
			}
			if len(content) == 0 {
				t.Errorf("%s: %s has no content", at, code)
			}
		case code >= "400" && content["application/problem+json"] != nil:
			problems++
		}
	}
	if good == 0 || problems < 4 {
		t.Errorf("%s describes %d answers and %d problems", at, good, problems)
	}
	if named && responses["404"] == nil {
		t.Errorf("%s does not say that a thing may not be there", at)
	}
	if body && responses["422"] == nil {
		t.Errorf("%s does not say that a body may be wrong", at)
	}
}

// The page has all operations, no scripts and no external resources.
func TestDocs(t *testing.T) {
	d := newAPI(t, nil)
	r := newRequest("/docs", "")
	r.Method = "GET"
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	page, policy := w.Body.String(), w.Header().Get("Content-Security-Policy")
	sum := sha256.Sum256([]byte(docsStyle))
	if w.Code != 200 || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, base64.StdEncoding.EncodeToString(sum[:])) || strings.Contains(policy, "unsafe") {
		t.Errorf("%d, policy %s", w.Code, policy)
	}
	for _, bad := range []string{"<script", "<link", "<img", "<iframe", "javascript:", " onclick", " style=", "@import", "url("} {
		if strings.Contains(strings.ToLower(page), bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "#") && !strings.HasPrefix(m[1], "/") {
			t.Errorf("the page leads to %s", m[1])
		}
	}
	if !regexp.MustCompile(`<h1>Ponder [^<]*</h1>\n<p>`).MatchString(page) || regexp.MustCompile("&lt;/?[a-z]|default 0x|`|\\]\\(").MatchString(page) || !strings.Contains(page, `<a href="#stream-session">stream</a>`) {
		t.Error("what is markup is shown as text")
	}
	_, js := d.sendRequest("mine", "GET", "/openapi.json", "")
	for _, g := range operationsOf(docOf(t, js)) {
		for _, op := range g.Operations {
			if !strings.Contains(page, `<h3 id="`+op.OperationID+`">`) || !strings.Contains(page, `<a href="#`+op.OperationID+`">`) {
				t.Errorf("%s is not on the page", op.OperationID)
			}
		}
	}
	if n := strings.Count(page, "curl -sS"); n < 20 || !strings.Contains(page, "&#34;question&#34;:&#34;Why do large projects run late?&#34;") {
		t.Errorf("%d examples", n)
	}
}

// Markdown of descriptions is rendered, without HTML and unsafe links.
func TestDocsMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"one `two` *three* **four**":            "one <code>two</code> <em>three</em> <strong>four</strong>",
		"[a](#get-session) <https://b.example>": `<a href="#get-session">a</a> <a href="https://b.example">https://b.example</a>`,
		"[a](javascript:alert(1))":              `<a href="">a</a>`,
		"<script>x</script>":                    "&lt;script&gt;x&lt;/script&gt;",
		"<img src=x onerror=y>":                 "&lt;img src=x onerror=y&gt;",
		"a < b & c":                             "a &lt; b &amp; c",
	} {
		if got := string(markdownInline(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := string(markdownBlocks("a\n\n- b\n- c\n")); got != "<p>a</p>\n<ul>\n<li>b</li>\n<li>c</li>\n</ul>\n" {
		t.Errorf("%q", got)
	}
}

// Example bodies are valid.
func TestDocsExamples(t *testing.T) {
	d := newAPI(t, nil)
	_, js := d.sendRequest("mine", "GET", "/openapi.json", "")
	doc := docOf(t, js)
	schemas := docsSchemas{doc.Components.Schemas}
	for _, g := range operationsOf(doc) {
		for _, op := range g.Operations {
			if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
				continue
			}
			body, err := json.Marshal(schemas.exampleValue(op.RequestBody.Content["application/json"].Schema, 0))
			if err != nil {
				t.Fatal(err)
			}
			code, said := d.sendRequest("mine", op.Method, strings.NewReplacer("{id}", "thr_1").Replace(op.Path), string(body))
			if code == 400 || code == 422 {
				t.Errorf("%s %s with %s: %s", op.Method, op.Path, body, said)
			}
		}
	}
}

// A wrong method gets a problem document.
func TestWrongMethod(t *testing.T) {
	d := newAPI(t, nil)
	r := newRequest("/api/thinking/start", "")
	r.Method = "PUT"
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	var doc problemDoc
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || w.Code != 405 || !strings.Contains(w.Header().Get("Allow"), "POST") || doc.Status != 405 {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}
