package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/internal/racetest"
	"ponder/sensor"
	"ponder/sensor/sensortest"
)

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// A site serves a feed that tests can change.
type site struct {
	*httptest.Server
	body   string
	status int
	asked  int
	sent   int // full responses
}

func newSite(t *testing.T) *site {
	s := &site{status: http.StatusOK}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked++
		etag := `"` + sensor.Hash(s.body) + `"`
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		s.sent++
		w.WriteHeader(s.status)
		fmt.Fprint(w, s.body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) newSensor() sensor.Sensor {
	return New(Options{URL: s.URL + "/feed?token=geheim", Fetch: fetchWith(s.Client()), Every: -1})
}

// rssFeed returns a feed with items from newest down to oldest.
func rssFeed(newest, oldest int) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>`)
	for i := newest; i >= oldest; i-- {
		fmt.Fprintf(&b, `<item><title>Item %d</title><guid>id-%d</guid><link>/posts/%d</link><description>&lt;p&gt;It is &lt;b&gt;number&lt;/b&gt; %d.&lt;/p&gt;</description></item>`, i, i, i, i)
	}
	return b.String() + `</channel></rss>`
}

func checkLook(t *testing.T, s sensor.Sensor, now time.Time, cursor json.RawMessage) ([]ponder.Observation, json.RawMessage) {
	t.Helper()
	seen, next, err := s.Look(t.Context(), now, cursor)
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) > sensor.MaxLook || len(next) > sensor.MaxCursor {
		t.Fatalf("%d observations, a cursor of %d bytes", len(seen), len(next))
	}
	return seen, next
}

func TestItemsAreReportedOnce(t *testing.T) {
	site := newSite(t)
	site.body = rssFeed(10, 1)
	s := site.newSensor()
	seen, cursor := checkLook(t, s, start, nil)
	if len(seen) != 3 || seen[0].Subject != "id-8" || seen[2].Subject != "id-10" {
		t.Fatalf("first look: %+v", seen)
	}
	want := ponder.Observation{Content: "News: Item 10. It is number 10.", Subject: "id-10", State: "new", Source: site.URL + "/posts/10", Untrusted: true}
	if got := seen[2]; got.Content != want.Content || got.Source != want.Source || got.State != want.State || !got.Untrusted {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for range 3 {
		again, next := checkLook(t, s, start, cursor)
		if len(again) != 0 || string(next) != string(cursor) {
			t.Fatalf("nothing is new, and there is %+v", again)
		}
	}
	if site.sent != 1 {
		t.Errorf("the feed was sent %d times", site.sent)
	}
	site.body = rssFeed(12, 3)
	for range 2 { // repeat a look whose result was lost
		seen, next := checkLook(t, s, start, cursor)
		if len(seen) != 2 || seen[0].Subject != "id-11" || seen[1].Subject != "id-12" {
			t.Fatalf("second look: %+v", seen)
		}
		if string(next) == string(cursor) {
			t.Error("the cursor is the same")
		}
	}
	seen, cursor = checkLook(t, site.newSensor(), start, cursor) // another process
	if len(seen) != 2 {
		t.Fatalf("another process: %+v", seen)
	}
	site.body = rssFeed(12, 1)
	if seen, _ = checkLook(t, s, start, cursor); len(seen) != 0 {
		t.Errorf("items that were there before: %+v", seen)
	}
}

func TestManyItems(t *testing.T) {
	racetest.Skip(t, "one goroutine, which parses thousands of items")
	site := newSite(t)
	site.body = rssFeed(1, 1)
	s := site.newSensor()
	_, cursor := checkLook(t, s, start, nil)
	site.body = rssFeed(121, 1)
	next := 2
	for _, want := range []int{50, 50, 20, 0} {
		var seen []ponder.Observation
		seen, cursor = checkLook(t, s, start, cursor)
		if len(seen) != want {
			t.Fatalf("%d observations, want %d", len(seen), want)
		}
		for _, o := range seen {
			if o.Subject != fmt.Sprintf("id-%d", next) {
				t.Fatalf("%s, want id-%d", o.Subject, next)
			}
			next++
		}
	}
	site.body = rssFeed(3000, 1)
	for range 20 {
		_, cursor = checkLook(t, s, start, cursor)
	}
	if seen, _ := checkLook(t, s, start, cursor); len(seen) != 0 || len(cursor) > 20<<10 {
		t.Errorf("%d observations, a cursor of %d bytes", len(seen), len(cursor))
	}
}

func TestEvery(t *testing.T) {
	site := newSite(t)
	site.body = rssFeed(3, 1)
	s := New(Options{URL: site.URL, Fetch: fetchWith(site.Client())})
	_, cursor := checkLook(t, s, start, nil)
	for i := range 12 {
		_, cursor = checkLook(t, s, start.Add(time.Duration(i+1)*5*time.Minute), cursor)
	}
	if site.asked != 5 {
		t.Errorf("the host was asked %d times in an hour, want 5", site.asked)
	}
}

func TestFormats(t *testing.T) {
	for name, body := range map[string]string{
		"atom": `<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry><id>urn:1</id><title type="html">A &amp;lt;b&gt; c</title><link href="https://example.org/1"/><summary>Hello.</summary><updated>2026-01-01T00:00:00Z</updated></entry></feed>`,
		"json": `{"version":"https://jsonfeed.org/version/1.1","title":"News","items":[{"id":"urn:1","title":"A c","content_html":"<p>Hello.</p>","url":"https://example.org/1"}]}`,
		"rdf":  `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>News</title></channel><item><title>A c</title><link>https://example.org/1</link><description>Hello.</description></item></rdf:RDF>`,
	} {
		t.Run(name, func(t *testing.T) {
			site := newSite(t)
			site.body = body
			seen, _ := checkLook(t, site.newSensor(), start, nil)
			if len(seen) != 1 || !strings.HasPrefix(seen[0].Content, "News: A ") || !strings.HasSuffix(seen[0].Content, "Hello.") || seen[0].Source != "https://example.org/1" {
				t.Errorf("%+v", seen)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"not there", "", 404, "not found"},
		{"refused", "", 403, "refuses"},
		{"broken host", "", 500, "status 500"},
		{"a page", "<html><body>hello", 200, "not an RSS, Atom or JSON feed"},
		{"empty", "", 200, "not an RSS, Atom or JSON feed"},
		{"long", strings.Repeat(" ", MaxBytes+1), 200, "larger than 2 MiB"},
		{"deep", `<rss version="2.0"><channel>` + strings.Repeat("<a:b>", 100_000), 200, "deep"},
		{"nothing for an item", `{"version":"https://jsonfeed.org/version/1","items":[null]}`, 200, "damaged"},
		{"cut off", rssFeed(3, 1)[:200], 200, "damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			site := newSite(t)
			site.body, site.status = c.body, c.status
			_, _, err := site.newSensor().Look(t.Context(), start, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	site := newSite(t)
	s := site.newSensor()
	site.Close()
	if _, _, err := s.Look(t.Context(), start, nil); err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("error %v", err)
	}
	cause := errors.New("it is an address of your own network")
	s = New(Options{URL: "http://10.0.0.1/", Fetch: func(context.Context, Request) (*Response, error) { return nil, cause }})
	if _, _, err := s.Look(t.Context(), start, nil); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Look(ctx, start.Add(time.Hour), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestHostileItems(t *testing.T) {
	site := newSite(t)
	site.body = `{"version":"https://jsonfeed.org/version/1","title":"\u001b[2JNews","items":[
		{"id":"` + strings.Repeat("x", 5000) + `","title":"a\u202eb","content_html":"<script>steal()</script><p>Hi</p><!-- hidden --><style>p{}</style>` + strings.Repeat("y", 5000) + `","url":"javascript:alert(1)"},
		{"id":"2","title":"","content_text":""}, {"id":"3","title":"t","url":"https://user:geheim@example.org/"}] }`
	seen, _ := checkLook(t, site.newSensor(), start, nil)
	if len(seen) != 2 {
		t.Fatalf("%+v", seen)
	}
	for _, o := range seen {
		if len(o.Content) > sensor.MaxText || len(o.Subject) > sensor.MaxSubject || strings.ContainsAny(o.Content, "\x1b\u202e") ||
			strings.Contains(o.Content, "steal") || strings.Contains(o.Content, "hidden") || strings.Contains(o.Source, "javascript") || strings.Contains(o.Source, "geheim") {
			t.Errorf("%+v", o)
		}
	}
}

func TestConforms(t *testing.T) {
	site := newSite(t)
	site.body = rssFeed(2, 1)
	sensortest.Run(t, site.newSensor,
		sensortest.Step{Name: "first", Reports: []string{"new id-1", "new id-2"}},
		sensortest.Step{Name: "quiet", Pass: time.Hour, Reports: []string{}},
		sensortest.Step{Name: "one more", Do: func() { site.body = rssFeed(3, 2) }, Reports: []string{"new id-3"}},
		sensortest.Step{Name: "many", Do: func() { site.body = rssFeed(200, 2) }},
		sensortest.Step{Name: "as before", Do: func() { site.body = rssFeed(3, 1) }, Reports: []string{}},
	)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(rssFeed(2, 1)))
	f.Add([]byte(`{"version":"https://jsonfeed.org/version/1","items":[{"id":"1","title":"a"}]}`))
	f.Add([]byte(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><title>a</title></entry></feed>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := parseVersion(t.Context(), body, "https://example.org/feed")
		if err != nil {
			return
		}
		for _, it := range v.items {
			if it.hash == "" || len(it.title) > 200 || len(it.begin) > sensor.MaxText {
				t.Errorf("%+v", it)
			}
		}
	})
}
