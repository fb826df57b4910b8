package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"ponder/internal/fileio"
	"ponder/internal/limitio"
	"ponder/internal/textkit"
)

type Source struct {
	// File is the user's file, which must exist. If empty, it is the optional file of
	// PONDER_CONFIG or below XDG_CONFIG_HOME.
	File string
	Dir  string
	// Env returns a variable; nil is [os.Getenv].
	Env func(string) string
}

const projectFile = "ponder.toml"

// projectTables lists the tables that a project's file may have.
var projectTables = []string{"models", "budgets", "prompts"}

// projectMindKeys lists the keys of table mind that it may have.
var projectMindKeys = []string{"models", "tokens_per_day", "cost_per_day"}

// Load reads the files and the environment. Errors name file and line. It ignores forbidden and
// unknown keys with a warning.
func Load(src Source) (*Config, error) {
	c := &Config{env: src.Env, origin: map[string]string{}, read: map[string]fileStamp{}}
	if c.env == nil {
		c.env = os.Getenv
	}
	file, err := src.userFile(c.env)
	if err != nil {
		return nil, err
	}
	c.File = file
	if err := c.readFile(file, file, src.File != "", false); err != nil {
		return nil, err
	}
	if project := filepath.Join(src.Dir, projectFile); src.Dir != "" && !sameFile(project, file) {
		if err := c.readFile(project, "./"+projectFile, false, true); err != nil {
			return nil, err
		}
	}
	if err := c.readKeyFile(); err != nil {
		return nil, err
	}
	if err := c.readEnv(); err != nil {
		return nil, err
	}
	return c, c.findDB()
}

func (src Source) userFile(env func(string) string) (string, error) {
	if src.File != "" {
		return src.File, nil
	}
	if file := env("PONDER_CONFIG"); file != "" {
		return file, nil
	}
	dir, err := xdgFolder(env, "XDG_CONFIG_HOME", ".config")
	return filepath.Join(dir, "config.toml"), err
}

func (c *Config) StateDir() (string, error) {
	return xdgFolder(c.env, "XDG_STATE_HOME", ".local/state")
}

func xdgFolder(env func(string) string, xdg, below string) (string, error) {
	if dir := env(xdg); filepath.IsAbs(dir) {
		return filepath.Join(dir, "ponder"), nil
	}
	home := env("HOME")
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	if home == "" {
		return "", fmt.Errorf("no home folder: set HOME or %s", xdg)
	}
	return filepath.Join(home, below, "ponder"), nil
}

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

const maxFile = 1 << 20

// readFile applies a file, which errors call shown.
func (c *Config) readFile(file, shown string, mustBe, project bool) error {
	c.read[file] = stampOf(file)
	text, err := readConfigFile(file)
	if errors.Is(err, fs.ErrNotExist) && !mustBe {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	return c.applyText(text, shown, project)
}

// A fileStamp changes with the content of a file. It is zero for a missing file.
type fileStamp struct {
	size int64
	at   int64 // of the last change, in nanoseconds
}

func stampOf(file string) fileStamp {
	info, err := os.Stat(file)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{info.Size(), info.ModTime().UnixNano()}
}

// HasChanged reports, once for each change, whether a file that Load read has changed since. It
// is not safe for concurrent use.
func (c *Config) HasChanged() bool {
	changed := false
	for file, was := range c.read {
		if is := stampOf(file); is != was {
			c.read[file], changed = is, true
		}
	}
	return changed
}

func readConfigFile(file string) (string, error) {
	text, err := fileio.ReadFile(file, maxFile)
	if errors.Is(err, limitio.ErrTooLarge) {
		err = fmt.Errorf("%s: more than %d bytes", file, maxFile)
	}
	return strings.TrimPrefix(string(text), "\ufeff"), err // byte order mark of Windows editors
}

func (c *Config) applyText(text, shown string, project bool) error {
	entries := scanEntries(text)
	meta, err := c.decodeText(text, project)
	if err != nil {
		return tomlError(shown, err)
	}
	c.warnIgnored(meta.Undecoded(), entries, shown, project)
	for _, key := range meta.Keys() {
		if _, ok := findKey(key.String()); ok && !slices.ContainsFunc(meta.Undecoded(), func(k toml.Key) bool { return slices.Equal(k, key) }) {
			c.origin[key.String()] = shown
		}
	}
	return c.checkValues(shown, entries)
}

// decodeText blocks the keys that a project's file may not set.
func (c *Config) decodeText(text string, project bool) (toml.MetaData, error) {
	if !project {
		return toml.Decode(text, c)
	}
	part := struct {
		Models  Models            `toml:"models"`
		Budgets Budgets           `toml:"budgets"`
		Prompts map[string]string `toml:"prompts"`
		Mind    mindPart          `toml:"mind"`
	}{c.Models, c.Budgets, c.Prompts, c.Mind.projectPart()}
	meta, err := toml.Decode(text, &part)
	c.Models, c.Budgets, c.Prompts = part.Models, part.Budgets, part.Prompts
	c.Mind.setPart(part.Mind)
	return meta, err
}

// warnIgnored adds warnings for ignored keys: of an ignored table, only for the first.
func (c *Config) warnIgnored(keys []toml.Key, entries []entry, shown string, project bool) {
	var seen []toml.Key
	for _, key := range keys {
		below := func(k toml.Key) bool { return len(k) <= len(key) && slices.Equal(k, key[:len(k)]) }
		if slices.ContainsFunc(seen, below) {
			continue
		}
		line := findLine(entries, key)
		if table, not := forbiddenTable(key); project && not {
			seen = append(seen, table)
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s:%d: ignored %s: a folder's file may set only models, budgets and prompts; set it in %s",
				shown, line, textkit.Truncate(table.String(), 40), c.File))
			continue
		}
		if _, ok := findKey(key.String()); !ok {
			seen = append(seen, key)
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s:%d: unknown key %s; ignored", shown, line, textkit.Truncate(key.String(), 80)))
		}
	}
}

