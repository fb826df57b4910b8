package main

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

	"ponder/internal/server"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/internal/tui"
	"ponder/knowledge/document"
	"ponder/knowledge/recall"
	"ponder/store/sqlite"
)

func (a *cli) doctorCommand() *cobra.Command {
	var docs []string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what works here, what is missing, and how to get it",
		Long: `Say what works here, what is missing, and how to get it. Exits with 0 if Ponder can
think here at all, with a model or, without one, over documents.`,
		Example: "ponder doctor\nponder doctor --docs ./contract",
		GroupID: groupSetUp,
		Args:    takeNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.doctor(cmd.Context(), docs)
		},
	}
	cmd.Flags().StringArrayVar(&docs, "docs", nil, "try the file or folder at `path`; may be repeated")
	return cmd
}

// A finding is what the doctor says of one thing.
type finding struct {
	About string `json:"about"`
	State state  `json:"state"`
	Says  string `json:"says"`
}

// A state is how a thing is.
type state string

const (
	fine    state = "ok"
	lacking state = "missing" // and one can do without
	broken  state = "broken"  // and Ponder cannot do what is asked of it
)

func (a *cli) doctor(ctx context.Context, docs []string) error {
	found := []finding{{"version", fine, thisBuild().String()}}
	cfg, err := a.Config()
	if err != nil { // all else stands on it
		return a.diagnose(ctx, append(found, finding{"settings", broken, err.Error()}, a.terminalFinding()))
	}
	found = append(found, a.configFinding(cfg))
	found = append(found, a.databaseFindings(ctx)...)
	models, err := a.modelFindings(ctx)
	if err != nil {
		return err
	}
	found = append(append(found, models...), docsFinding(ctx, docs), a.memoryFinding(ctx), a.webFinding())
	found = append(found, a.outsideFindings(ctx)...)
	return a.diagnose(ctx, append(append(found, a.mindFindings(ctx)...), a.terminalFinding()))
}

// diagnose says what was found, and fails if something is broken.
func (a *cli) diagnose(ctx context.Context, found []finding) error {
	sick := false
	var rows [][]string
	for _, f := range found {
		sick = sick || f.State == broken
		f.Says = oneLine(f.Says)
		if a.flags.json {
			if err := a.object(f); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{string(f.State), f.About, f.Says})
	}
	a.table(rows)
	if sick {
		return failure{code: notReady}
	}
	return ctx.Err()
}

func (a *cli) terminalFinding() finding {
	stderr, ok := a.log.out.(*os.File)
	if !ok || !term.IsTerminal(int(stderr.Fd())) {
		return finding{"terminal", fine, "standard error is no terminal: progress is shown as plain lines"}
	}
	width, height, err := term.GetSize(int(stderr.Fd()))
	if err != nil || !tui.CanShow(stderr) {
		return finding{"terminal", fine, "this terminal cannot show a live view: progress is shown as plain lines"}
	}
	colours := "with colours"
	if a.plain() {
		colours = "without colours"
	}
	return finding{"terminal", fine, fmt.Sprintf("%d by %d, %s", width, height, colours)}
}

func (a *cli) configFinding(cfg *config.Config) finding {
	if _, err := os.Stat(cfg.File); err != nil {
		return finding{"settings", fine, "no file yet; `ponder settings KEY VALUE` makes " + cfg.File}
	}
	if n := len(cfg.Warnings); n > 0 {
		return finding{"settings", lacking, fmt.Sprintf("%s, %s", cfg.File, textkit.Count(n, "warning", "warnings"))}
	}
	return finding{"settings", fine, cfg.File}
}

// scarce is the free space below which a disk is nearly full, in bytes.
const scarce = 100 << 20

func (a *cli) databaseFindings(ctx context.Context) []finding {
	file, err := a.Database()
	if err != nil {
		return []finding{{"database", broken, err.Error()}}
	}
	found := []finding{a.databaseFinding(ctx, file)}
	dir := existing(filepath.Dir(file))
	free, known := server.FreeSpace(dir)
	switch {
	case known && free < scarce:
		found = append(found, finding{"disk", broken, fmt.Sprintf("only %s free at %s: free some space, or name another place with --db", textkit.Bytes(free), dir)})
	case known:
		found = append(found, finding{"disk", fine, fmt.Sprintf("%s free at %s", textkit.Bytes(free), dir)})
	}
	return found
}

