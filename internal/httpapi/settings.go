package httpapi

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/config"
	"ponder/internal/folders"
)

func (a *api) registerSettings() {
	op := func(scope auth.Scope, method, path, id, summary string, errs ...int) huma.Operation {
		return a.newOperation(scope, method, path, id, summary, tagServer, append(errs, http.StatusNotFound)...)
	}
	huma.Register(a.huma, op(auth.Admin, http.MethodGet, "/api/settings", "list-settings", "Show the settings of the server"), a.listSettings)
	set := op(auth.Admin, http.MethodPost, "/api/settings", "change-settings", "Change settings in the configuration file of the server", http.StatusUnprocessableEntity)
	set.Description = "The server applies models and providers at once, and other settings at its next start."
	huma.Register(a.huma, set, a.changeSettings)
	huma.Register(a.huma, op(auth.Admin, http.MethodGet, "/api/keys", "list-keys", "Show which keys of providers and search engines are set"), a.listKeys)
	save := op(auth.Admin, http.MethodPost, "/api/keys", "save-key", "Save a key in the key file of the server", http.StatusUnprocessableEntity)
	save.Description = "Only the user of the server can read the file. A variable of the environment takes precedence over it."
	huma.Register(a.huma, save, a.saveKey)
	huma.Register(a.huma, op(auth.Admin, http.MethodDelete, "/api/keys/{id}", "remove-key", "Remove a key from the key file of the server", http.StatusUnprocessableEntity), a.removeKey)
	list := op(auth.Read, http.MethodGet, "/api/folders", "list-folders", "List the folders that may be sources")
	list.Description = "The setting `serve.folders` names the roots. On a server without tokens, its user may choose all folders below the home folder."
	huma.Register(a.huma, list, a.listFolders)
}

// A Setting is a setting of the configuration.
type Setting struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Value   string   `json:"value" doc:"effective value; a list is separated by commas"`
	From    string   `json:"from" doc:"file, environment or default"`
	Choices []string `json:"choices,omitempty"`
	Restart bool     `json:"restart" doc:"a change takes effect at the next start"`
}

type settingsOutput struct {
	Body struct {
		Success  bool      `json:"success"`
		File     string    `json:"file"`
		Settings []Setting `json:"settings" nullable:"false"`
		Restart  bool      `json:"restart_needed" doc:"a change takes effect at the next start of the server"`
	}
}

// loadSettings reads the configuration as the next start would.
func (a *api) loadSettings(ctx context.Context) (*app.App, *config.Config, error) {
	all, err := a.appOf(ctx)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := config.Load(all.Source())
	if err != nil {
		err = a.apiError(app.Invalidf("", "%w", err))
	}
	return all, cfg, err
}

func (a *api) listSettings(ctx context.Context, _ *struct{}) (*settingsOutput, error) {
	_, cfg, err := a.loadSettings(ctx)
	if err != nil {
		return nil, err
	}
	out := &settingsOutput{}
	out.Body.Success, out.Body.File, out.Body.Settings = true, cfg.File, settingsOf(cfg, func(string) bool { return true })
	return out, nil
}

// settingsOf returns the settings whose names match.
func settingsOf(cfg *config.Config, match func(name string) bool) []Setting {
	list := []Setting{}
	for _, k := range config.Keys() {
		for _, name := range cfg.ListedNames(k.Name) {
			if match(name) {
				list = append(list, Setting{name, k.Doc, cfg.Value(name), cfg.Origin(name), config.KeyValues(name), needsRestart(name)})
			}
		}
	}
	return list
}

// needsRestart reports whether a running server ignores a change of a setting: see [app.App.ModelSet].
func needsRestart(name string) bool {
	return !config.InGroup(name, "models") && !config.InGroup(name, "providers")
}

type settingChange struct {
	Name  string  `json:"name" minLength:"1" maxLength:"300" example:"models.fast"`
	Value *string `json:"value" nullable:"true" maxLength:"20000" doc:"null restores the default" example:"ollama/llama3.1"`
}

type changeSettings struct {
	Body struct {
		Changes []settingChange `json:"changes" minItems:"1" maxItems:"50" nullable:"false" doc:"applied in order until one fails"`
	}
}

func (a *api) changeSettings(ctx context.Context, in *changeSettings) (*settingsOutput, error) {
	all, _, err := a.loadSettings(ctx)
	if err != nil {
		return nil, err
	}
	out := &settingsOutput{}
	var names []string
	for _, c := range in.Body.Changes {
		if err := config.CheckKey(c.Name); err != nil {
			return nil, a.apiError(app.Invalidf("changes", "%w: see /api/settings", err))
		}
		if c.Value == nil {
			_, err = config.Unset(all.Source(), c.Name)
		} else {
			_, err = config.Set(all.Source(), c.Name, *c.Value)
		}
		switch {
		case errors.Is(err, config.ErrWrite):
			return nil, a.apiError(app.NotReadyf("%w: check the permissions of the configuration file", err))
		case err != nil:
			return nil, a.apiError(app.Invalidf("changes", "%w", err))
		}
		names = append(names, c.Name)
		out.Body.Restart = out.Body.Restart || needsRestart(c.Name)
	}
	_, cfg, err := a.loadSettings(ctx)
	if err != nil {
		return nil, err
	}
	out.Body.Success, out.Body.File = true, cfg.File
	out.Body.Settings = settingsOf(cfg, func(name string) bool { return slices.Contains(names, name) })
	return out, nil
}

