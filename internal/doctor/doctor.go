// Package doctor examines the parts that Ponder needs, and suggests remedies.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/server"
	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/knowledge/recall"
	"ponder/store/sqlite"
)

type Finding struct {
	About   string `json:"about"`
	State   State  `json:"state"`
	Message string `json:"says"`
}

// A State is the condition of a part.
type State string

const (
	OK      State = "ok"
	Missing State = "missing" // optional
	Broken  State = "broken"  // a feature that the user uses fails
)

// Options extend the examination.
type Options struct {
	Docs    []string                 // files and folders to try
	Explain func(error) string       // formats an error for the user
	Near    func(path string) string // formats a path for the user
}

type examiner struct {
	*app.App
	Options
}

// Examine examines all parts. If the configuration cannot be read, that is the only finding.
func Examine(ctx context.Context, a *app.App, o Options) ([]Finding, error) {
	e := &examiner{a, o}
	cfg, err := a.Config()
	if err != nil {
		return []Finding{{"settings", Broken, err.Error()}}, nil //nolint:nilerr // the finding reports it
	}
	found := append([]Finding{configFinding(cfg)}, e.templatesFinding(cfg)...)
	found = append(append(found, e.databaseFindings(ctx)...), e.crashFindings()...)
	found = append(found, memoryLimitFinding(), pdfFinding())
	models, err := e.modelFindings(ctx)
	if err != nil {
		return nil, err
	}
	found = append(append(found, models...), e.docsFinding(ctx), e.memoryFinding(ctx), e.webFinding())
	return append(append(append(found, e.callFindings(ctx)...), e.serverFindings(ctx)...), e.mindFindings(ctx)...), nil
}

func configFinding(cfg *config.Config) Finding {
	if _, err := os.Stat(cfg.File); err != nil {
		return Finding{"settings", OK, "no file yet; `ponder settings KEY VALUE` creates " + cfg.File}
	}
	if n := len(cfg.Warnings); n > 0 {
		return Finding{"settings", Missing, fmt.Sprintf("%s, %s", cfg.File, textkit.Count(n, "warning", "warnings"))}
	}
	return Finding{"settings", OK, cfg.File}
}

// templatesFinding examines the templates of the tool think, if the user has selected any.
func (e *examiner) templatesFinding(cfg *config.Config) []Finding {
	names := cfg.Thinking.Templates
	if len(names) == 0 {
		return nil
	}
	if err := e.CheckTemplates(names...); err != nil {
		return []Finding{{"thinking", Broken, err.Error() + "; correct it with `ponder settings thinking.templates NAME`"}}
	}
	return []Finding{{"thinking", OK, "templates " + strings.Join(names, ", ")}}
}

// lowDiskBytes is the free space that counts as nearly full, in bytes.
const lowDiskBytes = 100 << 20

func (e *examiner) databaseFindings(ctx context.Context) []Finding {
	file, err := e.Database()
	if err != nil {
		return []Finding{{"database", Broken, err.Error()}}
	}
	found := []Finding{e.databaseFinding(ctx, file)}
	dir := existingFolder(filepath.Dir(file))
	free, known := server.FreeSpace(dir)
	switch {
	case known && free < lowDiskBytes:
		found = append(found, Finding{"disk", Broken, fmt.Sprintf("only %s free at %s: free disk space, or use another file with --db", textkit.Bytes(free), dir)})
	case known:
		found = append(found, Finding{"disk", OK, fmt.Sprintf("%s free at %s", textkit.Bytes(free), dir)})
	}
	return found
}

// databaseCheckTime limits the check of the database's pages.
const databaseCheckTime = 10 * time.Second

func (e *examiner) databaseFinding(ctx context.Context, file string) Finding {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		dir := existingFolder(filepath.Dir(file))
		probe, err := os.CreateTemp(dir, ".ponder-*")
		if err != nil {
			return Finding{"database", Broken, fmt.Sprintf("cannot create %s: %v; use another file with --db", file, err)}
		}
		probe.Close()
		os.Remove(probe.Name())
		return Finding{"database", OK, file + ", not created yet"}
	}
	if err != nil {
		return Finding{"database", Broken, err.Error()}
	}
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return e.databaseError(err)
	}
	defer store.Close()
	list, err := store.List(ctx, ponder.Filter{})
	if err != nil {
		return e.databaseError(err)
	}
	what := fmt.Sprintf("%s, %s, %s", file, textkit.Count(len(list), "thread", "threads"), textkit.Bytes(info.Size()))
	within, cancel := context.WithTimeout(ctx, databaseCheckTime)
	defer cancel()
	switch err := store.Check(within); {
	case within.Err() != nil && ctx.Err() == nil:
		what += fmt.Sprintf("; the check did not finish in %s", databaseCheckTime)
	case err != nil:
		return Finding{"database", Broken, fmt.Sprintf("%s: %v; restore a backup", file, err)}
	}
	return Finding{"database", OK, what}
}

