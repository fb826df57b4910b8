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

	"ponder/internal/fileio"
	"ponder/internal/limitio"
)

// Limits on templates.
const (
	MaxTemplate  = 16 << 10 // bytes of one
	MaxTemplates = 100      // in a user's folder
	maxRules     = 48 << 10 // bytes of the rules with all selected templates
	maxName      = 64
)

//go:embed prompts/rules.md
var rules string

//go:embed prompts/templates/*.md
var builtIn embed.FS

// Templates holds instructions for thinking in a field, by name.
type Templates struct {
	texts map[string]string
	bad   map[string]error // a user's templates that cannot be used
}

// Open returns the built-in templates and those of a folder, which override built-in ones
// of the same name. The folder may be missing or "". An invalid file causes an error only
// when it is selected.
func Open(folder string) (*Templates, error) {
	t := &Templates{texts: make(map[string]string), bad: make(map[string]error)}
	names, err := fs.Glob(builtIn, "prompts/templates/*.md")
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
	return t, t.addFolder(folder)
}

// addFolder adds the templates of a folder.
func (t *Templates) addFolder(folder string) error {
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
		text, err := readTemplate(filepath.Join(folder, e.Name()))
		if err == nil && !isName(name) {
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

// isName reports whether a name is valid.
func isName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

func readTemplate(file string) (string, error) {
	text, err := fileio.ReadFile(file, MaxTemplate)
	var path *fs.PathError
	switch {
	case errors.Is(err, limitio.ErrTooLarge):
		return "", fmt.Errorf("more than %d bytes", MaxTemplate)
	case errors.As(err, &path):
		return "", path.Err
	case err != nil:
		return "", err
	case !utf8.Valid(text) || strings.ContainsRune(string(text), 0):
		return "", errors.New("not text in UTF-8")
	case strings.TrimSpace(string(text)) == "":
		return "", errors.New("it is empty")
	}
	return string(text), nil
}

// Names returns the names of the valid templates, sorted.
func (t *Templates) Names() []string { return slices.Sorted(maps.Keys(t.texts)) }

// Rules returns the rules of the tool and the selected templates, for a system prompt: each
// once, in the given order.
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
			return "", fmt.Errorf("template %.64q does not exist; use one of %s", name, strings.Join(t.Names(), ", "))
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
