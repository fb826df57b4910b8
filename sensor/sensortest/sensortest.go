// Package sensortest tests the contract of sensors: each reports new states once, gives equal
// results for equal cursors and worlds, keeps its limits, and accepts any cursor.
package sensortest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"ponder"
	"ponder/sensor"
)

// Start is the time of the first look.
var Start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// A Step changes the world and lists the expected observations.
type Step struct {
	Name    string
	Pass    time.Duration // time before the look
	Do      func()        // changes the world; may be nil
	Reports []string      // "STATE SUBJECT" of each observation, in any order; nil accepts all, empty accepts none
}

// Limits against endless tests.
const (
	lookTimeout = 30 * time.Second
	maxLooks    = 100 // looks until all is reported
)

// Run makes a look after each step, each time with a new sensor from open, and checks the
// observations and the contract. A sensor may report differently at another time of day, but must
// not repeat itself in an unchanged world.
func Run(t *testing.T, open func() sensor.Sensor, steps ...Step) {
	t.Helper()
	w := &contractTest{open: open, now: Start, last: map[string]string{}}
	for i, step := range steps {
		t.Run(fmt.Sprintf("%d %s", i, step.Name), func(t *testing.T) { w.runStep(t, step) })
		if t.Failed() {
			return
		}
	}
	t.Run("foreign cursors", w.testForeignCursors)
	t.Run("context", w.testCancelled)
	t.Run("close", w.testClose)
}

type contractTest struct {
	open   func() sensor.Sensor
	now    time.Time
	cursor json.RawMessage
	last   map[string]string // last reported state by subject
}

func (w *contractTest) runStep(t *testing.T, step Step) {
	w.now = w.now.Add(step.Pass)
	if step.Do != nil {
		step.Do()
	}
	told := w.reportAll(t)
	for _, o := range told {
		if step.Do == nil && w.last[o.Subject] == o.State {
			t.Errorf("reported again without a change: %s %s", o.State, o.Subject)
		}
		w.last[o.Subject] = o.State
	}
	if step.Reports == nil {
		return
	}
	var got []string
	for _, o := range told {
		got = append(got, o.State+" "+o.Subject)
	}
	want := slices.Sorted(slices.Values(step.Reports))
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("reported\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// reportAll looks until nothing is new and returns all observations. It makes each look twice and
// compares the results.
func (w *contractTest) reportAll(t *testing.T) (all []ponder.Observation) {
	t.Helper()
	seen := map[string]bool{}
	for range maxLooks {
		s := w.open()
		told, next := checkLook(t, s, w.now, w.cursor)
		again, other := checkLook(t, w.open(), w.now, w.cursor)
		if a, b := formatAll(told), formatAll(again); a != b || !bytes.Equal(next, other) {
			t.Fatalf("two looks with equal cursor and world differ:\n%s\n%s\nand\n%s\n%s", a, next, b, other)
		}
		if same, cursor := checkLook(t, s, w.now, next); len(told) == 0 && (len(same) > 0 || !bytes.Equal(cursor, next)) {
			t.Fatalf("nothing was new, but the next look reported %d observations and changed the cursor\n%s\nto\n%s", len(same), next, cursor)
		}
		for _, o := range told {
			if key := o.State + " " + o.Subject; seen[key] {
				t.Errorf("reported twice: %s", key)
			} else {
				seen[key] = true
			}
		}
		all = append(all, told...)
		before := w.cursor
		if w.cursor = next; len(told) == 0 {
			return all
		}
		if bytes.Equal(before, next) {
			t.Fatal("a look reported observations without a new cursor")
		}
	}
	t.Fatalf("still new observations after %d looks", maxLooks)
	return nil
}

func (w *contractTest) testForeignCursors(t *testing.T) {
	first, _ := checkLook(t, w.open(), w.now, nil)
	for _, c := range hostileCursors {
		if told, _ := checkLook(t, w.open(), w.now, json.RawMessage(c)); formatAll(told) != formatAll(first) {
			t.Errorf("cursor %.40q is not treated as empty: reported\n%s\nwant\n%s", c, formatAll(told), formatAll(first))
		}
	}
	for i := range 60 { // a changed cursor must not break the sensor
		checkLook(t, w.open(), w.now, damageCursor(w.cursor, i))
	}
}

var hostileCursors = []string{
	"", " ", "null", "7", `"x"`, "[]", "[1,2]", "{", `{"`, "\x00", "\xff\xfe", "true", "-1e999",
	strings.Repeat("[", 100_000), strings.Repeat(`{"a":`, 50_000),
	`{"` + strings.Repeat("x", sensor.MaxCursor) + `":1`,
}

// damageCursor returns a damaged cursor, a different one for each i.
func damageCursor(c json.RawMessage, i int) json.RawMessage {
	c = bytes.Clone(c)
	if len(c) == 0 {
		return c
	}
	at := (i * 7919) % len(c)
	switch i % 4 {
	case 0:
		return c[:at]
	case 1:
		c[at] ^= byte(1 + i)
		return c
	case 2:
		return bytes.Map(func(r rune) rune {
			if '0' <= r && r <= '8' && (int(r)+i)%3 == 0 {
				return r + 1
			}
			return r
		}, c)
	default:
		return slices.Insert(c, at, []byte(`9999999999`)...)
	}
}

func (w *contractTest) testCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _, _ = w.open().Look(ctx, w.now, w.cursor)
	}()
	select {
	case <-done:
	case <-time.After(lookTimeout):
		t.Error("Look does not return when its context is done")
	}
}

