package think

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"ponder/internal/limitio"
)

// Bounds on templates.
const (
	MaxTemplate  = 16 << 10 // bytes of one
	MaxTemplates = 100      // in the folder of a user
	maxRules     = 48 << 10 // bytes of the rules with all templates that are wanted
	maxName      = 64
)

//go:embed rules.md
var rules string

//go:embed templates/*.md
var builtIn embed.FS

// Templates are ways to think in a field, by name.
type Templates struct {
	texts map[string]string
	bad   map[string]error // those of the user that cannot be used
}

// Open returns the templates there are: ours, and those of a folder, which go before
// ours of the same name. The folder need not be there; "" is none. A file in it that
// is no good is an error only for who wants it.
func Open(folder string) (*Templates, error) {
	t := &Templates{texts: make(map[string]string), bad: make(map[string]error)}
	names, err := fs.Glob(builtIn, "templates/*.md")
	if err != nil {
		return nil, fmt.Errorf("open templates: %w", err)
	}
	for _, name := range names {
		text, err := builtIn.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("open templates: %w", err)
		}
		t.texts[strings.TrimSuffix(filepath.Base(name), ".md")] = string(text)
	}
	if folder == "" {
		return t, nil
	}
	return t, t.add(folder)
}

// add takes in the templates of a folder.
func (t *Templates) add(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open templates: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return filepath.Ext(e.Name()) != ".md" })
	if len(entries) > MaxTemplates {
		return fmt.Errorf("open templates: %s has %d, of at most %d", folder, len(entries), MaxTemplates)
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".md")
		text, err := read(filepath.Join(folder, e.Name()))
		if err == nil && !named(name) {
			err = errors.New("its name may have small letters, digits and hyphens")
		}
		if err != nil {
			t.bad[name] = fmt.Errorf("template %s: %w", filepath.Join(folder, e.Name()), err)
			continue
		}
		t.texts[name] = text
	}
	return nil
}

// named reports whether a template may have this name.
func named(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// read reads a template.
func read(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a file") // a pipe would be waited for
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := limitio.ReadAll(f, MaxTemplate)
	switch {
	case errors.Is(err, limitio.ErrTooLarge):
		return "", fmt.Errorf("more than %d bytes", MaxTemplate)
	case err != nil:
		return "", err
	case !utf8.Valid(text) || strings.ContainsRune(string(text), 0):
		return "", errors.New("not text in UTF-8")
	case strings.TrimSpace(string(text)) == "":
		return "", errors.New("it is empty")
	}
	return string(text), nil
}

// Names returns the names of the templates that can be used, sorted.
func (t *Templates) Names() []string { return slices.Sorted(maps.Keys(t.texts)) }

// Rules returns when and how to think, for a system prompt: the rules of the tool, and
// the templates that are wanted, each once, in the order in which they are named.
func (t *Templates) Rules(names ...string) (string, error) {
	parts := []string{strings.TrimSpace(rules)}
	var seen []string
	size := len(rules)
	for _, name := range names {
		text, ok := t.texts[name]
		switch err := t.bad[name]; {
		case err != nil:
			return "", err
		case !ok:
			return "", fmt.Errorf("there is no template %.64q: there are %s", name, strings.Join(t.Names(), ", "))
		case slices.Contains(seen, name):
			continue
		}
		seen = append(seen, name)
		parts = append(parts, strings.TrimSpace(text))
		if size += len(text); size > maxRules {
			return "", fmt.Errorf("the templates %s have more than %d bytes together", strings.Join(seen, ", "), maxRules)
		}
	}
	return strings.Join(parts, "\n\n"), nil
}
