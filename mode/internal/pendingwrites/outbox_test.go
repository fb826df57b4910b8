package pendingwrites

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

func TestStored(t *testing.T) {
	want := Note{Key: "told-1", Bodies: Bodies{ponder.Progress{Content: "So.", Stage: "note"}, ponder.Evidence{Content: "Q", ID: "e1", Source: "/a", End: 1}}}
	js, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Note
	if err := json.Unmarshal(js, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWithout(t *testing.T) {
	notes := []Note{{Key: "a-1"}, {Key: "b-1"}}
	if IsLastEvent("a-1/1.2") || !IsLastEvent("a-1/2.2") || IsLastEvent("call#1") || IsLastEvent("") {
		t.Error("the wrong causes are those of last events")
	}
	if got := RemoveCompleted(notes, "a-1/2.2"); len(got) != 1 || got[0].Key != "b-1" || len(notes) != 2 {
		t.Errorf("%+v", got)
	}
	if got := RemoveCompleted(notes[:1], "a-1/1.1"); got != nil {
		t.Errorf("%+v", got)
	}
}
