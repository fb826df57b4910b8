package httpapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"ponder"
	"ponder/internal/steering"
	"ponder/internal/steering/steeringtest"
)

// What a session may cost more is asked for before it is told, and what it may cost
// anyway is not.
func TestSteerCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, slow())
		one := "/api/thinking/" + string(h.start(10)) + "/steer"
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
			if code := h.post("", one, `{"wishes":[{"order":"correct","content":"It is wide."},{"order":"budget","max_cost_usd":`+strconv.FormatFloat(test.limit, 'f', -1, 64)+`}]}`, &out); code != test.code {
				t.Errorf("%v: %d", test.limit, code)
			}
			if out.Session.Budget["cost_usd"] != test.want {
				t.Errorf("%v: %v, want %v", test.limit, out.Session.Budget, test.want)
			}
		}
	})
}

// HTTP refuses the requests that every surface refuses, and names the field. No message
// names a flag.
func TestSteerInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, slow())
		one := "/api/thinking/" + string(h.start(10))
		time.Sleep(time.Minute)
		ran := 0
		for _, c := range steeringtest.Invalid() {
			body, ok := steerBodyOf(c)
			if !ok {
				continue // the API cannot say it
			}
			ran++
			for _, route := range []string{"/steer", "/fork"} {
				if len(c.Requests) == 0 && route == "/fork" {
					continue // which needs no command
				}
				where := "body." + c.Field
				if n := len(c.Requests); n > 0 {
					where = "body.wishes[" + strconv.Itoa(n-1) + "]." + c.Field
				}
				var doc problemDoc
				if code := h.post("", one+route, body, &doc); code != 422 || !doc.names(where) || strings.Contains(fmt.Sprint(doc), "--") {
					t.Errorf("%s: %s: %d %+v, want %s", c.Name, route, code, doc, where)
				}
			}
		}
		if ran < 35 {
			t.Errorf("only %d cases", ran)
		}
	})
}

// steerBodyOf returns a case as the body of a request.
func steerBodyOf(c steeringtest.Case) (string, bool) {
	list := []map[string]any{}
	for _, r := range c.Requests {
		if r.More != (ponder.Budget{}) || r.Persona != "" || r.Order == ponder.SetPersona || r.Order == steering.Tell || !utf8.ValidString(r.Content+r.Question+r.Source) {
			return "", false
		}
		m := map[string]any{}
		for name, value := range map[string]any{
			"order": string(r.Order), "content": r.Content, "question": r.Question, "priority": r.Priority, "source": r.Source,
			"duration_minutes": r.Limits.Time.Minutes(), "max_tokens": r.Limits.Tokens, "max_calls": r.Limits.Calls, "max_cost_usd": r.Limits.Money.USD(),
		} {
			if !reflect.ValueOf(value).IsZero() {
				m[name] = value
			}
		}
		list = append(list, m)
	}
	js, err := json.Marshal(map[string]any{"wishes": list})
	return string(js), err == nil
}