// checkedFor is how long the pages of a database are looked at.
const checkedFor = 10 * time.Second

func (a *cli) databaseFinding(ctx context.Context, file string) finding {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		dir := existing(filepath.Dir(file))
		probe, err := os.CreateTemp(dir, ".ponder-*")
		if err != nil {
			return finding{"database", broken, fmt.Sprintf("%s cannot be made: %v: name another with --db", file, err)}
		}
		probe.Close()
		os.Remove(probe.Name())
		return finding{"database", fine, file + ", not there yet"}
	}
	if err != nil {
		return finding{"database", broken, err.Error()}
	}
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return a.unopened(err)
	}
	defer store.Close()
	list, err := store.List(ctx, ponder.Filter{})
	if err != nil {
		return a.unopened(err)
	}
	what := fmt.Sprintf("%s, %s, %s", file, textkit.Count(len(list), "thread", "threads"), textkit.Bytes(info.Size()))
	within, cancel := context.WithTimeout(ctx, checkedFor)
	defer cancel()
	switch err := store.Check(within); {
	case within.Err() != nil && ctx.Err() == nil:
		what += fmt.Sprintf("; whether it is whole was not found out in %s", checkedFor)
	case err != nil:
		return finding{"database", broken, fmt.Sprintf("%s: %v: restore a backup of it", file, err)}
	}
	return finding{"database", fine, what}
}

// unopened is what is found of a database that cannot be opened, or read.
func (a *cli) unopened(err error) finding {
	return finding{"database", broken, plainly(err) + a.advice(err)}
}

// existing returns the nearest folder that is there.
func existing(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// maxUnread is how many documents that cannot be read the doctor names.
const maxUnread = 5

// docsFinding says whether documents can be read.
func docsFinding(ctx context.Context, docs []string) finding {
	if len(docs) == 0 {
		return finding{"documents", fine, "Markdown, text, HTML, PDF, DOCX, EPUB, XLSX, CSV, JSON, mail and source code can be read; --docs here tries a path"}
	}
	_, listing, err := app.FindDocs(ctx, "docs", docs, document.Options{})
	if err != nil {
		return finding{"documents", broken, err.Error()}
	}
	trial := app.CheckDocuments(ctx, listing, len(listing.Files))
	tried, unread := trial.Read+len(trial.Unread), trial.Unread
	says := fmt.Sprintf("%s to read, %s", textkit.Count(len(listing.Files), "file", "files"), textkit.Bytes(listing.Bytes()))
	if tried < len(listing.Files) {
		says += fmt.Sprintf("; tried, in %s: %s of them", app.CheckTime, textkit.Number(tried))
	}
	if n := len(listing.Skipped); n > 0 {
		says += fmt.Sprintf("; %d left out%s", n, app.Skipped(listing.Skipped))
	}
	if len(unread) == 0 {
		return finding{"documents", fine, says}
	}
	state, how := lacking, fmt.Sprintf("%s of them cannot be read", textkit.Number(len(unread)))
	if len(unread) == len(listing.Files) {
		state, how = broken, "none of them can be read"
	}
	var why []string
	for _, u := range unread[:min(len(unread), maxUnread)] {
		why = append(why, nearPath(u.Path)+": "+u.Reason)
	}
	if more := len(unread) - maxUnread; more > 0 {
		why = append(why, "and "+textkit.Number(more)+" more")
	}
	return finding{"documents", state, fmt.Sprintf("%s; %s (%s)", says, how, strings.Join(why, "; "))}
}

// modelFindings says which models there are, whether they will answer, and what
// else could be asked.
func (a *cli) modelFindings(ctx context.Context) ([]finding, error) {
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return nil, err
	}
	found := []finding{a.keyFinding()}
	found = append(found, a.ollamaFinding(ctx, l.Empty()))
	if l.Empty() {
		todo := "start Ollama, or set a key such as ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY"
		if l.Missed != nil {
			todo = l.Missed.Error()
		}
		return append(found, finding{"models", lacking, "none: Ponder quotes documents (--docs), and cannot think for itself; " + todo}), nil
	}
	answers := make(map[string]func() error)
	for _, c := range l.Choices {
		for _, full := range c.Models {
			if answers[full] == nil {
				answers[full] = l.CheckModel(ctx, full)
			}
		}
	}
	for _, c := range l.Choices {
		found = append(found, roleFinding(l, c, answers))
	}
	return found, nil
}

