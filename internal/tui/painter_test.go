package tui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPainter(t *testing.T) {
	s := newScreen(t, 30, 6)
	p := painter{out: s, cursor: true}
	p.paint(nil, []string{"", "frame one", "second row"}, 30, -1)
	p.paint([]string{"item 1"}, []string{"", "frame two", "second row"}, 30, -1)
	p.paint([]string{"item 2", "item 3"}, []string{"", "f"}, 30, -1)
	for i := range 9 {
		p.paint([]string{fmt.Sprintf("item %d", i+4)}, []string{"", strings.Repeat("x", 29), "f"}, 30, -1)
	}
	s.resize(20, 6) // the long row of the frame takes two lines now
	p.paint([]string{"item 13"}, []string{"", "narrow"}, 20, -1)
	p.paint(nil, []string{""}, 20, 0)
	var want []string
	for i := range 13 {
		want = append(want, fmt.Sprintf("item %d", i+1))
	}
	if d := cmp.Diff(want, s.text()); d != "" {
		t.Error(d)
	}
	before := s.writes
	p.paint(nil, []string{""}, 20, 0)
	if s.writes != before {
		t.Error("nothing has changed and yet it was painted")
	}
}

func TestPainterCursor(t *testing.T) {
	s := newScreen(t, 40, 6)
	p := painter{out: s, cursor: true}
	p.paint([]string{"item"}, []string{"hint", "> 穀倉 x"}, 40, 4)
	if d := cmp.Diff("item\nhint\n> 穀|倉 x\n", s.visible()); d != "" {
		t.Error(d)
	}
	p.paint(nil, []string{"hint", "> 穀倉 x"}, 40, 8)
	if d := cmp.Diff("item\nhint\n> 穀倉 x|\n", s.visible()); d != "" {
		t.Error(d)
	}
	p.paint(nil, []string{"bar", "keys"}, 40, -1)
	if d := cmp.Diff("item\nbar\nkeys\n", s.visible()); d != "" {
		t.Error(d)
	}
}

// TestPainterAtRandom prints, repaints, moves the cursor and resizes at random.
// Whatever comes, each item is there once, in its place, and nothing else is.
func TestPainterAtRandom(t *testing.T) {
	letters := []string{"x", "穀", "é", "▸", "ö"}
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 1))
		width := 40 + r.IntN(200)
		s := newScreen(t, width, 24)
		p := painter{out: s, cursor: true}
		block := func() (rows []string, cursor int) {
			for range 1 + r.IntN(5) {
				row := ""
				for range r.IntN((width - 1) / 2) {
					row += letters[r.IntN(len(letters))]
				}
				rows = append(rows, row)
			}
			if r.IntN(3) == 0 {
				return rows, r.IntN(20)
			}
			return rows, -1
		}
		var want []string
		for range 60 {
			var above []string
			for range r.IntN(3) {
				above = append(above, fmt.Sprintf("item %d", len(want)))
				want = append(want, above[len(above)-1])
			}
			rows, cursor := block()
			if cursor >= 0 {
				rows[len(rows)-1] = strings.Repeat("y", 20)
			}
			p.paint(above, rows, width, cursor)
			if r.IntN(8) == 0 {
				width = 40 + r.IntN(200)
				s.resize(width, 24)
			}
		}
		p.paint(nil, []string{""}, width, 0)
		if d := cmp.Diff(want, s.text()); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}