// forbiddenTable reports whether a project's file may not set a key, and returns the forbidden
// table.
func forbiddenTable(key toml.Key) (table toml.Key, not bool) {
	switch {
	case key[0] == "mind" && len(key) > 1:
		return key[:2], !slices.Contains(projectMindKeys, key[1])
	case key[0] == "mind":
		return key, false
	}
	return key[:1], !slices.Contains(projectTables, key[0])
}

func tomlError(shown string, err error) error {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		var line int
		var key string
		message := strings.TrimPrefix(err.Error(), "toml: ")
		if _, err := fmt.Sscanf(message, "line %d (last key %q)", &line, &key); err != nil {
			return fmt.Errorf("%s: %s", shown, message)
		}
		_, message, _ = strings.Cut(message, "): ")
		return fmt.Errorf("%s:%d: %s: %s", shown, line, key, explainMismatch(message))
	}
	message := cmp.Or(parse.Message, parse.Error())
	if parse.LastKey != "" {
		message = parse.LastKey + ": " + message
	}
	return fmt.Errorf("%s:%d: %s", shown, parse.Position.Line, message)
}

// mismatch matches the TOML library's errors about wrong types.
var mismatch = regexp.MustCompile(`TOML value has type (\w+); destination has type (\w+)|expected (table) but found (\w+)`)

func explainMismatch(message string) string {
	m := mismatch.FindStringSubmatch(message)
	if m == nil {
		return message
	}
	words := func(kind string) string {
		switch kind = strings.ToLower(kind); {
		case kind == "string":
			return "text in quotes"
		case kind == "slice", kind == "array":
			return `a list in brackets, such as ["a", "b"]`
		case strings.HasPrefix(kind, "bool"):
			return "true or false"
		case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "float"):
			return "a number without quotes"
		case kind == "map", kind == "struct", kind == "table":
			return "a table"
		}
		return "another type"
	}
	return "must be " + words(m[2]+m[3]) + ", not " + words(m[1]+m[4])
}

func (c *Config) checkValues(shown string, entries []entry) error {
	for _, name := range slices.Sorted(maps.Keys(c.origin)) {
		k, ok := findKey(name)
		if !ok || c.origin[name] != shown {
			continue
		}
		if _, err := k.literal(c.Value(name)); err != nil {
			return fmt.Errorf("%s:%d: %s: %w", shown, findLine(entries, splitName(name)), name, err)
		}
	}
	return nil
}

func (c *Config) findDB() error {
	if strings.HasPrefix(c.DB, "~/") {
		c.DB = filepath.Join(c.env("HOME"), c.DB[2:])
	}
	if c.DB != "" {
		return nil
	}
	dir, err := xdgFolder(c.env, "XDG_DATA_HOME", ".local/share")
	c.DB = filepath.Join(dir, "ponder.db")
	return err
}

func (c *Config) readEnv() error {
	if db := c.env("PONDER_DB"); db != "" {
		c.DB, c.origin["db"] = db, "environment"
	}
	for _, m := range builtinProviders() {
		if m.urlEnv != "" && c.env(m.urlEnv) != "" {
			c.origin["providers."+m.Name+".base_url"] = m.urlEnv
		}
	}
	for name, chain := range map[string]*Chain{
		"fast": &c.Models.Fast, "slow": &c.Models.Slow, "cheap": &c.Models.Cheap,
		"frontier": &c.Models.Frontier, "embed": &c.Models.Embed,
	} {
		variable := "PONDER_MODEL_" + strings.ToUpper(name)
		value := c.env(variable)
		if value == "" {
			continue
		}
		models, err := ParseChain(value)
		if err != nil {
			return fmt.Errorf("%s: %w", variable, err)
		}
		*chain, c.origin["models."+name] = models, variable
	}
	if deep := c.env("OPENAI_DEEP_THINK_MODEL"); deep != "" {
		if !strings.Contains(deep, "/") {
			deep = "openai/" + deep
		}
		c.Models.Deep = deep
	}
	c.Token = Secret(c.env("PONDER_TOKEN"))
	c.Search = Search{
		Exa: cleanKey(c.env("EXA_API_KEY")), Brave: cleanKey(c.env("BRAVE_API_KEY")), Tavily: cleanKey(c.env("TAVILY_API_KEY")),
		SearXNG: c.env("SEARXNG_URL"),
	}
	return nil
}
