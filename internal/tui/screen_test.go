package tui

import (
	"strings"
)

// A screen is a terminal that knows what this package writes. Lines that scroll
// off stay in it.
type screen struct {
	width, height int
	lines         []string
	row, col      int
	writes        int
}

func newScreen(width, height int) *screen {
	return &screen{width: width, height: height, lines: []string{""}}
}

func (s *screen) Write(b []byte) (int, error) {
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
		default:
			s.put(text[0])
			text = text[1:]
		}
	}
	return len(b), nil
}

func (s *screen) put(c byte) {
	if s.col == s.width {
		s.down()
		s.col = 0
	}
	line := s.lines[s.row] + strings.Repeat(" ", max(0, s.col+1-len(s.lines[s.row])))
	s.lines[s.row] = line[:s.col] + string(c) + line[s.col+1:]
	s.col++
}

func (s *screen) down() {
	s.row++
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, "")
	}
}

func (s *screen) control(args string, verb byte) {
	switch verb {
	case 'A':
		n := 0
		for _, c := range args {
			n = n*10 + int(c-'0')
		}
		s.row = max(s.row-n, len(s.lines)-s.height, 0)
	case 'K':
		s.lines[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))]
	case 'J':
		s.lines = s.lines[:s.row+1]
		s.control("", 'K')
	}
}

// resize wraps lines anew, as most terminals do, with the cursor at the end.
func (s *screen) resize(width int) {
	var lines []string
	for _, line := range s.lines {
		for len(line) > width {
			lines, line = append(lines, line[:width]), line[width:]
		}
		lines = append(lines, line)
	}
	s.width, s.lines, s.row = width, lines, len(lines)-1
	s.col = min(s.col, width)
}

// text returns the lines that are not empty.
func (s *screen) text() (lines []string) {
	for _, line := range s.lines {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimRight(line, " "))
		}
	}
	return lines
}
