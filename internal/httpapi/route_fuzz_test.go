package httpapi

import (
	"net/http"
	"net/url"
	"testing"
)

// Whatever is sent, it is read as huma reads it.
func FuzzRoute(f *testing.F) {
	p := twins()
	for _, s := range []sent{
		{toAll, "text=abc&kind=a&n=3&big=12&yes=true&list=a,b&must=x", nil, "", false},
		{toDefaults, "n=&yes=0&list=,", nil, "", false},
		{toMust, "n=10", nil, `{"name":"a","sub":{"n":1.5,"at":"x"},"many":{"x":{}}}`, false},
		{toMay, "n=1", nil, `null`, false},
		{toPicky, "say=403,detail", nil, `{"name":"","tags":["c"]}`, false},
		{toMemory, "", nil, `[{"text":"a"},{"text":" ","created_at":"yesterday"}]`, false},
		{toStart, "", nil, `{"question":"Why?","duration_minutes":1e400}`, false},
		{toSteer, "wait=1h", nil, `{"wishes":[{"order":"rank","question":"q1","priority":3}]}`, false},
		{toFork, "", nil, `{"at":0,"wishes":[null]}`, false},
		{toMessage, "", nil, `{"content":"\ud800","media":[{"type":"a/b","data":"!!"}]}`, false},
		{toEvents, "after=-1&limit=1e3", nil, "", false},
		{toSearch, "q=%ff&kind=memory,x", nil, "", false},
	} {
		f.Add(uint8(s.route), s.query, "5", "application/json", []byte(s.body))
	}
	f.Fuzz(func(t *testing.T, route uint8, query, header, kind string, body []byte) {
		if _, err := url.ParseRequestURI("/?" + query); err != nil {
			return
		}
		s := sent{route: int(route) % len(p.routes), query: query, body: string(body), header: http.Header{"Content-Type": {kind}}}
		for _, name := range []string{"X-Key", "X-After", "X-Lang", "Last-Event-Id", "Idempotency-Key"} {
			s.header.Set(name, header)
		}
		if diff, ours := p.compare(s); diff != "" {
			t.Errorf("%+v differs: %s", s, diff)
		} else if ours.Status >= http.StatusInternalServerError && s.route != toSay {
			t.Errorf("%+v: %+v", s, ours)
		}
	})
}
