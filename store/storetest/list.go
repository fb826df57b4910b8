package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ponder"
)

// listIDs returns the ids of the threads that a filter selects, in order.
func listIDs(t *testing.T, s ponder.Store, f ponder.Filter) (ids []ponder.ThreadID) {
	t.Helper()
	for _, info := range must(s.List(t.Context(), f))(t) {
		ids = append(ids, info.ID)
	}
	return ids
}

// checkPages reads lists page by page.
func checkPages(t *testing.T, s ponder.Store) {
	for i := range 20 {
		header := ponder.Thread{ID: ponder.ThreadID(fmt.Sprintf("thr_%02d", i)), Kind: ponder.KindSession, Owner: "ann", Created: day.Add(time.Duration(i/4) * time.Microsecond)}
		if i%5 == 4 {
			header.Owner = "bob"
		}
		if i%3 == 2 {
			header.Kind = ponder.KindResearch
		}
		var events []ponder.Event
		if i%2 == 0 {
			events = []ponder.Event{runEvent(root, "", ponder.RunStarted{Mode: "m"})}
		}
		checkError(t, "create", s.Create(t.Context(), header, events...), nil)
	}
	for _, f := range []ponder.Filter{
		{}, {Owner: "ann"}, {Owner: "ann", Kind: ponder.KindSession}, {Owner: "ann", Status: ponder.Thinking}, {Status: ponder.Created},
		{Owner: "ann", Kind: ponder.KindSession, Status: ponder.Thinking}, {Prefix: "thr_1"}, {Owner: "carl"}, {Owner: "ann", Without: ponder.KindResearch},
	} {
		all := listIDs(t, s, f)
		for limit := 1; limit <= 7; limit += 2 {
			part := f
			part.Limit = limit
			var got []ponder.ThreadID
			for page, n := must(s.List(t.Context(), part))(t), 0; len(page) > 0 && n < 30; n++ {
				for _, info := range page {
					got = append(got, info.ID)
				}
				part.Before = page[len(page)-1].Position()
				page = must(s.List(t.Context(), part))(t)
			}
			checkEqual(t, fmt.Sprintf("%+v in parts of %d", f, limit), got, all)
		}
	}
	between := ponder.Position{Created: day.Add(2 * time.Microsecond), ID: "thr_09x"} // no thread has it
	checkEqual(t, "behind a position", listIDs(t, s, ponder.Filter{Before: between, Limit: 3}), []ponder.ThreadID{"thr_09", "thr_08", "thr_07"})
	checkError(t, "remove", s.Remove(t.Context(), "thr_08"), nil)
	createThread(t, s, "thr_new")
	checkError(t, "create", s.Create(t.Context(), ponder.Thread{ID: "thr_newest", Created: day.Add(time.Hour)}), nil)
	checkEqual(t, "after threads have come and gone", listIDs(t, s, ponder.Filter{Before: between, Limit: 3}), []ponder.ThreadID{"thr_09", "thr_07", "thr_06"})
}

// checkIdle has threads with and without a holder, paused threads and threads without runs.
func checkIdle(t *testing.T, s ponder.Store) {
	started := runEvent(root, "", ponder.RunStarted{Mode: "m"})
	paused := runEvent(root, "", ponder.RunPaused{})
	at := func(id ponder.ThreadID, n int, events ...ponder.Event) {
		t.Helper()
		for i := range events {
			events[i].Time = day.Add(time.Duration(n) * time.Minute)
		}
		header := ponder.Thread{ID: id, Kind: ponder.KindSession, Owner: "ann", Created: day.Add(time.Duration(n) * time.Second)}
		checkError(t, "create", s.Create(t.Context(), header, events...), nil)
	}
	at("thr_left", 1, started)
	at("thr_paused", 2, started, paused)
	at("thr_held", 3, started)
	at("thr_left_too", 4, started)
	at("thr_fresh", 5, started)
	at("thr_none", 6)
	leaseThread(t, s, "thr_held")
	idle := day.Add(5 * time.Minute)
	for _, c := range []struct {
		status ponder.Status
		idle   time.Time
		want   []ponder.ThreadID
	}{
		{ponder.Thinking, time.Time{}, []ponder.ThreadID{"thr_fresh", "thr_left_too", "thr_held", "thr_left"}},
		{ponder.Paused, time.Time{}, []ponder.ThreadID{"thr_paused"}},
		{ponder.Thinking, idle, []ponder.ThreadID{"thr_fresh", "thr_held"}},
		{ponder.Paused, idle, []ponder.ThreadID{"thr_left_too", "thr_paused", "thr_left"}},
		{ponder.Created, idle, []ponder.ThreadID{"thr_none"}},
		{"", idle, []ponder.ThreadID{"thr_none", "thr_fresh", "thr_left_too", "thr_held", "thr_paused", "thr_left"}},
	} {
		for _, f := range []ponder.Filter{{}, {Owner: "ann"}, {Kind: ponder.KindSession, Owner: "ann"}} {
			f.Status, f.Idle = c.status, c.idle
			checkEqual(t, fmt.Sprintf("%+v", f), listIDs(t, s, f), c.want)
			f.Limit = 1
			var got []ponder.ThreadID
			for range c.want {
				page := must(s.List(t.Context(), f))(t)
				if len(page) != 1 {
					break
				}
				got, f.Before = append(got, page[0].ID), page[0].Position()
			}
			checkEqual(t, fmt.Sprintf("%+v, one by one", f), got, c.want)
		}
	}
	if ids := listIDs(t, s, ponder.Filter{Status: ponder.Paused, Idle: idle, Prefix: "thr_left"}); !slices.Equal(ids, []ponder.ThreadID{"thr_left_too", "thr_left"}) {
		t.Errorf("with a prefix: %v", ids)
	}
}
