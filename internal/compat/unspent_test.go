package compat_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
)

// A late request does not recreate removed work.
func TestKeyOfWhatWasRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: slowAnswer}})
		a := newRequest(r, "ponder/chat", "How deep?")
		a.Standalone, a.Key = true, "k"
		w, err := r.Desk.Begin(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		w.Forget()
		if _, _, err := r.Desk.Result(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		if err := r.Desk.Store.Remove(t.Context(), w.Thread); err != nil {
			t.Fatal(err)
		}
		_, err = r.Desk.Begin(t.Context(), a)
		var told *compat.APIError
		if !errors.As(err, &told) || told.Status != http.StatusConflict {
			t.Errorf("it is done again: %v", err)
		}
	})
}