func (e *examiner) databaseError(err error) Finding {
	return Finding{"database", Broken, e.Explain(err)}
}

// existingFolder returns the nearest existing folder.
func existingFolder(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// maxUnread bounds the list of unreadable documents.
const maxUnread = 5

func (e *examiner) docsFinding(ctx context.Context) Finding {
	if len(e.Docs) == 0 {
		return Finding{"documents", OK, "readable: Markdown, text, HTML, PDF, DOCX, EPUB, XLSX, CSV, JSON, mail and source code; check a path with --docs"}
	}
	_, listing, err := app.FindDocs(ctx, "docs", e.Docs, document.Options{})
	if err != nil {
		return Finding{"documents", Broken, err.Error()}
	}
	trial := app.CheckDocuments(ctx, listing, len(listing.Files))
	tried, unread := trial.Read+len(trial.Unread), trial.Unread
	says := fmt.Sprintf("%s found, %s", textkit.Count(len(listing.Files), "file", "files"), textkit.Bytes(listing.Bytes()))
	if tried < len(listing.Files) {
		says += fmt.Sprintf("; checked in %s: %s of them", app.CheckTime, textkit.Number(tried))
	}
	if n := len(listing.Skipped); n > 0 {
		says += fmt.Sprintf("; %d ignored%s", n, app.Skipped(listing.Skipped))
	}
	if len(unread) == 0 {
		return Finding{"documents", OK, says}
	}
	state, how := Missing, fmt.Sprintf("%s of them are unreadable", textkit.Number(len(unread)))
	if len(unread) == len(listing.Files) {
		state, how = Broken, "all of them are unreadable"
	}
	var why []string
	for _, u := range unread[:min(len(unread), maxUnread)] {
		why = append(why, e.Near(u.Path)+": "+u.Reason)
	}
	if more := len(unread) - maxUnread; more > 0 {
		why = append(why, "and "+textkit.Number(more)+" more")
	}
	return Finding{"documents", state, fmt.Sprintf("%s; %s (%s)", says, how, strings.Join(why, "; "))}
}

// modelFindings reports the servers and keys, and which models answer. Without a model, one
// finding has the remedy.
func (e *examiner) modelFindings(ctx context.Context) ([]Finding, error) {
	l, err := e.ModelSet(ctx, "")
	if err != nil {
		return nil, err
	}
	if l.Empty() {
		todo := "start Ollama, set a key such as ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or set providers.NAME.base_url to another server"
		if l.Missed != nil {
			todo = l.Missed.Error()
		}
		return []Finding{{"models", Missing, "none: without a model, Ponder only quotes documents (--docs); " + todo}}, nil
	}
	found := e.keyFindings()
	found = append(found, e.localFindings(ctx, l)...)
	m := modelExaminer{ModelSet: l, answers: make(map[modelUse]func() error), first: make(map[modelUse]config.Choice)}
	for _, c := range l.Choices {
		for _, full := range c.Models {
			use := modelUse{full, c.Role == ponder.Embed}
			if m.answers[use] == nil {
				m.answers[use] = l.CheckUse(ctx, full, use.embed)
			}
			if have, ok := m.first[use]; !ok || have.Borrowed && !c.Borrowed {
				m.first[use] = c
			}
		}
	}
	for _, c := range l.Choices {
		found = append(found, m.roleFinding(c))
	}
	return found, nil
}

// A modelExaminer reports the models of roles. Each unavailable model is explained once.
type modelExaminer struct {
	*app.ModelSet
	answers map[modelUse]func() error
	first   map[modelUse]config.Choice // of the role that explains an unavailable model
}

type modelUse struct {
	model string
	embed bool
}

func (m modelExaminer) roleFinding(c config.Choice) Finding {
	about := string(c.Role)
	switch {
	case c.Models == nil && c.Role != ponder.Embed:
		return Finding{about, Missing, "no model"}
	case c.Models == nil:
		return Finding{about, Missing, "no model: memory is searched only by words; for search by meaning, set models.embed, such as ollama/nomic-embed-text"}
	}
	state := Missing
	if slices.Contains(app.SessionRoles(), c.Role) {
		state = Broken
	}
	var says []string
	for i, full := range c.Models {
		name := full
		if i == 0 {
			name += " (" + c.From + ")"
		}
		use := modelUse{full, c.Role == ponder.Embed}
		if err := m.answers[use](); err != nil {
			why := strings.TrimPrefix(err.Error(), full+": ")
			if first := m.first[use].Role; first != c.Role {
				why = "see " + string(first)
			}
			says = append(says, name+" is not available: "+why)
			continue
		}
		state = OK
		if model, err := m.Model(full); err == nil {
			if n := m.ModelContext(full); n > 0 {
				name += fmt.Sprintf(", context of %d tokens", n)
			}
			name += fmt.Sprintf(", up to %d at once, %s", m.MaxConcurrent(full), app.PriceText(model.Price))
		}
		says = append(says, name)
	}
	return Finding{about, state, strings.Join(says, "; then ")}
}

// keyFindings names the keys that are set, without their values.
func (e *examiner) keyFindings() []Finding {
	var set []string
	for _, name := range e.Settings.ProviderNames() {
		if p, err := e.Settings.Provider(name); err == nil && p.Key != "" {
			set = append(set, fmt.Sprintf("%s %s", p.KeyEnv, p.Key))
		}
	}
	if len(set) == 0 {
		return nil
	}
	return []Finding{{"keys", OK, strings.Join(set, ", ")}}
}

// localFindings reports the local servers. An Ollama that does not run is a problem only if the
// user gave its address. The findings of roles explain a server that one of their models needs.
func (e *examiner) localFindings(ctx context.Context, l *app.ModelSet) (found []Finding) {
	for _, s := range e.Settings.ProbeServers(ctx, http.DefaultClient) {
		needed := slices.ContainsFunc(l.Choices, func(c config.Choice) bool {
			return slices.ContainsFunc(c.Models, func(full string) bool { return strings.HasPrefix(full, s.Name+"/") })
		})
		switch {
		case s.Err == nil && len(s.Models) > 0:
			found = append(found, Finding{s.Name, OK, fmt.Sprintf("runs at %s with %s", s.BaseURL, countModels(s.Models))})
		case s.Remedy != nil && !needed:
			found = append(found, Finding{s.Name, Missing, s.Remedy.Error()})
		}
	}
	return found
}

// countModels counts models, and those for embedding.
func countModels(list []config.ServedModel) string {
	text, embed := textkit.Count(len(list), "model", "models"), 0
	for _, m := range list {
		if m.Use == config.ForEmbed {
			embed++
		}
	}
	if embed > 0 {
		text += fmt.Sprintf(", %d for embedding", embed)
	}
	return text
}

// memoryFinding reports whether there are memories, and how they are searched.
func (e *examiner) memoryFinding(ctx context.Context) Finding {
	s, err := e.OpenLibraryReadOnly(ctx)
	if errors.Is(err, app.ErrNothingKnown) {
		return Finding{"memory", OK, e.Explain(app.ErrNothingKnown)}
	}
	if err != nil {
		return Finding{"memory", Broken, err.Error()}
	}
	defer s.Close()
	list, err := s.List(ctx, recall.Filter{N: 1})
	if err != nil {
		return Finding{"memory", Broken, err.Error()}
	}
	if len(list) == 0 {
		return Finding{"memory", OK, e.Explain(app.ErrNothingKnown)}
	}
	l, err := e.ModelSet(ctx, "")
	if err != nil {
		return Finding{"memory", Broken, err.Error()}
	}
	if e := l.Embedder(); e.Embed != nil {
		return Finding{"memory", OK, "searched by words and, with " + e.Model + ", by meaning"}
	}
	return Finding{"memory", OK, "searched only by words"}
}

func (e *examiner) webFinding() Finding {
	n, err := e.Web(nil)
	if err != nil {
		return Finding{"web", Broken, err.Error()}
	}
	defer n.Fetcher.Close()
	if n.Searcher == nil {
		return Finding{"web", Missing, app.ErrNoSearch.Error()}
	}
	return Finding{"web", OK, "searched with " + strings.Join(n.Names, ", ")}
}
