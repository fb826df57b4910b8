package ponder

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// filledBodies returns one body of each type, with all of its fields set.
func filledBodies(t *testing.T) (list []Body) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(decoders)) {
		body, err := decoders[name](head{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := reflect.New(reflect.TypeOf(body))
		n := 0
		fillValue(v.Elem(), &n)
		list = append(list, v.Elem().Interface().(Body))
	}
	return append(list, Unknown{Name: "dream", Head: head{Content: "<s>", Reason: "<s>"}, Data: json.RawMessage(`{"x":"<s>"}`)})
}

// An erased event keeps names of models, tools and roles, statuses, and ids of the program:
// no texts. It keeps the fields that the fold needs.
func TestWithoutContent(t *testing.T) {
	stays := strings.Fields("model tool_name mode model_role status finish price error_class next_model do stage sensor kind by trend verdict " +
		"thought_type question_id parent_id evidence_id ref triggered_after from_thread type media_type cancelled escalation_id outcome entries rests_on became entry as group undoes end_reason")
	for _, body := range filledBodies(t) {
		ev := Event{ID: "evt_1", Thread: "thr_1", Seq: 7, Run: "run_1", Cause: "k#1", After: 6, Body: body, Extra: map[string]json.RawMessage{"x": json.RawMessage(`"<s>"`)}}
		gone := ev.WithoutContent()
		if gone.Key() != ev.Key() || gone.Seq != ev.Seq || gone.ID != ev.ID || gone.After != ev.After || !gone.Erased {
			t.Errorf("%s became %+v", body.Type(), gone)
		}
		js, err := gone.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var tree map[string]any
		if err := json.Unmarshal(js, &tree); err != nil {
			t.Fatal(err)
		}
		for _, name := range textFields(tree, "") {
			budget := body.Type() == "budget_spent" && name == "reason"
			limits := body.Type() == "steer" && name == "n"
			if !slices.Contains(stays, name) && !budget && !limits {
				t.Errorf("%s: %s stays: %s", body.Type(), name, js)
			}
		}
		var read Event
		if err := json.Unmarshal(js, &read); err != nil || !reflect.DeepEqual(read, gone) {
			t.Errorf("%s is read as %+v (%v), not %+v", js, read, err, gone)
		}
		if twice, err := read.WithoutContent().MarshalJSON(); err != nil || string(twice) != string(js) {
			t.Errorf("erased twice: %s (%v), not %s", twice, err, js)
		}
	}
}

// textFields returns the names of the fields with a text that fill has set.
func textFields(v any, name string) (names []string) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			names = append(names, textFields(value, key)...)
		}
	case []any:
		for _, value := range v {
			names = append(names, textFields(value, name)...)
		}
	case string:
		if strings.Contains(v, "<s>") || strings.Contains(v, "<&>") {
			names = append(names, name)
		}
	}
	return names
}

// Fields of another program keep their bytes, under any name.
func TestExtra(t *testing.T) {
	ev := Event{ID: "evt_1", Body: AttachmentAdded{Name: "a.txt"}, Extra: map[string]json.RawMessage{
		"ts": json.RawMessage(`"2026-01-01T00:00:00Z"`), "": json.RawMessage(`1.50`), `a"b`: json.RawMessage(`{"<":null}`), "media_type": json.RawMessage(`[]`),
	}}
	js, err := ev.MarshalJSON()
	want := `{"event_id":"evt_1","type":"attachment_added","role":"user","data":{"name":"a.txt","":1.50,"a\"b":{"<":null},"media_type":[],"ts":"2026-01-01T00:00:00Z","foreign":["","a\"b","media_type","ts"]}}`
	if err != nil || string(js) != want {
		t.Errorf("written (%v): %s", err, js)
	}
	var got Event
	if err := json.Unmarshal(js, &got); err != nil || !reflect.DeepEqual(got, ev) {
		t.Errorf("read (%v): %+v", err, got)
	}
	for name, bad := range map[string]Event{
		"the list itself": {Body: UserMessage{}, Extra: map[string]json.RawMessage{"foreign": nil}},
		"no object":       {Body: Unknown{Name: "dream", Data: json.RawMessage(`3`)}, Extra: map[string]json.RawMessage{"a": nil}},
		"no JSON":         {Body: UserMessage{}, Extra: map[string]json.RawMessage{"a": json.RawMessage(`{`)}},
	} {
		if js, err := bad.MarshalJSON(); err == nil {
			t.Errorf("%s: written as %s", name, js)
		}
	}
}
