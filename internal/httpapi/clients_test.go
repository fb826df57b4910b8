package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/racetest"
)

// Random clients get valid answers and leave no goroutines.
func TestRandomClients(t *testing.T) {
	long := 2 * time.Minute / time.Duration(racetest.Stride(3))
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		var mu sync.Mutex
		var ids []string
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				r := rand.New(rand.NewPCG(7, uint64(n)))
				for end := time.Now().Add(long); time.Now().Before(end); {
					time.Sleep(time.Duration(r.IntN(5000)) * time.Millisecond)
					mu.Lock()
					id := "thr_none"
					if len(ids) > 0 {
						id = ids[r.IntN(len(ids))]
					}
					mu.Unlock()
					if made := h.doAtRandom(r, id); made != "" {
						mu.Lock()
						ids = append(ids, made)
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		for _, id := range ids {
			if code, body := h.sendRequest("mine", "DELETE", "/api/threads/"+id, ""); code != http.StatusOK && code != http.StatusNotFound {
				t.Errorf("delete: %d %s", code, body)
			}
		}
		time.Sleep(time.Minute)
		if list, err := h.store.List(t.Context(), ponder.Filter{}); err != nil || len(list) > 0 {
			t.Errorf("%d threads are left (%v)", len(list), err)
		}
		if left, err := h.store.Abandoned(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("%v are left to be done (%v)", left, err)
		}
	})
}

// doAtRandom returns the id of a new session.
func (h *testServer) doAtRandom(r *rand.Rand, id string) (made string) {
	one := "/api/thinking/" + id
	method, path, body := http.MethodPost, "", ""
	switch r.IntN(12) {
	case 0, 1:
		path, body = "/api/thinking/start", fmt.Sprintf(`{"question":"What is the sea?","duration_minutes":%d,"parallel":%d}`, 1+r.IntN(5), 1+r.IntN(3))
	case 2:
		path = one + "/pause"
	case 3:
		path = one + "/resume"
	case 4:
		path = one + "/cancel"
	case 5:
		path, body = one+"/steer?wait=3s", `{"wishes":[{"order":"correct","content":"It is salt."},{"order":"add_question","content":"What does it cost?"}]}`
	case 6:
		path, body = one+"/fork", fmt.Sprintf(`{"paused":%t,"wishes":[{"order":"answer_now"}]}`, r.IntN(2) == 0)
	case 7:
		method, path = http.MethodDelete, one
	case 8:
		method, path = http.MethodGet, one+"/stats"
	case 9:
		method, path = http.MethodGet, one+"/export"
	default: // stream and disconnect
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(60_000))*time.Millisecond)
		defer cancel()
		h.watchStream(ctx, one+"/stream", ponder.Seq(r.IntN(50)), r.IntN(30))
		return ""
	}
	code, answer := h.sendRequest("mine", method, path, body)
	var out struct {
		ID string `json:"session_id"`
	}
	if code >= 500 || json.Unmarshal([]byte(answer), &out) != nil {
		h.t.Errorf("%s %s: %d %.300s", method, path, code, answer)
	}
	if code == http.StatusOK && out.ID != id {
		return out.ID
	}
	return ""
}
