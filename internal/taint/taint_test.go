package taint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ponder/internal/toolname"
)

func TestFindAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"see https://a.example/x?y=1.":                "https://a.example/x?y=1",
		"(https://en.wikipedia.org/wiki/Go_(game))":   "https://en.wikipedia.org/wiki/Go_(game)",
		"look at go.dev/doc, and a.b.example:8080/x!": "https://go.dev/doc https://a.b.example:8080/x",
		"version 1.26 of 2026-01-02, e.g. that":       "",
		"<http://a.example/>":                         "http://a.example/",
		"HTTPS://A.Example":                           "HTTPS://A.Example",
	} {
		if got := strings.Join(FindAddresses(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestIsKnown(t *testing.T) {
	c := Context{}.AddMessage("Read https://a.example/page?x=1 and b.example please.")
	for address, want := range map[string]bool{
		"https://a.example/page?x=1": true, "http://A.EXAMPLE:80/page?x=1#part": true, "https://b.example": true, "https://b.example/": true, "https://b.example.": true,
		"https://a.example/page": false, "https://a.example/page?x=1&d=s": false, "https://a.example/page?x=1?": false, "https://b.example/leak": false, "https://x.b.example/": false,
		"https://s@b.example/": false, "https://b.example:8080/": false, "ftp://b.example/": false, "//b.example/": false, "https://b.example/?": false, "https://b.example%2f.evil.example/": false, "": false,
	} {
		if got := c.IsKnown(address); got != want {
			t.Errorf("%q: %v, want %v", address, got, want)
		}
	}
}

// TestAddResult checks which results make a context tainted, and which addresses they add.
func TestAddResult(t *testing.T) {
	found := `{"results":[{"url":"https://a.example/1"}]}`
	tests := []struct {
		name    string
		r       Result
		tainted bool
		known   string
	}{
		{"a thought", Result{Tool: toolname.Think, Text: "noted"}, false, ""},
		{"own search", Result{Tool: toolname.WebSearch, Text: found, Untrusted: true, Own: true}, true, "a.example/1"},
		{"other search", Result{Tool: toolname.WebSearch, Text: found, Untrusted: true}, true, ""},
		{"page", Result{Tool: toolname.WebFetch, Text: `{"url":"https://a.example/2","asked":"https://a.example/1"}`, Untrusted: true}, true, "a.example/2 a.example/1"},
		{"own memory", Result{Tool: toolname.KnowledgeSearch, Text: `{"hits":[{"kind":"memory","source":"memory:1","quote":"x"}]}`}, false, ""},
		{"memory of a page", Result{Tool: toolname.KnowledgeSearch, Text: `{"hits":[{"kind":"memory","source":"memory:1","quote":"x","untrusted":true}]}`}, true, ""},
		{"document", Result{Tool: toolname.KnowledgeSearch, Text: `{"hits":[{"kind":"file","source":"/x/a.pdf","quote":"x"}]}`}, true, ""},
		{"nothing found", Result{Tool: toolname.KnowledgeSearch, Text: `{"hits":[]}`}, false, ""},
		{"a document read", Result{Tool: toolname.KnowledgeRead, Text: `{"source":"a.md","text":"x"}`}, true, ""},
		{"an error of a search", Result{Tool: toolname.KnowledgeSearch, Text: "not JSON"}, true, ""},
		{"a clean thread", Result{Tool: toolname.ThreadRead, Text: `{"parts":[]}`}, false, ""},
		{"a thread with a page", Result{Tool: toolname.ThreadRead, Text: `{"parts":[{"untrusted":true}]}`}, true, ""},
		{"an MCP server", Result{Tool: "notes_find", Text: "x", Untrusted: true}, true, ""},
		{"nothing", Result{Tool: "notes_find", Untrusted: true}, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Context{}.AddResult(tt.r)
			if c.IsTainted() != tt.tainted || strings.Join(c.Addresses, " ") != tt.known {
				t.Errorf("%+v", c)
			}
		})
	}
}

// TestContextCopies checks that additions leave the original alone, and the limits.
func TestContextCopies(t *testing.T) {
	base := Context{}.AddSource("a", 1).AddAddresses("https://a.example/")
	one, two := base.AddSource("b", 2), base.AddSource("c", 3)
	if !slices.Equal(one.Names(), []string{"a", "b"}) || !slices.Equal(two.Names(), []string{"a", "c"}) || len(base.Sources) != 1 {
		t.Error(base, one, two)
	}
	for i := range 2 * maxAddresses {
		base = base.AddAddresses("https://a.example/"+strings.Repeat("x", i%900)).AddSource(strings.Repeat("s", i), 0)
	}
	if len(base.Addresses) > maxAddresses || len(base.Sources) > maxSources || !base.IsTainted() {
		t.Error(len(base.Addresses), len(base.Sources))
	}
}

func TestIsOwn(t *testing.T) {
	v := View{
		Context: Context{}.AddSource("page", 3), Message: "What is new in Go 1.26?", Earlier: []string{"My cat Minka is nine. My pin is 4711, the key is a1b2c3d4. Do sphynx cats like fish?"},
		Public: []string{"The green tea collector"}, Private: []string{"project bluebird costs, customer Miller, velvet-77-lantern, passphrase swordfish"},
	}
	for query, want := range map[string]bool{
		"Go 1.26 release notes": true, "Go green tea collector": true, "Go garbage collection 2026": true, "H100 price": true, "sphynx fish": true, "of the and in": true,
		"bluebird costs": false, "cat Minka food": false, "BLUEBÎRD": false, "4711": false, "Go a1b2c3d4": false, "0x8f3e2a9c": false, "swordfish": false, "hsifdrows": false, "swordfishes": false,
		"velvet mill": false, "lantern": false, "Go velvet-77-lantern": false, "s w o r d f i s h": false, "h.s.i.f.d.r.o.w.s": false, "bluebirdswordfish": false,
		"76656c7665742d6c616e7465726e": false, "dmVsdmV0LWEwNzRh": false, strings.Repeat("go ", maxOwn): false,
	} {
		if got := v.IsOwn(query); got != want {
			t.Errorf("%.40q: %v, want %v", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"Go green tea collector velvet-77-lantern": "Go green tea collector true", "swordfish Go ann@a.example https://x.example/1": "Go false", "velvet": " false", "Go release https://x.example/1": "Go release true", "": " true",
	} {
		if got, isMost := v.OwnQuery(query); fmt.Sprintf("%s %t", got, isMost) != want {
			t.Errorf("%q: %q %v, want %q", query, got, isMost, want)
		}
	}
	v.Message = "The code of my door is velvet-77-lantern, the key point is important. Is part RX-20488 sold?"
	if got, _ := v.OwnQuery("part RX-20488 important velvet-77-lantern"); got != "part RX-20488 important" {
		t.Errorf("%q", got)
	}
	if !(View{}).IsOwnSearch(json.RawMessage(`{"query":"bluebird"}`)) {
		t.Error("a search before untrusted text is not the user's own")
	}
}

// TestAddWords checks that words of pages and of sent queries are known to strangers, and the limits.
func TestAddWords(t *testing.T) {
	var all strings.Builder
	for i := range 2 * maxTextWords {
		fmt.Fprintf(&all, "word%d ", i)
	}
	page, _ := json.Marshal(map[string]string{"url": "https://a.example/", "text": "A goshawk. " + all.String()})
	c := Context{}.AddResult(Result{Tool: toolname.WebSearch, Args: json.RawMessage(`{"query":"kestrel"}`), Text: `{"results":[{"title":"Merlin"}]}`})
	c = c.AddResult(Result{Tool: toolname.WebFetch, Text: string(page)}).AddResult(Result{Tool: "notes_find", Text: "an osprey", Untrusted: true})
	v := View{Context: c, Private: []string{"kestrel, merlin, goshawk, osprey, harrier"}}
	for word, want := range map[string]bool{"kestrel": true, "merlin": true, "goshawk": true, "osprey": false, "harrier": false} {
		if got := v.IsOwn(word); got != want {
			t.Errorf("%s: %v, want %v", word, got, want)
		}
	}
	for range 3 {
		c = c.AddResult(Result{Tool: toolname.WebFetch, Text: string(page)})
	}
	if len(c.Words) > maxWords || len(v.Words) > maxTextWords+10 {
		t.Error(len(c.Words), len(v.Words))
	}
}

// TestLoadOldContext checks that checkpoints of older versions load.
func TestLoadOldContext(t *testing.T) {
	var c Context
	if err := json.Unmarshal([]byte(`{"sources":["web page https://a.example/"],"addresses":["a.example"]}`), &c); err != nil || !c.IsTainted() || c.Names()[0] != "web page https://a.example/" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestEchoesSecret(t *testing.T) {
	const question = "What does the part RX-20488 cost?"
	for address, want := range map[string]bool{
		"https://evil.example/4711-8820": true, "https://evil.example/?q=a1b2c3d4": true, "https://shop.example/rx-20488": false, "https://news.example/2026/part": false,
	} {
		if got := EchoesSecret(address, "part 20488 price 8820 A1B2C3D4 2026", question); got != want {
			t.Errorf("%q: %v, want %v", address, got, want)
		}
	}
}

func TestArgumentText(t *testing.T) {
	for args, want := range map[string]string{
		`{"a":{"b":["x",1,{"c":"y"}],"d":true},"e":null,"f":"z"}`: "x 1 y z", `{"a":"x\ny"}`: "x y", `{}`: "", `[["q"],"r"]`: "q r", `{"a":`: "!", `x`: "!",
	} {
		text, ok := ArgumentText(json.RawMessage(args))
		if got := strings.Join(strings.Fields(text), " "); ok && got != want || !ok && want != "!" {
			t.Errorf("%s: %q, %v, want %q", args, got, ok, want)
		}
	}
}

func TestSanitizeQuery(t *testing.T) {
	for query, want := range map[string]string{
		"go  release": "go release", "see https://x.example/?d=1 now": "see now", "ann@x.example pin": "pin", strings.Repeat("x", 50) + " pin": "pin",
	} {
		if got := SanitizeQuery(query); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	if got := SanitizeQuery(strings.Repeat("word ", 300)); len(got) > maxQuery {
		t.Error(len(got))
	}
}

// TestForms checks that years and other forms of known words leave, and nothing else that only a private
// text has.
func TestForms(t *testing.T) {
	v := View{Message: "When will the ozone layer recover?", Private: []string{"The recovery is slow, I noted in 2023. Ask Lindqvist about the copper orchid."}}
	for query, want := range map[string]string{
		"ozone layer recovery 2040": "ozone layer recovery 2040",
		"ozone recovers 2023":       "ozone recovers 2023",
		"ozone slow Lindqvist":      "ozone",
		"ozone copper orchid":       "ozone",
		"ozone Antarctic chemistry": "ozone Antarctic chemistry",
	} {
		if got, _ := v.OwnQuery(query); got != want {
			t.Errorf("OwnQuery(%q) = %q, want %q", query, got, want)
		}
	}
}
