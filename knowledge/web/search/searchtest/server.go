package searchtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Server is safe for concurrent use.
type Server struct {
	opts  Options
	pages []Page

	mu       sync.Mutex
	requests []Request
	count    map[string]int
}

func New(pages []Page, opts Options) *Server {
	return &Server{opts: opts, pages: slices.Clone(pages), count: map[string]int{}}
}

// Requests returns all search requests in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// searchRequest is a request in common form.
type searchRequest struct {
	api, query, base string
	n                int
	from, to         time.Time
	include, exclude []string
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, "/pages/"); ok {
		s.servePage(w, name)
		return
	}
	api, path := routeRequest(r)
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if api == "" || err != nil {
		http.NotFound(w, r)
		return
	}
	a := parseRequest(api, r.URL.Query(), body)
	a.base = "http://" + r.Host
	key := requestKey(api, r.Header)
	fault := s.recordRequest(Request{API: api, Method: r.Method, Path: path, Query: a.query, Key: key, Body: string(body) + r.URL.RawQuery, At: time.Now()})
	want, named := s.opts.Keys[api]
	switch {
	case fault != None:
		s.writeFault(w, r, a, fault, key)
	case api != SearXNG && (key == "" || named && key != want):
		writeRefusal(w, api, 401, "")
	case a.query == "":
		writeRefusal(w, api, 400, "")
	case api == SearXNG && r.URL.Query().Get("format") != "json":
		http.Error(w, "Forbidden", 403)
	default:
		writeJSON(w, shapeAnswer(a, s.findPages(a)))
	}
}

func routeRequest(r *http.Request) (api, path string) {
	path = r.URL.Path
	for _, name := range []string{Exa, Brave, Tavily, SearXNG} {
		if rest, ok := strings.CutPrefix(path, "/"+name+"/"); ok {
			api, path = name, "/"+rest
			break
		}
	}
	switch {
	case path == "/res/v1/web/search" && r.Method == http.MethodGet && (api == "" || api == Brave):
		return Brave, path
	case path != "/search":
		return "", path
	case api == "" && r.Method == http.MethodGet:
		return SearXNG, path
	case api == "" && r.Header.Get("X-Api-Key") != "":
		return Exa, path
	case api == "":
		return Tavily, path
	case (r.Method == http.MethodGet) != (api == SearXNG) || api == Brave:
		return "", path
	}
	return api, path
}

func requestKey(api string, h http.Header) string {
	switch api {
	case Exa:
		return h.Get("X-Api-Key")
	case Brave:
		return h.Get("X-Subscription-Token")
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

// recordRequest records a request and returns its fault.
func (s *Server) recordRequest(r Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.count[r.API]
	s.count[r.API]++
	s.requests = append(s.requests, r)
	if list := s.opts.Faults[r.API]; n < len(list) {
		return list[n]
	}
	if _, rest, ok := strings.Cut(r.Query, "fault:"); ok {
		name, _, _ := strings.Cut(rest, " ")
		return Fault(name)
	}
	return None
}

// parseRequest ignores invalid parts.
func parseRequest(api string, v url.Values, body []byte) searchRequest {
	a := searchRequest{api: api, query: v.Get("q"), n: 10}
	switch api {
	case Exa, Tavily:
		var b struct {
			Query              string
			NumResults         int
			MaxResults         int `json:"max_results"`
			StartPublishedDate time.Time
			EndPublishedDate   time.Time
			IncludeDomains     []string
			ExcludeDomains     []string
			With               []string `json:"include_domains"`
			Without            []string `json:"exclude_domains"`
			Start              string   `json:"start_date"`
			End                string   `json:"end_date"`
		}
		_ = json.Unmarshal(body, &b) // as servers do
		a.query, a.n = b.Query, max(b.NumResults, b.MaxResults)
		a.from, a.to = b.StartPublishedDate, b.EndPublishedDate
		a.include, a.exclude = append(b.IncludeDomains, b.With...), append(b.ExcludeDomains, b.Without...)
		if api == Tavily {
			a.from, a.to = parseDay(b.Start), dayAfter(parseDay(b.End))
		}
	case Brave:
		a.n, _ = strconv.Atoi(v.Get("count"))
		from, to, _ := strings.Cut(v.Get("freshness"), "to")
		a.from, a.to = parseDay(from), dayAfter(parseDay(to))
		a.extractOperators()
	case SearXNG:
		a.extractOperators()
	}
	if a.n <= 0 {
		a.n = 10
	}
	return a
}

// extractOperators moves hosts out of the query.
func (a *searchRequest) extractOperators() {
	var keep []string
	for _, w := range strings.Fields(a.query) {
		switch {
		case strings.HasPrefix(w, "site:"):
			a.include = append(a.include, w[5:])
		case strings.HasPrefix(w, "-site:"):
			a.exclude = append(a.exclude, w[6:])
		case w != "OR":
			keep = append(keep, w)
		}
	}
	a.query = strings.Join(keep, " ")
}

func parseDay(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

func dayAfter(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.AddDate(0, 0, 1)
}

func (s *Server) servePage(w http.ResponseWriter, name string) {
	for _, p := range s.pages {
		if p.Name == name && p.Name != "" {
			body, kind := p.Raw, p.Type
			if body == nil {
				body, kind = []byte(p.Text), "text/plain; charset=utf-8"
			}
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write(body)
			return
		}
	}
	http.Error(w, "no such page", http.StatusNotFound)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
