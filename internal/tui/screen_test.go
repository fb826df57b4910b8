package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

type screen struct {
	t             *testing.T
	width, height int

	mu       sync.Mutex
	lines    [][]cell
	top      int
	row, col int
	cursor   bool
	last     string
	writes   int
	stuck    chan struct{} // blocks writes until closed; may be nil
}

type cell string

func newScreen(t *testing.T, width, height int) *screen {
	return &screen{t: t, width: width, height: height, lines: [][]cell{nil}, cursor: true}
}

// newTestProgram returns a program on the screen. [press] sends its keys.
func (s *screen) newTestProgram(c content, pressed func(Press)) *program {
	p := newProgram(c, pressed, newOutput(nil, s, true), nil, paintInterval, tea.WithInput(nil), tea.WithWindowSize(s.width, s.height),
		tea.WithEnvironment([]string{"TERM=xterm-256color"}))
	p.size = Size{s.width, s.height}
	return p
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	stuck := s.stuck
	s.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	for text := string(b); text != ""; {
		switch {
		case strings.HasPrefix(text, "\x1bM"): // scrolls at the top
			if s.row > s.top {
				s.row--
			} else {
				s.applyControl("", 'L')
			}
			text = text[2:]
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= '@' && r <= '~' }) + 2
			s.applyControl(text[2:end], text[end])
			text = text[end+1:]
		case text[0] == '\r':
			s.col, text = 0, text[1:]
		case text[0] == '\b':
			s.col, text = max(0, s.col-1), text[1:]
		case text[0] == '\n': // not a raw terminal
			s.moveDown()
			s.col, text = 0, text[1:]
		case text[0] < ' ' || text[0] == 0x7f:
			s.t.Errorf("control character %q reached the screen", text[:min(9, len(text))])
			text = text[1:]
		default:
			letter, width := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
			s.putLetter(letter, width)
			text = text[len(letter):]
		}
	}
	return len(b), nil
}

func (s *screen) putLetter(letter string, width int) {
	if s.col+width > s.width {
		s.moveDown()
		s.col = 0
	}
	line := s.lines[s.row]
	for len(line) < s.col+width {
		line = append(line, " ")
	}
	for i := range width {
		line[s.col+i] = ""
	}
	line[s.col] = cell(letter)
	s.lines[s.row] = line
	s.col, s.last = s.col+width, letter
}

func (s *screen) moveDown() {
	if s.row++; s.row == s.top+s.height {
		s.top++
	}
	s.extendLines()
}

func (s *screen) extendLines() {
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, nil)
	}
}

func (s *screen) applyControl(args string, verb byte) {
	n, _ := strconv.Atoi(args)
	n = max(n, 1)
	line := s.lines[s.row]
	switch {
	case verb == 'A':
		s.row = max(s.row-n, s.top)
	case verb == 'B':
		s.row = min(s.row+n, s.top+s.height-1)
		s.extendLines()
	case verb == 'C':
		s.col = min(s.col+n, s.width-1)
	case verb == 'D':
		s.col = max(min(s.col, s.width-1)-n, 0)
	case verb == 'G':
		s.col = n - 1
	case verb == 'K' && args == "":
		s.lines[s.row] = line[:min(s.col, len(line))]
	case verb == 'K' && args == "1":
		for i := range min(s.col+1, len(line)) {
			line[i] = " "
		}
	case verb == 'J' && args == "":
		s.applyControl("", 'K')
		for i := s.row + 1; i < len(s.lines); i++ {
			s.lines[i] = nil
		}
	case verb == 'L':
		s.lines = slices.Insert(s.lines, s.row, make([][]cell, n)...)
		s.lines = s.lines[:min(len(s.lines), s.top+s.height)]
	case verb == 'M':
		s.lines = slices.Delete(s.lines, s.row, min(s.row+n, len(s.lines)))
		s.extendLines()
	case verb == 'X':
		for i := s.col; i < min(s.col+n, len(line)); i++ {
			line[i] = " "
		}
	case verb == 'P':
		if s.col < len(line) {
			s.lines[s.row] = slices.Delete(line, s.col, min(s.col+n, len(line)))
		}
	case verb == '@':
		if s.col < len(line) {
			s.lines[s.row] = slices.Insert(line, s.col, slices.Repeat([]cell{" "}, n)...)
		}
	case verb == 'b':
		for range n {
			s.putLetter(s.last, lipgloss.Width(s.last))
		}
	case verb == 'm':
	case args == "?25" && verb == 'h', args == "?25" && verb == 'l':
		s.cursor = verb == 'h'
	case args == "?2026", args == "?2004", args == "?7": // no line fills the width
	default:
		s.t.Errorf("unknown sequence %q%c", args, verb)
	}
}

// resize wraps lines as most terminals do. The cursor stays in its cell.
func (s *screen) resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines [][]cell
	row, col := 0, s.col
	for i, line := range s.lines {
		if i == s.row {
			row, col = len(lines)+s.col/width, s.col%width
		}
		for len(line) > width {
			at := width
			if line[at] == "" {
				at--
			}
			lines, line = append(lines, line[:at:at]), line[at:]
		}
		lines = append(lines, line)
	}
	s.width, s.height, s.lines, s.row, s.col = width, height, lines, row, col
	s.extendLines()
	s.top = min(max(0, len(s.lines)-height), s.row)
}

func (s *screen) allLines() (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cells := range s.lines {
		var b strings.Builder
		for _, c := range cells {
			b.WriteString(string(c))
		}
		if line := strings.TrimRight(b.String(), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// visibleText returns the lines on the screen, with a mark at a visible cursor.
func (s *screen) visibleText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for i, cells := range s.lines {
		if i < s.top {
			continue
		}
		text, at := "", 0
		for _, c := range cells {
			if s.cursor && i == s.row && at == s.col {
				text += "|"
			}
			text, at = text+string(c), at+1
		}
		if s.cursor && i == s.row && s.col >= len(cells) {
			text += strings.Repeat(" ", s.col-len(cells)) + "|"
		}
		if lipgloss.Width(strings.ReplaceAll(text, "|", "")) > s.width {
			s.t.Errorf("a line is wider than the screen: %q", text)
		}
		fmt.Fprintln(&b, strings.TrimRight(text, " "))
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
