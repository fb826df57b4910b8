// Package layers tests the import rules of docs/ARCHITECTURE.md. Change both together.
package layers

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is the module path. scripts/module sets it.
var module = modulePath()

func modulePath() string {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		panic(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(line, "module ")
}

// A rule lists the imports that packages may have besides the standard library. Patterns are those of
// path.Match, relative to the module.
type rule struct {
	packages string
	ours     []string // packages of this module
	theirs   []string // path prefixes of other modules
}

// everywhere lists the packages that every package may import.
var everywhere = []string{"internal/textkit", "internal/fileio", "internal/limitio", "internal/netaddr", "internal/toolname", "internal/guard"}

// The first matching rule applies. A package without a rule fails the test.
var rules = []rule{
	// Text and bytes: they import nothing of this module.
	{packages: "internal/textkit"},
	{packages: "internal/toolname"},
	{packages: "internal/limitio"},
	{packages: "internal/fileio"},
	{packages: "internal/process", theirs: []string{"golang.org/x/sys/unix", "github.com/KimMachineGun/automemlimit/memlimit"}},

	{packages: "internal/guard"},
	{packages: "internal/netaddr", theirs: []string{"golang.org/x/net/http/httpproxy", "golang.org/x/net/idna"}},
	{packages: "internal/webhook"},

	// The core: models, the vocabulary and the engine.
	{packages: "llm", theirs: []string{"github.com/google/jsonschema-go/"}},
	{packages: ".", ours: []string{"llm"}},
	{packages: "engine", ours: []string{".", "llm"}},

	// Providers import the wire format, but not each other.
	{packages: "llm/internal/*", ours: []string{"llm"}},
	{packages: "llm/llmtest/internal/*", ours: []string{"llm"}},
	{packages: "llm/llmtest", ours: []string{"llm", "llm/llmtest/internal/*"}},
	{packages: "llm/*", ours: []string{"llm", "llm/internal/*"}},

	{packages: "internal/taint", ours: []string{".", "llm", "knowledge/lookup", "internal/textkit/lexical"}},

	// Leaves import the core and, with few exceptions, no other leaf.
	{packages: "internal/textkit/similarity", theirs: []string{"golang.org/x/text/", "github.com/blevesearch/snowballstem"}},
	{packages: "internal/calibration"},
	{packages: "internal/locale"},
	{packages: "internal/transcript", ours: []string{".", "tool/approval"}},
	{packages: "mode/research", ours: []string{".", "llm", "internal/taint", "llm/structured", "internal/textkit/similarity", "knowledge/evidence", "knowledge/claim", "internal/textkit/lexical", "internal/redact", "mode/internal/*"}},
	{packages: "mode/subconscious", ours: []string{".", "llm", "llm/structured", "internal/textkit/similarity", "knowledge/evidence", "internal/textkit/lexical", "mode/internal/*"}},
	{packages: "mode/session", ours: []string{".", "llm", "internal/taint", "llm/structured", "internal/textkit/similarity", "knowledge/evidence", "knowledge/claim", "mode/internal/*"}},
	{packages: "mode/internal/runstate", ours: []string{".", "llm", "mode/internal/pendingwrites"}},
	{packages: "mode/internal/steerstate", ours: []string{".", "mode/internal/lookup", "mode/internal/usage"}},
	{packages: "mode/internal/*", ours: []string{".", "knowledge/lookup", "llm", "internal/textkit/similarity", "knowledge/evidence", "internal/textkit/lexical"}},
	{packages: "mode/*", ours: []string{".", "llm", "internal/taint", "llm/structured", "internal/textkit/similarity", "knowledge/evidence", "mode/internal/*"}},
	{packages: "knowledge/claim", ours: []string{".", "internal/textkit/similarity", "internal/textkit/lexical"}, theirs: []string{"golang.org/x/text/"}},
	{packages: "internal/textkit/layout", theirs: []string{"charm.land/lipgloss/"}},
	{packages: "internal/textkit/ranking"},
	{packages: "internal/textkit/charset", theirs: []string{"golang.org/x/net/html/charset", "golang.org/x/text/", "github.com/gogs/chardet"}},
	{packages: "internal/textkit/lexical", theirs: []string{"golang.org/x/text/", "github.com/blevesearch/snowballstem", "github.com/abadojack/whatlanggo"}},
	{packages: "knowledge/document", ours: []string{"internal/textkit/ranking", "internal/textkit/lexical", "internal/textkit/charset"}, theirs: []string{"golang.org/x/net/html", "golang.org/x/text/", "github.com/tetratelabs/wazero", "github.com/emersion/go-message"}},
	{packages: "knowledge/archive", ours: []string{"store/sqldb"}},
	{packages: "knowledge/evidence", ours: []string{".", "internal/textkit/similarity", "internal/textkit/lexical"}},
	{packages: "knowledge/lookup", ours: []string{"."}},
	{packages: "knowledge/recall", ours: []string{"internal/textkit/ranking", "knowledge/archive", "knowledge/document", "internal/textkit/lexical", "store/sqldb", "knowledge/recall/*"}},
	{packages: "knowledge/recall/index", ours: []string{"internal/textkit/ranking", "internal/textkit/lexical", "store/sqldb"}},
	{packages: "knowledge/recall/vector", ours: []string{"internal/textkit/ranking", "store/sqldb"}, theirs: []string{"golang.org/x/sys/cpu"}},
	{packages: "knowledge/recall/query", ours: []string{"internal/textkit/lexical"}},
	{packages: "knowledge/web", ours: []string{"internal/textkit/charset", "knowledge/archive", "knowledge/document", "knowledge/web/*"}, theirs: []string{"golang.org/x/net/", "golang.org/x/text/"}},
	{packages: "knowledge/web/extract", ours: []string{"internal/textkit/lexical"}, theirs: []string{"golang.org/x/net/html", "codeberg.org/readeck/go-readability/", "github.com/markusmobius/go-domdistiller", "github.com/JohannesKaufmann/html-to-markdown/"}},
	{packages: "knowledge/web/search", ours: []string{"internal/textkit/ranking", "knowledge/archive"}, theirs: []string{"golang.org/x/net/html", "golang.org/x/net/idna"}},
	{packages: "knowledge/web/search/searchtest"},
	{packages: "tool/knowledge", ours: []string{".", "knowledge/lookup", "knowledge/document", "knowledge/recall", "knowledge/evidence"}},
	{packages: "tool/thread", ours: []string{".", "knowledge/document"}},
	{packages: "tool/memory", ours: []string{".", "knowledge/lookup", "knowledge/recall"}},
	{packages: "tool/web", ours: []string{".", "knowledge/lookup", "knowledge/document", "knowledge/web", "knowledge/web/*", "knowledge/evidence"}},
	{packages: "tool/think", ours: []string{".", "internal/redact"}},
	{packages: "tool/command", ours: []string{".", "llm", "internal/process"}},
	{packages: "tool/mcp", ours: []string{".", "llm", "internal/process"}, theirs: []string{"github.com/modelcontextprotocol/go-sdk/"}},
	{packages: "tool/approval", ours: []string{"internal/taint"}},
	{packages: "tool/*", ours: []string{"."}},
	{packages: "sensor", ours: []string{"."}},
	{packages: "sensor/mail", ours: []string{".", "sensor", "internal/textkit/charset"}, theirs: []string{"github.com/emersion/", "golang.org/x/net/html"}},
	{packages: "sensor/calendar", ours: []string{".", "sensor"}, theirs: []string{"github.com/emersion/", "github.com/teambition/rrule-go"}},
	{packages: "sensor/files", ours: []string{".", "sensor"}, theirs: []string{"github.com/fsnotify/fsnotify"}},
	{packages: "sensor/system", ours: []string{".", "sensor"}, theirs: []string{"github.com/shirou/gopsutil/"}},
	{packages: "sensor/feed", ours: []string{".", "sensor"}, theirs: []string{"github.com/mmcdole/gofeed"}},
	{packages: "sensor/notify", ours: []string{"internal/links", "internal/webhook"}, theirs: []string{"github.com/emersion/go-message"}},
	{packages: "sensor/ponder", ours: []string{".", "sensor", "internal/textkit/lexical"}},
	{packages: "sensor/command", ours: []string{".", "sensor", "internal/process"}},
	{packages: "sensor/*", ours: []string{".", "sensor"}},
	{packages: "internal/redact"},
	{packages: "internal/links"},
	{packages: "internal/retention", ours: []string{".", "llm"}},
	{packages: "store/internal/*", ours: []string{".", "llm"}},
	{packages: "store/storetest", ours: []string{".", "llm"}, theirs: []string{"github.com/google/go-cmp/"}},
	{packages: "store/memory", ours: []string{".", "llm", "store/internal/*"}},
	{packages: "store/sqldb"},
	{packages: "store/sqlite", ours: []string{".", "llm", "store/internal/*", "store/sqldb"}, theirs: []string{"modernc.org/sqlite"}},
	{packages: "engine/enginetest", ours: []string{".", "engine", "llm", "store/memory"}},

	// Surfaces and plumbing import the core only, so that each can be read alone.
	{packages: "internal/config", ours: []string{".", "llm", "internal/redact", "internal/retention"}, theirs: []string{"github.com/BurntSushi/toml"}},
	{packages: "internal/placement", ours: []string{"."}, theirs: []string{"github.com/dbos-inc/dbos-transact-golang/", "github.com/robfig/cron/", "golang.org/x/sys/"}},
	{packages: "internal/mindrunner", ours: []string{".", "mode/subconscious", "sensor", "sensor/notify"}},
	{packages: "internal/crash", ours: []string{"."}},
	{packages: "internal/auth"},
	{packages: "internal/folders"},
	{packages: "internal/page"},
	{packages: "internal/pdf", ours: []string{"internal/process"}},
	{packages: "internal/credential", ours: []string{"internal/auth", "store/sqldb"}},
	{packages: "internal/planfile", ours: []string{"."}},
	{packages: "internal/schedule", ours: []string{"."}},
	{packages: "internal/notice", ours: []string{".", "sensor/notify"}},
	{packages: "internal/steering", ours: []string{".", "mode/session"}},
	{packages: "internal/interpret", ours: []string{".", "engine", "llm", "internal/steering", "store/memory"}},
	{packages: "internal/app", ours: []string{".", "engine", "internal/taint", "llm", "llm/*", "mode/*", "tool/*", "sensor", "sensor/*", "knowledge/*", "knowledge/*/*", "store/*", "internal/auth", "internal/calibration", "internal/config", "internal/interpret", "internal/limitio", "internal/metrics", "internal/mindrunner", "internal/modelwindow", "internal/notice", "internal/placement", "internal/quota", "internal/redact", "internal/report", "internal/retention", "internal/schedule", "internal/steering", "internal/stream", "internal/transcript", "internal/textkit/*", "internal/locale", "internal/crash"}, theirs: []string{"golang.org/x/sys/"}},

	{packages: "internal/quota", ours: []string{".", "llm", "internal/textkit", "store/sqldb"}},
	{packages: "internal/modelwindow", ours: []string{"llm"}},
	{packages: "internal/mindlog", ours: []string{".", "mode/subconscious", "internal/app", "internal/config", "internal/mindrunner", "internal/report"}},
	{packages: "internal/liveview", ours: []string{".", "internal/app", "internal/report", "internal/steering", "internal/transcript", "internal/tui", "knowledge/claim", "knowledge/evidence"}},
	{packages: "internal/doctor", ours: []string{".", "knowledge/document", "knowledge/recall", "store/sqlite", "internal/app", "internal/config", "internal/crash", "internal/mindlog", "internal/process", "internal/server"}},
	{packages: "internal/eval", ours: []string{".", "engine", "llm", "mode/*", "knowledge/document", "store/sqlite", "internal/app", "internal/config", "internal/placement", "internal/quota", "internal/report"}},
	{packages: "internal/compat", ours: []string{".", "llm", "mode/chat", "mode/title", "mode/passthrough", "mode/session", "mode/research", "internal/auth", "internal/steering", "internal/stream", "internal/app"}},
	{packages: "internal/compat/protocoltest", ours: []string{".", "engine", "llm", "llm/llmtest", "mode/chat", "mode/title", "mode/passthrough", "mode/session", "mode/research", "store/memory", "internal/placement", "internal/auth", "internal/locale", "internal/stream", "internal/taint", "internal/app", "internal/compat"}},
	{packages: "internal/compat/completions", ours: []string{".", "llm", "mode/research", "internal/auth", "internal/stream", "internal/app", "internal/compat"}, theirs: []string{"github.com/danielgtaylor/huma/"}},
	{packages: "internal/compat/mcp", ours: []string{".", "llm", "internal/auth", "internal/locale", "internal/steering", "internal/stream", "internal/app", "internal/compat", "internal/compat/*"}, theirs: []string{"github.com/modelcontextprotocol/go-sdk/", "github.com/google/jsonschema-go/"}},
	{packages: "internal/compat/responses", ours: []string{".", "llm", "internal/auth", "internal/steering", "internal/stream", "internal/app", "internal/compat", "internal/compat/openai", "internal/webhook"}, theirs: []string{"github.com/coder/websocket"}},
	{packages: "internal/compat/ways", ours: []string{".", "llm", "internal/steering", "internal/app", "internal/compat", "mode/chat", "tool/approval"}},
	{packages: "internal/compat/a2a", ours: []string{".", "llm", "internal/app", "internal/auth", "internal/stream", "internal/compat", "internal/compat/ways", "internal/webhook"}, theirs: []string{"github.com/a2aproject/a2a-go/"}},
	{packages: "internal/compat/acp", ours: []string{".", "llm", "internal/app", "internal/auth", "internal/compat", "internal/compat/ways"}, theirs: []string{"github.com/coder/acp-go-sdk"}},
	{packages: "internal/compat/*", ours: []string{".", "llm", "internal/auth", "internal/steering", "internal/stream", "internal/app", "internal/compat", "internal/compat/*"}},
	{packages: "internal/server", ours: []string{".", "llm", "internal/app", "internal/auth", "internal/compat", "internal/compat/*", "internal/config", "internal/credential", "internal/httpapi", "internal/metrics", "internal/pdf", "internal/placement", "internal/process", "internal/stream", "internal/textkit/*", "internal/webhook"}, theirs: []string{"golang.org/x/sys/"}},
	{packages: "internal/httpapi", ours: []string{".", "llm", "knowledge/lookup", "knowledge/recall", "internal/transcript", "mode/chat", "mode/session", "mode/research", "internal/auth", "internal/config", "internal/eval", "internal/folders", "internal/locale", "internal/mindlog", "internal/report", "internal/stream", "internal/app", "internal/credential", "internal/schedule", "internal/steering", "internal/compat", "internal/compat/completions"}, theirs: []string{"github.com/danielgtaylor/huma/", "github.com/yuin/goldmark"}},
	{packages: "internal/stream", ours: []string{".", "knowledge/lookup", "internal/auth", "internal/links", "llm"}},
	{packages: "internal/metrics", ours: []string{".", "llm"}, theirs: []string{"github.com/prometheus/client_golang/prometheus", "go.opentelemetry.io/otel"}},
	{packages: "client", ours: []string{"."}},
	{packages: "internal/tui", theirs: []string{"charm.land/", "github.com/charmbracelet/", "github.com/yuin/goldmark", "golang.org/x/term", "golang.org/x/sys/"}},
	{packages: "internal/report", ours: []string{".", "mode/session", "mode/research", "knowledge/claim", "internal/textkit/similarity", "internal/textkit/layout", "internal/links"}, theirs: []string{"github.com/yuin/goldmark/"}},
	{packages: "internal/layers"},
	{packages: "internal/licenses"},
	{packages: "internal/racetest"},

	// The packages that combine all others.
	{packages: "cmd/ponder-sim", ours: []string{"llm", "llm/llmtest", "knowledge/web/search/searchtest"}},
	{packages: "cmd/ponder", ours: []string{".", "*", "*/*", "*/*/*", "*/*/*/*"}, theirs: []string{"github.com/spf13/", "charm.land/", "golang.org/x/term", "golang.org/x/sys/", "github.com/charmbracelet/"}},
	{packages: "examples/*", ours: []string{".", "client", "engine", "llm", "llm/*", "mode/*", "store/*"}}, // compiled outside of the module too
	{packages: "test/simulation"}, // tests only
	{packages: "test/clocks"},     // tests only
	{packages: "test/clients"},
	{packages: "test/attacks"}, // tests only
	{packages: "cmd/ponder-bench", ours: []string{".", "*", "*/*", "*/*/*"}, theirs: []string{"codeberg.org/readeck/go-readability/", "golang.org/x/sys/unix", "modernc.org/sqlite"}},
}

// TestImports reads the sources itself: with "go list", the go command would cache a stale result.
func TestImports(t *testing.T) {
	seen := 0
	for _, file := range listSources(t) {
		seen += checkImports(t, file)
	}
	if seen < 100 {
		t.Fatalf("found only %d imports to check", seen)
	}
}

var root = filepath.Join("..", "..")

func listSources(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && d.Name() != ".") {
			return fs.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// checkImports returns the number of imports.
func checkImports(t *testing.T, file string) int {
	t.Helper()
	pkg, imports := packageOf(t, file), importsOf(t, file)
	i := slices.IndexFunc(rules, func(r rule) bool { return matchPattern(r.packages, pkg) })
	if i < 0 {
		t.Errorf("%s: no rule lists its imports", pkg)
		return 0
	}
	for _, p := range imports {
		if !rules[i].isAllowed(p) {
			t.Errorf("%s must not import %s", file, p)
		}
	}
	return len(imports)
}

func (r rule) isAllowed(imp string) bool {
	if imp == module || strings.HasPrefix(imp, module+"/") {
		if slices.Contains(everywhere, relativePath(imp)) {
			return true
		}
		return slices.ContainsFunc(r.ours, func(p string) bool { return matchPattern(p, relativePath(imp)) })
	}
	if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") {
		return true // the standard library
	}
	return slices.ContainsFunc(r.theirs, func(p string) bool { return strings.HasPrefix(imp, p) })
}

func relativePath(pkg string) string {
	if pkg == module {
		return "."
	}
	return strings.TrimPrefix(pkg, module+"/")
}

func matchPattern(pattern, pkg string) bool {
	ok, _ := path.Match(pattern, pkg)
	return ok
}
