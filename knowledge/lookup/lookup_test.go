package lookup

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

func TestEncode(t *testing.T) {
	day := time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC)
	good := []ponder.Signal{{Name: "author", Value: 1, Description: "Anna"}}
	known := Known{Kind: "page", Untrusted: true, Author: "Anna", Published: day, Cluster: "c1", Voices: 2, Quality: good}
	for _, tt := range []struct {
		name  string
		value any
		want  string
	}{
		{"nothing", Found{Hits: []Hit{}, Skipped: []SkippedFile{}}, `{"hits":[],"skipped":[],"documents":0,"sentences":0}`},
		{"hits", Found{
			Hits: []Hit{{
				ID: "a:1-4", Kind: "document", Source: "/a.md", Title: "A", Section: "S", Page: 2, Quote: "So.", Start: 1, End: 4, Hash: "11ee", Score: 0.5,
				Terms: []string{"so"}, Topics: []string{}, Context: "It is.", Item: "mem_1", URL: "https://a.test/", Author: "Anna", Speaker: "Ben", Published: day,
				Tags: []string{"x"}, Original: "22ff", Similar: 3, Untrusted: true, Quality: good,
			}, {Quote: "So."}},
			Skipped: []SkippedFile{{"/b", "is binary"}}, More: 1, Documents: 2, Sentences: 3, Memory: &Memory{Documents: 4, Confidence: 0.5, Says: "no"}, Failed: []string{"f"}, Notice: "n",
		}, `{"hits":[{"id":"a:1-4","kind":"document","source":"/a.md","title":"A","section":"S","page":2,"quote":"So.","start":1,"end":4,"hash":"11ee","score":0.5,` +
			`"terms":["so"],"topics":[],"context":"It is.","item":"mem_1","url":"https://a.test/","author":"Anna","speaker":"Ben","published":"2024-02-01T00:00:00Z",` +
			`"tags":["x"],"original":"22ff","similar":3,"untrusted":true,"quality":[{"name":"author","value":1,"says":"Anna"}]},` +
			`{"source":"","title":"","quote":"So.","start":0,"end":0,"hash":"","score":0,"terms":null,"topics":null}],` +
			`"skipped":[{"path":"/b","reason":"is binary"}],"skipped_more":1,"documents":2,"sentences":3,"memory":{"documents":4,"confidence":0.5,"says":"no"},"failed":["f"],"notice":"n"}`},
		{"the web", WebFound{
			Untrusted: true, Notice: "n", Results: []WebResult{{URL: "https://a.test/", Title: "A", Snippet: "So.", Score: 0.5, Known: known, Provider: "exa", Original: "22ff"}},
			Next: 5, Failed: []Failure{{"tavily", "no key"}}, Age: 7, Says: "s",
		}, `{"untrusted":true,"notice":"n","results":[{"url":"https://a.test/","title":"A","snippet":"So.","score":0.5,"kind":"page","untrusted":true,"author":"Anna",` +
			`"published":"2024-02-01T00:00:00Z","cluster":"c1","voices":2,"quality":[{"name":"author","value":1,"says":"Anna"}],"provider":"exa","original":"22ff"}],` +
			`"next":5,"failed":[{"provider":"tavily","error":"no key"}],"kept_seconds":7,"says":"s"}`},
		{"a page", Page{
			Notice: "n", URL: "https://a.test/", Asked: "https://b.test/", Title: "A", Site: "S", Known: known, Language: "en", Type: "text/html", Fetched: day, Original: "22ff",
			Bytes: 9, Says: "s", Text: "So.", Start: 1, End: 4, Next: 4, Cut: true,
		}, `{"notice":"n","url":"https://a.test/","asked":"https://b.test/","title":"A","site":"S","kind":"page","untrusted":true,"author":"Anna","published":"2024-02-01T00:00:00Z",` +
			`"cluster":"c1","voices":2,"quality":[{"name":"author","value":1,"says":"Anna"}],"language":"en","type":"text/html","fetched":"2024-02-01T00:00:00Z","original":"22ff",` +
			`"bytes":9,"says":"s","text":"So.","start":1,"end":4,"next":4,"truncated":true}`},
		{"what is remembered", PersonaMemory{
			Context: "c", Truncated: true, Says: "s",
			Sources: []RecalledItem{{ID: "mem_1", Place: "p1", Kind: "post", Memory: "m", Relevance: 0.5, Metadata: Metadata{Source: "twitter", ExternalID: "7", Link: "https://t.test/7", Author: "Me", Date: day, Tags: []string{"x"}}}},
		}, `{"context":"c","truncated":true,"sources":[{"id":"mem_1","place":"p1","kind":"post","memory":"m","relevanceScore":0.5,"metadata":{"source":"twitter","external_id":"7",` +
			`"link":"https://t.test/7","author":"Me","date":"2024-02-01T00:00:00Z","tags":["x"]}}],"says":"s"}`},
	} {
		js, err := json.Marshal(tt.value)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, string(js)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

func TestDecode(t *testing.T) {
	var f Found
	ok := Decode(`{"hits":[7,{"id":"a","source":"/a","quote":"So.","end":3},{"id":7}],"skipped":"none","skipped_more":"many","documents":"x","notice":"n"}`, &f)
	if !ok || len(f.Hits) != 1 || f.Hits[0].Key() != "a" || !f.Hits[0].Sound() || f.Skipped != nil || f.More != 0 || f.Notice != "n" {
		t.Errorf("%v, %+v", ok, f)
	}
	for _, js := range []string{"", "{", `{"hits":[}`} {
		if f := (Found{}); Decode(js, &f) || f.Hits != nil {
			t.Errorf("%q: %+v", js, f)
		}
	}
	var p Page
	if !Decode(`{"hits":7,"title":"A"}`, &p) || p.Title != "A" {
		t.Errorf("%+v", p)
	}
}
