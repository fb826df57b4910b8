package responses

import (
	"context"
	"testing"
	"testing/synctest"

	"ponder"
	"ponder/internal/compat/protocoltest"
)

func splitNotes(t *testing.T, r *protocoltest.Rig, id ponder.ThreadID) (messages, notes []ponder.Seq) {
	t.Helper()
	for ev, err := range r.Store.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			messages = append(messages, ev.Seq)
		case ponder.Observation:
			if b.Sensor == recordSensor {
				notes = append(notes, ev.Seq)
			}
		}
	}
	return messages, notes
}

// The note follows its message in the log, once for all retries.
func TestNoteWithMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ways[0].newRig(t)
		for range 2 {
			req := newPost(ways[0].body + `,"metadata":{"a":"b"}`)
			req.Header.Set("Idempotency-Key", "once")
			w := r.Do(req)
			res := decodeResponse(t, w.Code, w.Body)
			if meta, _ := res["metadata"].(map[string]any); meta["a"] != "b" {
				t.Errorf("metadata: %v", res["metadata"])
			}
			w = r.Get("/v1/responses/" + res["id"].(string))
			if meta, _ := decodeResponse(t, w.Code, w.Body)["metadata"].(map[string]any); meta["a"] != "b" {
				t.Errorf("metadata of a polled response: %v", meta)
			}
		}
		messages, notes := splitNotes(t, r, r.Threads(protocoltest.Owner)[0].ID)
		if len(messages) != 1 || len(notes) != 1 || notes[0] != messages[0]+1 {
			t.Errorf("messages at %d, notes at %d", messages, notes)
		}
	})
}

// A message without a note gets a separate one.
func TestNoteAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ways[0].newRig(t)
		w := r.Do(newPost(ways[0].body))
		id := decodeResponse(t, w.Code, w.Body)["id"].(string)
		a := &api{desk: r.Desk}
		j, err := a.findJob(t.Context(), protocoltest.Owner, id)
		if err != nil {
			t.Fatal(err)
		}
		j.record.Metadata, j.work.Noted = map[string]string{"c": "d"}, false
		if err := a.storeRecord(context.Background(), j); err != nil {
			t.Fatal(err)
		}
		w = r.Get("/v1/responses/" + id)
		if meta, _ := decodeResponse(t, w.Code, w.Body)["metadata"].(map[string]any); meta["c"] != "d" {
			t.Errorf("metadata: %v", meta)
		}
	})
}
