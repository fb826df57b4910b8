package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"ponder/internal/textkit"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Set writes a setting into the user's file and returns what it is now. The
// file is made if there is none, and replaced as a whole, so that a crash
// leaves the old or the new one. Nothing is written if the value is no good, or the file
// with it would be, unless that was no good before.
func Set(src Source, name, value string) (string, error) {
	k, ok := find(name)
	if !ok {
		return "", unknownKey(name)
	}
	literal, err := k.literal(value)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	shown, err := change(src, name, func(text string) string { return setLine(text, split(name), literal) })
	if err != nil {
		return "", err
	}
	return cmp.Or(shown, value), nil // of a file with another value that is wrong, not all is read
}

// Unset takes a setting out of the user's file, and returns what it is now: the
// default, or what something else says.
func Unset(src Source, name string) (string, error) {
	if _, ok := find(name); !ok {
		return "", unknownKey(name)
	}
	return change(src, name, func(text string) string { return dropLine(text, split(name)) })
}

// Known reports an error, ErrUnknownKey, if there is no such setting.
func Known(name string) error {
	if _, ok := find(name); !ok {
		return unknownKey(name)
	}
	return nil
}

// ErrWrite is in the error of a file that could not be written.
var ErrWrite = errors.New("write configuration")

// ErrUnknownKey is in the error of a setting that there is not.
var ErrUnknownKey = errors.New("no such setting")

func unknownKey(name string) error {
	return fmt.Errorf("%w: %q", ErrUnknownKey, textkit.Truncate(name, 60))
}

// change rewrites the user's file. Values that are wrong keep nobody from mending them, one
// after the other.
func change(src Source, name string, edit func(string) string) (string, error) {
	env := src.Env
	if env == nil {
		env = os.Getenv
	}
	file, err := src.file(env)
	if err != nil {
		return "", err
	}
	old, err := read(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read configuration: %w", err)
	}
	if _, err := toml.Decode(old, &map[string]any{}); err != nil {
		return "", tomlError(file, err)
	}
	before := &Config{File: file, env: env, origin: map[string]string{}}
	wrong := before.apply(old, file, false)
	now := edit(old)
	after := &Config{File: file, env: env, origin: map[string]string{}}
	if err := after.apply(now, file, false); err != nil && wrong == nil {
		return "", fmt.Errorf("%s cannot be put into the file by itself: edit %s by hand (%w)", name, file, err)
	}
	if now == old {
		return after.Value(name), nil
	}
	if err := replace(file, now); err != nil {
		return "", fmt.Errorf("%w: %w", ErrWrite, err)
	}
	return after.Value(name), nil
}

// replace writes a file as a whole. Where it is a link, what it points at.
func replace(file, text string) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".config-*.toml")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // gone already if all went well
	_, err = tmp.WriteString(text)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

// setLine returns the text with a key set, and every other line as it was.
func setLine(text string, key []string, literal string) string {
	entries := scan(text)
	if i := slices.IndexFunc(entries, func(e entry) bool { return !e.header && slices.Equal(e.key, key) }); i >= 0 {
		return text[:entries[i].value] + literal + text[entries[i].after:]
	}
	table, last := key[:len(key)-1], key[len(key)-1:]
	at, name := -1, last
	for _, e := range entries { // the last line that is in the same table
		switch {
		case e.header && slices.Equal(e.key, table), !e.header && slices.Equal(e.table, table):
			at, name = e.end, last
		case !e.header && len(e.key) == len(key) && slices.Equal(e.key[:len(table)], table):
			at, name = e.end, key[len(e.table):] // written with dots from a table above
		}
	}
	line := join(name) + " = " + literal + "\n"
	switch {
	case at >= 0:
		return insert(text, at, line)
	case len(table) == 0:
		return insert(text, firstTable(text, entries), line)
	}
	if text != "" {
		line = "\n[" + join(table) + "]\n" + line
	} else {
		line = "[" + join(table) + "]\n" + line
	}
	return insert(text, len(text), line)
}

// firstTable returns where keys without a table may still stand: before the
// first header and the comment lines that belong to it.
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

func insert(text string, at int, line string) string {
	if at > 0 && text[at-1] != '\n' {
		line = "\n" + line
	}
	return text[:at] + line + text[at:]
}

// dropLine returns the text without a key.
func dropLine(text string, key []string) string {
	for _, e := range scan(text) {
		if !e.header && slices.Equal(e.key, key) {
			return text[:e.start] + text[e.end:]
		}
	}
	return text
}