type keysOutput struct {
	Body struct {
		Success bool              `json:"success"`
		File    string            `json:"file"`
		Keys    []config.KeyState `json:"keys" nullable:"false"`
		Restart bool              `json:"restart_needed" doc:"the key takes effect at the next start of the server"`
	}
}

func (a *api) listKeys(ctx context.Context, _ *struct{}) (*keysOutput, error) {
	_, cfg, err := a.loadSettings(ctx)
	if err != nil {
		return nil, err
	}
	return a.keysOf(cfg)
}

func (a *api) keysOf(cfg *config.Config) (*keysOutput, error) {
	list, err := cfg.KeyStates(os.Getenv)
	if err != nil {
		return nil, a.apiError(err)
	}
	out := &keysOutput{}
	out.Body.Success, out.Body.File, out.Body.Keys = true, cfg.KeyFile(), append([]config.KeyState{}, list...)
	return out, nil
}

type saveKeyInput struct {
	Body struct {
		Variable string `json:"variable" minLength:"1" maxLength:"100" doc:"variable of the key, such as OPENAI_API_KEY" example:"OPENAI_API_KEY"`
		Key      string `json:"key" minLength:"1" maxLength:"4000" example:"sk-..."`
	}
}

func (a *api) saveKey(ctx context.Context, in *saveKeyInput) (*keysOutput, error) {
	return a.storeKey(ctx, in.Body.Variable, in.Body.Key)
}

type keyPath struct {
	ID string `path:"id" maxLength:"100" doc:"variable of the key"`
}

func (a *api) removeKey(ctx context.Context, in *keyPath) (*keysOutput, error) {
	return a.storeKey(ctx, in.ID, "")
}

func (a *api) storeKey(ctx context.Context, variable, key string) (*keysOutput, error) {
	_, cfg, err := a.loadSettings(ctx)
	if err != nil {
		return nil, err
	}
	if err := cfg.SaveKey(variable, key); err != nil {
		if errors.Is(err, config.ErrWrite) {
			return nil, a.apiError(app.NotReadyf("%w: check the permissions of the folder", err))
		}
		return nil, a.apiError(app.Invalidf("variable", "%w", err))
	}
	out, err := a.keysOf(cfg)
	if err == nil {
		for _, k := range out.Body.Keys { // search engines are opened at the start
			out.Body.Restart = out.Body.Restart || k.Variable == variable && k.For != strings.ToLower(k.For)
		}
	}
	return out, err
}

type foldersInput struct {
	Path string `query:"path" maxLength:"4000" doc:"an allowed folder; default: the roots"`
}

type foldersOutput struct {
	Body struct {
		Success bool             `json:"success"`
		Path    string           `json:"path"`
		Parent  string           `json:"parent,omitempty"`
		Folders []folders.Folder `json:"folders" nullable:"false"`
		Files   int              `json:"files" doc:"files in the folder itself"`
		Partial bool             `json:"partial,omitempty" doc:"the folder has more entries than listed"`
		Remedy  string           `json:"remedy,omitempty" doc:"how to allow folders, if there are none"`
	}
}

const folderRemedy = "no folder is allowed: name folders in the setting serve.folders, such as ~/notes; on a server without tokens, `ponder open` also allows the home folder"

// allowedFolders returns the folders that the caller may choose.
func (a *api) allowedFolders(ctx context.Context) (folders.Roots, error) {
	all, err := a.appOf(ctx)
	if err != nil {
		return nil, err
	}
	cfg, err := all.Config()
	if err != nil {
		return nil, a.apiError(err)
	}
	var paths []string
	for _, path := range cfg.Serve.Folders {
		paths = append(paths, cfg.Path(path))
	}
	if c := auth.CallerOf(ctx); c.Token == "" && c.HasScope(auth.Admin) {
		if home, err := os.UserHomeDir(); err == nil {
			paths = append(paths, home)
		}
	}
	return folders.NewRoots(paths), nil
}

func (a *api) listFolders(ctx context.Context, in *foldersInput) (*foldersOutput, error) {
	roots, err := a.allowedFolders(ctx)
	if err != nil {
		return nil, err
	}
	l, err := roots.List(in.Path)
	if err != nil {
		return nil, a.apiErrorIn("query", folderError("path", err))
	}
	out := &foldersOutput{}
	b := &out.Body
	b.Success, b.Path, b.Parent, b.Folders, b.Files, b.Partial = true, l.Path, l.Parent, l.Folders, l.Files, l.Partial
	if len(roots) == 0 {
		b.Remedy = folderRemedy
	}
	return out, nil
}

// folderError returns an error of package folders for callers.
func folderError(field string, err error) error {
	if errors.Is(err, folders.ErrOutside) {
		return app.Invalidf(field, "%w: choose one of /api/folders", err)
	}
	return app.Invalidf(field, "%w", err)
}

// resolveFolders returns the folders of a start, which must be allowed.
func (a *api) resolveFolders(ctx context.Context, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	roots, err := a.allowedFolders(ctx)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, path := range paths {
		real, err := roots.Resolve(path)
		if err != nil {
			return nil, a.apiError(folderError("folders", err))
		}
		list = append(list, real)
	}
	return list, nil
}
