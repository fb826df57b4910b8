package tui

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// A screen is a terminal that knows what this package writes, and fails the test
// for anything else. Lines that scroll off stay in it.
type screen struct {
	t             *testing.T
	width, height int

	mu       sync.Mutex
	lines    [][]cell
	row, col int
	cursor   bool
	writes   int
	stuck    chan struct{} // a write waits for it to be closed, if it is not nil
}

// A cell is a letter. A wide letter has an empty one after it.
type cell string

func newScreen(t *testing.T, width, height int) *screen {
	return &screen{t: t, width: width, height: height, lines: [][]cell{nil}, cursor: true}
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
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= '@' && r <= '~' }) + 2
			s.control(text[2:end], text[end])
			text = text[end+1:]
		case text[0] == '\r':
			s.col, text = 0, text[1:]
		case text[0] == '\n':
			s.down()
			text = text[1:]
		case text[0] < ' ' || text[0] == 0x7f:
			s.t.Errorf("control character %q reached the screen", text[0])
			text = text[1:]
		default:
			letter, width := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
			s.put(letter, width)
			text = text[len(letter):]
		}
	}
	return len(b), nil
}

func (s *screen) put(letter string, width int) {
	if s.col+width > s.width {
		s.down()
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
	s.col += width
}

func (s *screen) down() {
	s.row++
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, nil)
	}
}

func (s *screen) control(args string, verb byte) {
	n, _ := strconv.Atoi(args)
	switch {
	case verb == 'A':
		s.row = max(s.row-n, len(s.lines)-s.height, 0)
	case verb == 'C':
		s.col = min(s.col+n, s.width-1)
	case verb == 'K' && args == "":
		s.lines[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))]
	case verb == 'J' && args == "":
		s.lines = s.lines[:s.row+1]
		s.control("", 'K')
	case verb == 'm':
	case args == "?25" && verb == 'h', args == "?25" && verb == 'l':
		s.cursor = verb == 'h'
	case args == "?2026", args == "?2004":
	default:
		s.t.Errorf("unknown sequence %q%c", args, verb)
	}
}

// resize wraps lines anew, as most terminals do. The cursor stays in its cell.
func (s *screen) resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines [][]cell
	row, col := 0, s.col
	for i, line := range s.lines {
		if i == s.row {
			behind := 0 // the last letter, the cursor stands in the line of that
			if s.col > 0 && s.col >= len(line) && !s.cursor {
				behind = 1
			}
			row, col = len(lines)+(s.col-behind)/width, (s.col-behind)%width+behind
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
	for len(lines) <= row {
		lines = append(lines, nil)
	}
	s.width, s.height, s.lines, s.row, s.col = width, height, lines, row, col
}

// text returns the lines that are not empty.
func (s *screen) text() (lines []string) {
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

// visible returns the lines that are on the screen, with a mark where the cursor
// is if it is to be seen.
func (s *screen) visible() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for i, cells := range s.lines {
		if i < len(s.lines)-s.height {
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
	return b.String()
}
