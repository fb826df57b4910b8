package transcript_test

import (
	"strings"
	"testing"
)

// TestThinkingIsInternal checks that unmarked thoughts become internal and stay complete.
func TestThinkingIsInternal(t *testing.T) {
	const foreign = `{"thread_id":"old1","kind":"conversation"}` + "\n"
	const ours = `{"thread_id":"thr_1","kind":"conversation","created_at":"2026-01-01T00:00:00Z"}` + "\n"
	for _, c := range []struct{ name, file string }{
		{"names", foreign + `{"event_id":"e1","type":"tool_call","tool_name":"think","tool_args":{"thought":"SECRET"}}
{"event_id":"e2","type":"tool_result","tool_name":"think","tool_result":"SECRET"}
{"event_id":"e3","type":"tool_call","tool_name":"deep_think","tool_args":{"prompt":"SECRET","reason":"SECRET"},"reason":"SECRET"}
{"event_id":"e4","type":"tool_result","tool_name":"deep_think","tool_result":{"status":"SECRET"}}
{"event_id":"e5","type":"tool_call","tool_name":"web","tool_args":{"q":"PLAIN"}}
{"event_id":"e6","type":"tool_result","tool_name":"web","tool_result":"PLAIN"}
`},
		{"notes", foreign + `{"event_id":"e1","type":"system_note","content":"[deep_think] SECRET","reason":"SECRET"}
{"event_id":"e2","type":"system_note","content":"SECRET","tool_name":"deep_think"}
{"event_id":"e3","type":"inner_monologue","content":"SECRET","internal":false}
{"event_id":"e4","type":"thought","content":"SECRET","thought_type":"think"}
{"event_id":"e5","type":"progress","content":"SECRET","stage":"deep_think"}
{"event_id":"e6","type":"system_note","content":"PLAIN","reason":"PLAIN"}
{"event_id":"e7","type":"thought","content":"PLAIN","thought_type":"insight"}
`},
		{"linked by id", foreign + `{"event_id":"e1","type":"tool_call","tool_name":"web","tool_call_id":"a"}
{"event_id":"e2","type":"tool_call","tool_name":"think","tool_call_id":"b","tool_args":{"thought":"SECRET"}}
{"event_id":"e3","type":"tool_result","tool_call_id":"b","tool_result":"SECRET"}
{"event_id":"e4","type":"tool_result","tool_call_id":"a","tool_result":"PLAIN"}
`},
		{"linked by order", foreign + `{"event_id":"e1","type":"tool_call","tool_name":"web"}
{"event_id":"e2","type":"tool_call","tool_name":"think","tool_args":{"thought":"SECRET"}}
{"event_id":"e3","type":"tool_result","tool_result":"PLAIN"}
{"event_id":"e4","type":"tool_result","tool_result":"SECRET"}
`},
		{"a result too few", foreign + `{"event_id":"e1","type":"tool_call","tool_name":"think","tool_args":{"thought":"SECRET"}}
{"event_id":"e2","type":"tool_call","tool_name":"web","tool_args":"PLAIN"}
{"event_id":"e3","type":"tool_result","tool_result":"SECRET"}
`},
		{"ours", ours + `{"event_id":"e1","thread_id":"thr_1","seq":1,"ts":"2026-01-01T00:00:00.000000Z","type":"thought","content":"SECRET","data":{"sequence_number":0,"thought_type":"think","confidence":0,"time_offset_seconds":0}}
{"event_id":"e2","thread_id":"thr_1","seq":2,"ts":"2026-01-01T00:00:00.000000Z","type":"progress","role":"system","content":"SECRET","data":{"stage":"deep_think","label":"SECRET"}}
{"event_id":"e3","thread_id":"thr_1","seq":3,"ts":"2026-01-01T00:00:00.000000Z","type":"tool_call","tool_name":"think","tool_args":{"thought":"SECRET"}}
{"event_id":"e4","thread_id":"thr_1","seq":4,"ts":"2026-01-01T00:00:00.000000Z","type":"inner_monologue","content":"SECRET","data":7}
{"event_id":"e5","thread_id":"thr_1","seq":5,"ts":"2026-01-01T00:00:00.000000Z","type":"progress","role":"system","content":"PLAIN","data":{"stage":"search"}}
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			thread, events := roundTripStore(t, readFile(t, c.file))
			shown, all := writeFile(t, thread, events, false), writeFile(t, thread, events, true)
			if strings.Contains(shown, "SECRET") || strings.Count(shown, "PLAIN") != strings.Count(c.file, "PLAIN") {
				t.Errorf("shown:\n%s", shown)
			}
			checkComplete(t, c.file, all)
			if again := readFile(t, all); writeFile(t, again.Thread, again.Events, true) != all {
				t.Errorf("imported again, it is another:\n%s", all)
			}
		})
	}
}
