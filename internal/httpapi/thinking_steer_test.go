package httpapi

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// A higher cost limit needs a quota before it is sent; a limit within the current one does not.
func TestSteerCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		one := "/api/thinking/" + string(h.startSession(10)) + "/steer"
		time.Sleep(time.Minute)
		var out struct {
			Session struct {
				Budget map[string]any
			}
		}
		for _, test := range []struct {
			limit float64
			code  int
			want  float64
		}{{3, 200, 3}, {4.5, 402, 3}, {2.5, 200, 2.5}, {2.75, 200, 2.75}, {5, 402, 2.75}} {
			if code := h.postJSON("", one, `{"wishes":[{"order":"correct","content":"It is wide."},{"order":"budget","max_cost_usd":`+strconv.FormatFloat(test.limit, 'f', -1, 64)+`}]}`, &out); code != test.code {
				t.Errorf("%v: %d", test.limit, code)
			}
			if out.Session.Budget["cost_usd"] != test.want {
				t.Errorf("%v: %v, want %v", test.limit, out.Session.Budget, test.want)
			}
		}
	})
}
