package subconscious

import (
	"bytes"
	"encoding/json"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

// checkedState checks that a state is an immutable, deterministic value that survives JSON. It checks
// the first calls, and then some.
type checkedState struct {
	ponder.State
	t    *testing.T
	mode ponder.Mode
	run  ponder.Run
	n    *atomic.Int64 // calls
}

// checkModes wraps modes in checkedState and records what ticks carry.
func checkModes(t *testing.T, modes []ponder.Mode, carried map[ponder.RunID]knowledge) (list []ponder.Mode) {
	var calls atomic.Int64
	for _, mode := range modes {
		wrap := func(r ponder.Run, s ponder.State) ponder.State {
			return checkedState{State: s, t: t, mode: mode, run: r, n: &calls}
		}
		m := mode
		m.Start = func(r ponder.Run) ponder.State { return wrap(r, mode.Start(r)) }
		if mode.Carry != nil {
			m.Carry = func(r ponder.Run, last ponder.State) ponder.State {
				s := mode.Carry(r, last.(checkedState).State)
				if tick, ok := s.(*tickRun); ok {
					carried[r.ID] = tick.Known
				}
				return wrap(r, s)
			}
		}
		m.Load = func(r ponder.Run, js []byte) (ponder.State, error) {
			s, err := mode.Load(r, js)
			return wrap(r, s), err
		}
		list = append(list, m)
	}
	return list
}

func (s checkedState) MarshalJSON() ([]byte, error) { return json.Marshal(s.State) }

func (s checkedState) isChecked() bool {
	n := s.n.Add(1)
	return n <= 100 || n%32 == 0
}

func (s checkedState) Apply(ev ponder.Event) ponder.State {
	if !s.isChecked() {
		s.State = s.State.Apply(ev)
		return s
	}
	before := s.encodeState(s.State)
	next := s.State.Apply(ev)
	if after := s.encodeState(s.State); !bytes.Equal(before, after) {
		s.t.Errorf("%s: Apply(%s) changed its receiver:\n%s", s.mode.Name, ev.Body.Type(), cmp.Diff(string(before), string(after)))
	}
	if one, two := s.encodeState(next), s.encodeState(s.State.Apply(ev)); !bytes.Equal(one, two) {
		s.t.Errorf("%s: Apply(%s) twice:\n%s", s.mode.Name, ev.Body.Type(), cmp.Diff(string(one), string(two)))
	}
	s.State = next
	return s
}

func (s checkedState) Next(now ponder.Moment) []ponder.Action {
	if !s.isChecked() {
		return s.State.Next(now)
	}
	before := s.encodeState(s.State)
	want := s.State.Next(now)
	if again := s.State.Next(now); !reflect.DeepEqual(want, again) {
		s.t.Errorf("%s: Next twice:\n%s", s.mode.Name, cmp.Diff(want, again))
	}
	if after := s.encodeState(s.State); !bytes.Equal(before, after) {
		s.t.Errorf("%s: Next changed its receiver:\n%s", s.mode.Name, cmp.Diff(string(before), string(after)))
	}
	loaded, err := s.mode.Load(s.run, before)
	if err != nil {
		s.t.Errorf("%s: load: %v", s.mode.Name, err)
		return want
	}
	if got := s.encodeState(loaded); !bytes.Equal(got, before) {
		s.t.Errorf("%s: the state does not come back as it was:\n%s", s.mode.Name, cmp.Diff(string(before), string(got)))
	}
	if got := loaded.Next(now); !reflect.DeepEqual(want, got) {
		s.t.Errorf("%s: a state that was stored wants something else:\n%s", s.mode.Name, cmp.Diff(want, got))
	}
	return want
}

func (s checkedState) encodeState(v ponder.State) []byte {
	js, err := json.Marshal(v)
	if err != nil {
		s.t.Errorf("%s: %v", s.mode.Name, err)
	}
	return js
}
