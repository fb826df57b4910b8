package session

import (
	"encoding/json"
	"testing"
	"time"

	"ponder"
	"ponder/mode/internal/lookup"
)

// For any tool results, a session stays storable and gathers only quotes of web pages.
func FuzzWeb(f *testing.F) {
	f.Add(`{"results":[{"url":"https://a.test/","title":"A","snippet":"S.","score":0.5}]}`, `{"hits":[{"source":"x","quote":"ab","start":0,"end":2}]}`)
	f.Add(`{"results":[{"url":"https://a.test/","snippet":"S.","published":"0000-01-01T00:00:00+23:59","cluster":"c","quality":[{"value":-1}]}]}`,
		`{"published":"9999-12-31T23:59:59-23:59","hits":[{"source":"x","quote":"a\u202eb","start":0,"end":5,"score":1e300,"page":-1}]}`)
	f.Add(`{"results":[7,{"url":"http://[::1"}]}`, `[]`)
	f.Fuzz(func(t *testing.T, results, page string) {
		var d *driver
		d = newDriver(t, "What?", Options{Web: true, Parallel: 2, WithoutModel: len(results)%2 == 0}, 20*time.Second, func(a ponder.Action) ponder.Body {
			mustEncode(t, d.state)
			do, ok := a.(ponder.Do)
			switch {
			case !ok:
				return defaultAnswer(a)
			case do.Tool == WebFetchTool:
				return ponder.ToolResult{Result: page}
			}
			return ponder.ToolResult{Result: results}
		})
		d.quick = true
		d.runToEnd()
		checkCites(t, d)
		for _, b := range bodiesOf[ponder.Evidence](d) {
			if lookup.Address(b.Source) == "" || !b.Untrusted || b.End-b.Start != len(b.Content) {
				t.Errorf("evidence %+v", b)
			}
			if _, err := json.Marshal(ponder.Event{Body: b}); err != nil {
				t.Error(err)
			}
		}
	})
}