func (w *contractTest) testClose(t *testing.T) {
	s := w.open()
	if s.Name == "" {
		t.Error("the sensor has no name")
	}
	if s.Close == nil {
		return
	}
	checkLook(t, s, w.now, nil)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func checkLook(t *testing.T, s sensor.Sensor, now time.Time, cursor json.RawMessage) ([]ponder.Observation, json.RawMessage) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lookTimeout)
	defer cancel()
	given := bytes.Clone(cursor)
	told, next, err := s.Look(ctx, now, cursor)
	if err != nil {
		t.Fatalf("look: %v", err)
	}
	if !bytes.Equal(given, cursor) {
		t.Error("Look changed the bytes of its cursor")
	}
	if len(told) > sensor.MaxLook {
		t.Errorf("one look reported %d observations", len(told))
	}
	if len(next) > sensor.MaxCursor || len(next) > 0 && !json.Valid(next) {
		t.Errorf("the cursor has %d bytes, or is not JSON: %.200q", len(next), next)
	}
	for _, o := range told {
		if fault := Violation(o); fault != "" {
			t.Errorf("%s: %+v", fault, o)
		}
	}
	return told, next
}

// Violation describes a violation of the contract by an observation, or returns "".
func Violation(o ponder.Observation) string {
	switch {
	case o.Sensor != "" || o.Cursor != nil:
		return "a sensor must not set its name and the cursor of an observation"
	case o.Content == "" || o.Subject == "" || o.State == "":
		return "content, subject or state is missing"
	case len(o.Content) > sensor.MaxText || len(o.Subject) > sensor.MaxSubject || len(o.State) > sensor.MaxSubject || len(o.Source) > 2*sensor.MaxText:
		return "too long"
	case o.Level < 0 || o.Level > 10:
		return "the level is out of range"
	}
	for _, s := range []string{o.Content, o.Subject, o.State, o.Source} {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, isHidden) {
			return "unprintable text"
		}
	}
	return ""
}

// isHidden reports whether r is a control or formatting character.
func isHidden(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}

func formatAll(os []ponder.Observation) string {
	var b strings.Builder
	for _, o := range os {
		fmt.Fprintf(&b, "%+v\n", o)
	}
	return b.String()
}
