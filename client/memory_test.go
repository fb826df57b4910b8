package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
)

// A stored memory appears in searches and lists, and can be erased.
func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := serveSessions(t, ""), t.Context()
		var ids []string
		for i := range 70 { // more than a page
			m, err := d.Remember(ctx, Memory{Kind: "memory", Text: fmt.Sprintf("The key %d is under the mat", i), Source: "a note"})
			if err != nil || m.ID == "" || m.Source != "a note" || m.Created.IsZero() {
				t.Fatalf("%+v, %v", m, err)
			}
			ids = append(ids, m.ID)
		}
		slices.Reverse(ids)
		var listed []string
		for m, err := range d.Memories(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			listed = append(listed, m.ID)
		}
		if !slices.Equal(listed, ids) {
			t.Errorf("listed %v, want %v", listed, ids)
		}
		hits, err := d.Search(ctx, "key 42", 0)
		if err != nil || len(hits) != 1 || hits[0].Quote != "The key 42 is under the mat" || hits[0].Score == 0 || hits[0].ID == "" {
			t.Fatalf("%+v, %v", hits, err)
		}
		if many, err := d.Search(ctx, "mat & key?", 3); err != nil || len(many) != 0 {
			t.Errorf("%+v, %v", many, err)
		}
		if many, err := d.Search(ctx, "mat", 3); err != nil || len(many) != 3 {
			t.Errorf("%d of 3 hits, %v", len(many), err)
		}
		if err := d.Forget(ctx, hits[0].ID); err != nil {
			t.Error(err)
		}
		if err := d.Forget(ctx, hits[0].ID); !errors.Is(err, &Problem{Status: 404}) {
			t.Errorf("forgotten again: %v", err)
		}
		if hits, err := d.Search(ctx, "key 42", 0); err != nil || len(hits) != 0 {
			t.Errorf("after it was forgotten: %+v, %v", hits, err)
		}
		if _, err := d.Remember(ctx, Memory{}); !errors.Is(err, &Problem{Status: 422}) {
			t.Errorf("nothing to remember: %v", err)
		}
	})
}

// A tick of the subconscious reports its result and sends events.
func TestMind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := serveSessions(t, ""), t.Context()
		for range d.MindEvents(ctx, 0) {
			break // it has no thread yet
		}
		for n := 1; n <= 2; n++ {
			js, err := d.Tick(ctx)
			var report struct {
				Ran          bool `json:"ran"`
				Observations int  `json:"observations"`
			}
			if err != nil || json.Unmarshal(js, &report) != nil || !report.Ran || report.Observations != n {
				t.Fatalf("tick %d: %s, %v", n, js, err)
			}
		}
		js, err := d.Mind(ctx)
		if err != nil || string(js) != `{"ticks":2}` {
			t.Errorf("%s, %v", js, err)
		}
		var got []string
		for u, err := range d.MindEvents(ctx, 1) {
			if err != nil {
				t.Fatal(err)
			}
			if u.Event == nil {
				continue
			}
			got = append(got, u.Event.Body.(ponder.Observation).Content)
			break // the stream has no end
		}
		if !slices.Equal(got, []string{"look 2"}) {
			t.Errorf("%q", got)
		}
	})
}

// Usage sums the cost of models by key, since a time.
func TestUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := serveSessions(t, "It is salt."), t.Context()
		c, err := d.Open(ctx, "", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"What is the sea?", "And the lakes?"} {
			if _, err := d.Say(ctx, string(c.ID), Message{Content: text}, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := d.Usage(ctx, ponder.ByModel, time.Time{})
		if err != nil || len(rows) != 1 || rows[0].Key != "sim/slow" || rows[0].Calls < 2 || rows[0].Total == 0 || rows[0].Total != rows[0].Input+rows[0].Output || rows[0].USD <= 0 {
			t.Fatalf("%+v, %v", rows, err)
		}
		time.Sleep(time.Hour)
		if rows, err := d.Usage(ctx, ponder.ByThread, time.Now().Add(-time.Minute)); err != nil || len(rows) != 0 {
			t.Errorf("since then: %+v, %v", rows, err)
		}
		if _, err := d.Usage(ctx, "colour", time.Time{}); !errors.Is(err, &Problem{Status: 422}) {
			t.Errorf("an unknown key: %v", err)
		}
	})
}
