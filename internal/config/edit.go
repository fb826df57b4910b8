package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"ponder/internal/fileio"
	"ponder/internal/textkit"
)

// Set writes a setting to the user's file atomically and returns its effective value. It
// creates a missing file. It writes nothing if the value is invalid, or would invalidate a
// valid file.
func Set(src Source, name, value string) (string, error) {
	k, ok := findKey(name)
	if !ok {
		return "", unknownKey(name)
	}
	literal, err := k.literal(value)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	shown, err := editSetting(src, name, func(text string) string { return setLine(text, splitName(name), literal) })
	if err != nil {
		return "", err
	}
	return cmp.Or(shown, value), nil // a file with another invalid value is only partly read
}

// Unset removes a setting from the user's file and returns its effective value.
func Unset(src Source, name string) (string, error) {
	if _, ok := findKey(name); !ok {
		return "", unknownKey(name)
	}
	return editSetting(src, name, func(text string) string { return dropLine(text, splitName(name)) })
}

func CheckKey(name string) error {
	if _, ok := findKey(name); !ok {
		return unknownKey(name)
	}
	return nil
}

var ErrWrite = errors.New("write configuration")

// ErrUnknownKey is the cause for an unknown setting.
var ErrUnknownKey = errors.New("no such setting")

func unknownKey(name string) error {
	return fmt.Errorf("%w: %q", ErrUnknownKey, textkit.Truncate(name, 60))
}

// editSetting rewrites the user's file. Other invalid values do not block it, so that a user can
// correct them one by one.
func editSetting(src Source, name string, edit func(string) string) (string, error) {
	env := src.Env
	if env == nil {
		env = os.Getenv
	}
	file, err := src.userFile(env)
	if err != nil {
		return "", err
	}
	old, err := readConfigFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read configuration: %w", err)
	}
	if _, err := toml.Decode(old, &map[string]any{}); err != nil {
		return "", tomlError(file, err)
	}
	before := &Config{File: file, env: env, origin: map[string]string{}}
	wrong := before.applyText(old, file, false)
	now := edit(old)
	after := &Config{File: file, env: env, origin: map[string]string{}}
	if err := after.applyText(now, file, false); err != nil && wrong == nil {
		return "", fmt.Errorf("cannot change %s in the file: edit %s in an editor (%w)", name, file, err)
	}
	if now == old {
		return after.Value(name), nil
	}
	if err := replaceFile(file, now); err != nil {
		return "", fmt.Errorf("%w: %w", ErrWrite, err)
	}
	return after.Value(name), nil
}

func replaceFile(file, text string) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	if err := fileio.MakeStateDir(filepath.Dir(file)); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".config-*.toml")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(text)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

// setLine returns the text with a key set and all other lines unchanged.
func setLine(text string, key []string, literal string) string {
	entries := scanEntries(text)
	if i := slices.IndexFunc(entries, func(e entry) bool { return !e.header && slices.Equal(e.key, key) }); i >= 0 {
		return text[:entries[i].value] + literal + text[entries[i].after:]
	}
	table, last := key[:len(key)-1], key[len(key)-1:]
	at, name := -1, last
	for _, e := range entries { // the last line in the same table
		switch {
		case e.header && slices.Equal(e.key, table), !e.header && slices.Equal(e.table, table):
			at, name = e.end, last
		case !e.header && len(e.key) == len(key) && slices.Equal(e.key[:len(table)], table):
			at, name = e.end, key[len(e.table):] // written with dots from a table above
		}
	}
	line := joinName(name) + " = " + literal + "\n"
	switch {
	case at >= 0:
		return insertLine(text, at, line)
	case len(table) == 0:
		return insertLine(text, firstTable(text, entries), line)
	}
	if text != "" {
		line = "\n[" + joinName(table) + "]\n" + line
	} else {
		line = "[" + joinName(table) + "]\n" + line
	}
	return insertLine(text, len(text), line)
}

// firstTable returns the end of the top-level keys: before the first header and its comment.
func firstTable(text string, entries []entry) int {
	at, from := len(text), 0
	for _, e := range entries {
		if e.header {
			at = e.start
			break
		}
		from = e.end
	}
	for at > from && at < len(text) {
		above := strings.LastIndexByte(text[:at-1], '\n') + 1
		if above < from || !strings.HasPrefix(strings.TrimSpace(text[above:at]), "#") {
			break
		}
		at = above
	}
	return at
}

func insertLine(text string, at int, line string) string {
	if at > 0 && text[at-1] != '\n' {
		line = "\n" + line
	}
	return text[:at] + line + text[at:]
}