// roleFinding says of each of a role's models what it costs, or why it will not answer.
func roleFinding(l *app.ModelSet, c config.Choice, answers map[string]func() error) finding {
	about := string(c.Role)
	if c.Models == nil {
		return finding{about, lacking, "no model"}
	}
	state := lacking
	if slices.Contains(app.SessionRoles(), c.Role) {
		state = broken
	}
	var says []string
	for i, full := range c.Models {
		name := full
		if i == 0 {
			name += " (" + c.From + ")"
		}
		if err := answers[full](); err != nil {
			says = append(says, fmt.Sprintf("%s will not answer: %v", name, err))
			continue
		}
		state = fine
		if m, err := l.Model(full); err == nil {
			name += ", " + app.PriceText(m.Price)
		}
		says = append(says, name)
	}
	return finding{about, state, strings.Join(says, "; then ")}
}

// keyFinding says which keys are set, never what they are.
func (a *cli) keyFinding() finding {
	var set []string
	for _, name := range a.Settings.ProviderNames() {
		if p, err := a.Settings.Provider(name); err == nil && p.Key != "" {
			set = append(set, fmt.Sprintf("%s %s", p.KeyEnv, p.Key))
		}
	}
	if len(set) == 0 {
		return finding{"keys", lacking, "none is set in the environment"}
	}
	return finding{"keys", fine, strings.Join(set, ", ")}
}

func (a *cli) ollamaFinding(ctx context.Context, needed bool) finding {
	base, installed, err := a.Settings.Ollama(ctx, http.DefaultClient)
	var refused config.Refusal
	switch {
	case base == "" || errors.As(err, &refused):
		return finding{"ollama", lacking, err.Error()}
	case err != nil && (needed || os.Getenv("OLLAMA_HOST") != ""):
		return finding{"ollama", lacking, fmt.Sprintf("no answer at %s: start it with `ollama serve`, or get it from https://ollama.com", base)}
	case err != nil:
		return finding{"ollama", lacking, fmt.Sprintf("no answer at %s", base)}
	case len(installed) == 0:
		return finding{"ollama", lacking, fmt.Sprintf("runs at %s and has no models: `ollama pull llama3.1`", base)}
	}
	return finding{"ollama", fine, fmt.Sprintf("runs at %s with %s", base, textkit.Count(len(installed), "model", "models"))}
}

// memoryFinding says whether anything is remembered, and how it is searched.
func (a *cli) memoryFinding(ctx context.Context) finding {
	s, err := a.OpenLibraryReadOnly(ctx)
	if errors.Is(err, app.ErrNothingKnown) {
		return finding{"memory", fine, a.line(app.ErrNothingKnown)}
	}
	if err != nil {
		return finding{"memory", broken, err.Error()}
	}
	defer s.Close()
	list, err := s.List(ctx, recall.Filter{N: 1})
	if err != nil {
		return finding{"memory", broken, err.Error()}
	}
	if len(list) == 0 {
		return finding{"memory", fine, a.line(app.ErrNothingKnown)}
	}
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return finding{"memory", broken, err.Error()}
	}
	if e := l.Embedder(); e.Embed != nil {
		return finding{"memory", fine, "searched by words and, with " + e.Model + ", by meaning"}
	}
	if wanted := l.Choices.Of(ponder.Embed).Models; l.Config.Models.Embed != nil && len(wanted) > 0 {
		name, _, _ := strings.Cut(wanted[0], "/")
		_, err := l.Provider(name)
		return finding{"memory", broken, fmt.Sprintf("searched by words only: %s: %v", wanted[0], err)}
	}
	return finding{"memory", fine, "searched by words; to search by meaning too, set models.embed, such as ollama/nomic-embed-text"}
}

// webFinding says how the web is searched.
func (a *cli) webFinding() finding {
	n, err := a.Web(nil)
	if err != nil {
		return finding{"web", broken, err.Error()}
	}
	defer n.Fetcher.Close()
	if n.Searcher == nil {
		return finding{"web", lacking, app.ErrNoSearch.Error()}
	}
	return finding{"web", fine, "searched with " + strings.Join(n.Names, ", ")}
}
