package structured

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

const exactReport = `{"items":[{"kind":"a","item":"One \"day\".","sure":0.8,"rank":3,"refs":["e1","e2"]},
	{"kind":"b","item":"Zwölf","sure":1,"refs":[]}],"votes":[],"settled":true,"note":"\u00e9"}`

func TestExact(t *testing.T) {
	for _, text := range []string{exactReport, `{"items":[]}`, ` { "items" : [ ] } `} {
		var got reportForm
		if !report.readExact(text, reflect.ValueOf(&got).Elem()) {
			t.Errorf("%s: not read", text)
		}
		compareDecoder(t, text, got)
	}
	for _, text := range []string{
		``, `{`, `{}`, `[]`, `{"items":null}`, `{"items":{}}`, `{"items":[]} x`, `{"items":[],}`, `{"items":[1]}`,
		`{"items":[],"items":[]}`, `{"items":[],"Note":"x"}`, `{"items":[],"more":1}`, `{"items":[],"note":1}`,
		`{"items":[{"kind":"a","item":" ","sure":1}]}`, `{"items":[{"kind":"a","item":"b","sure":01}]}`,
		`{"items":[{"kind":"a","item":"b","sure":1,"rank":1.5}]}`, `{"items":[],"settled":yes}`,
	} {
		if report.readExact(text, reflect.ValueOf(new(reportForm)).Elem()) {
			t.Errorf("%s: read", text)
		}
	}
}

func compareDecoder(t *testing.T, text string, got reportForm) {
	var want reportForm
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q: read %+v, decoded %+v, %v", text, got, want, err)
	}
}

func FuzzExact(f *testing.F) {
	f.Add(exactReport)
	f.Add(`{"items":[{"item":"\ud800","kind":"a","sure":-1e3}],"votes":[{"id":"","count":null}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var got reportForm
		if report.readExact(text, reflect.ValueOf(&got).Elem()) {
			compareDecoder(t, text, got)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		if _, ok := report.Read(exactReport); !ok {
			b.Fatal("not read")
		}
	}
}
