package tui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
)

type fakeContent struct {
	mu    sync.Mutex
	above []string
	rows  []string
	at    cursorPos
}

func (s *fakeContent) takePrinted(Size) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.above
	s.above = nil
	return rows
}

func (s *fakeContent) renderBlock(Size) ([]string, cursorPos) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows, s.at
}

func (s *fakeContent) handleMsg(tea.Msg) *Press { return nil }

func (s *fakeContent) setContent(p *program, above, rows []string, at cursorPos) {
	s.mu.Lock()
	s.above, s.rows, s.at = append(s.above, above...), rows, at
	s.mu.Unlock()
	p.requestPaint()
	time.Sleep(2 * paintInterval)
	synctest.Wait()
}

func TestProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newScreen(t, 30, 6), &fakeContent{}
		p := s.newTestProgram(c, nil)
		p.startLoops(func() {})
		c.setContent(p, nil, []string{"", "frame one", "second row"}, cursorPos{0, -1})
		c.setContent(p, []string{"item 1"}, []string{"", "frame two", "second row"}, cursorPos{0, -1})
		c.setContent(p, []string{"item 2", "item 3"}, []string{"", "f"}, cursorPos{0, -1})
		for i := range 9 {
			c.setContent(p, []string{fmt.Sprintf("item %d", i+4)}, []string{"", strings.Repeat("x", 29), "f"}, cursorPos{0, -1})
		}
		s.resize(20, 6) // the long row of the block wraps now
		p.tea.Send(tea.WindowSizeMsg{Width: 20, Height: 6})
		c.setContent(p, []string{"item 13"}, []string{"", "narrow"}, cursorPos{0, -1})
		var many []string
		for i := range 40 {
			many = append(many, fmt.Sprintf("item %d", i+14))
		}
		c.setContent(p, many, []string{"hint", "> 穀倉 x"}, cursorPos{1, 4})
		if !strings.HasSuffix(s.visibleText(), "hint\n> 穀|倉 x\n") {
			t.Error(s.visibleText())
		}
		before := s.writes
		c.setContent(p, nil, []string{"hint", "> 穀倉 x"}, cursorPos{1, 4})
		if s.writes != before {
			t.Error("nothing has changed and yet it was painted")
		}
		p.Close()
		var want []string
		for i := range 53 {
			want = append(want, fmt.Sprintf("item %d", i+1))
		}
		if d := cmp.Diff(want, s.allLines()); d != "" || !s.cursor {
			t.Error(d)
		}
	})
}

// TestProgramAtRandom prints, repaints, moves and resizes at random. Each item appears exactly
// once and in place.
func TestProgramAtRandom(t *testing.T) {
	letters := []string{"x", "穀", "é", "▸", "ö"}
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			width := 40 + r.IntN(200)
			s, c := newScreen(t, width, 24), &fakeContent{}
			p := s.newTestProgram(c, nil)
			p.startLoops(func() {})
			var want []string
			for range 60 {
				var above, rows []string
				for range r.IntN(3) {
					above = append(above, fmt.Sprintf("item %d", len(want)))
					want = append(want, above[len(above)-1])
				}
				for range 1 + r.IntN(5) {
					row := ""
					for range r.IntN((width - 1) / 2) {
						row += letters[r.IntN(len(letters))]
					}
					rows = append(rows, row)
				}
				at := cursorPos{0, -1}
				if r.IntN(3) == 0 {
					at = cursorPos{len(rows) - 1, r.IntN(20)}
					rows[at.row] = strings.Repeat("y", 20)
				}
				c.setContent(p, above, rows, at)
				if r.IntN(8) == 0 {
					width = 40 + r.IntN(200)
					s.resize(width, 24)
					p.tea.Send(tea.WindowSizeMsg{Width: width, Height: 24})
				}
			}
			p.Close()
			if d := cmp.Diff(want, s.allLines()); d != "" {
				t.Errorf("seed %d: %s", seed, d)
			}
		})
	}
}