func dropLine(text string, key []string) string {
	for _, e := range scanEntries(text) {
		if !e.header && slices.Equal(e.key, key) {
			return text[:e.start] + text[e.end:]
		}
	}
	return text
}

// An entry is a key with its value, or a table header, in a TOML text.
type entry struct {
	key    []string
	table  []string // the table around it
	header bool
	line   int
	start  int
	end    int // after its last line break
	value  int
	after  int
}

// scanEntries finds the entries of valid TOML. For other text the result is arbitrary.
func scanEntries(text string) []entry {
	var found []entry
	var table []string
	s := &scanner{text: text}
	for s.pos < len(text) {
		start := s.pos
		s.skipBlanks()
		switch {
		case s.peek() == '[':
			for s.peek() == '[' {
				s.pos++
			}
			table = s.readPath()
			e := entry{key: table, header: true, start: start}
			s.restOfLine()
			e.end = s.pos
			found = append(found, e)
		case s.peek() == '#' || s.peek() == '\n' || s.peek() == '\r' || s.peek() == 0:
			s.restOfLine()
		default:
			e := entry{key: append(table[:len(table):len(table)], s.readPath()...), table: table, start: start}
			s.skipBlanks()
			if s.peek() == '=' {
				s.pos++
				s.skipBlanks()
				e.value = s.pos
				s.skipValue()
				e.after = e.value + len(strings.TrimRight(text[e.value:s.pos], " \t\r"))
				s.restOfLine()
				e.end = s.pos
				found = append(found, e)
			} else {
				s.restOfLine()
			}
		}
	}
	countLines(text, found)
	return found
}

func countLines(text string, entries []entry) {
	line, pos := 1, 0
	for i := range entries {
		line += strings.Count(text[pos:entries[i].start], "\n")
		pos = entries[i].start
		entries[i].line = line
	}
}

type scanner struct {
	text string
	pos  int
}

func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *scanner) skipBlanks() {
	for s.peek() == ' ' || s.peek() == '\t' {
		s.pos++
	}
}

func (s *scanner) restOfLine() {
	if i := strings.IndexByte(s.text[s.pos:], '\n'); i >= 0 {
		s.pos += i + 1
		return
	}
	s.pos = len(s.text)
}

func (s *scanner) readPath() (names []string) {
	for {
		s.skipBlanks()
		start := s.pos
		switch q := s.peek(); q {
		case '"', '\'':
			s.skipQuoted(string(q))
			names = append(names, unquoteName(s.text[start:s.pos]))
		default:
			for s.pos < len(s.text) && !strings.ContainsRune(" \t\r\n.=]#", rune(s.peek())) {
				s.pos++
			}
			names = append(names, s.text[start:s.pos])
		}
		s.skipBlanks()
		if s.peek() != '.' {
			return names
		}
		s.pos++
	}
}

// skipQuoted skips a string delimited by quote, of one or three characters.
func (s *scanner) skipQuoted(quote string) {
	s.pos += len(quote)
	for s.pos < len(s.text) {
		switch {
		case strings.HasPrefix(s.text[s.pos:], quote):
			s.pos += len(quote)
			for len(quote) == 3 && s.peek() == quote[0] {
				s.pos++
			}
			return
		case s.peek() == '\\' && quote[0] == '"':
			s.pos = min(s.pos+2, len(s.text))
		case s.peek() == '\n' && len(quote) == 1:
			return
		default:
			s.pos++
		}
	}
}

func (s *scanner) skipValue() {
	for depth := 0; s.pos < len(s.text); {
		switch c := s.peek(); c {
		case '"', '\'':
			quote := string(c)
			if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.text[s.pos:], triple) {
				quote = triple
			}
			s.skipQuoted(quote)
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '#':
			if depth <= 0 {
				return
			}
			s.restOfLine()
			continue
		case '\n':
			if depth <= 0 {
				return
			}
		}
		s.pos++
	}
}

// unquoteName returns the text of a quoted name. It only resolves escaped quotes and backslashes;
// our keys need no others.
func unquoteName(q string) string {
	if len(q) < 2 {
		return q
	}
	in := q[1 : len(q)-1]
	if q[0] == '"' {
		in = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(in)
	}
	return in
}

// findLine returns the line of a key, or of its nearest parent.
func findLine(entries []entry, key []string) int {
	line, best := 1, 0
	for _, e := range entries {
		if n := len(e.key); n > best && n <= len(key) && slices.Equal(e.key, key[:n]) {
			line, best = e.line, n
		}
	}
	return line
}
