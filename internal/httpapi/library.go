package httpapi

import (
	"context"
	"net/http"
	"path"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/textkit"
	"ponder/knowledge/lookup"
	"ponder/knowledge/recall"
)

func (a *api) registerLibrary() {
	op := func(scope auth.Scope, method, path, id, summary string, errs ...int) huma.Operation {
		return a.newOperation(scope, method, path, id, summary, tagMemory, append(errs, http.StatusNotFound)...)
	}
	files := op(auth.Think, http.MethodPost, "/api/memory/files", "remember-files", "Add files to the memory", http.StatusUnprocessableEntity)
	files.DefaultStatus = http.StatusCreated
	files.Description = "Ponder reads Markdown, text, HTML, PDF, DOCX, EPUB, XLSX, CSV, JSON, mail and source code. A file replaces an earlier one of the same name."
	huma.Register(a.huma, files, a.rememberFiles)
	folder := op(auth.Think, http.MethodPost, "/api/memory/folder", "remember-folder", "Add the documents of an allowed folder to the memory", http.StatusBadRequest)
	folder.DefaultStatus = http.StatusCreated
	huma.Register(a.huma, folder, a.rememberFolder)
	const personas = "/api/personas"
	huma.Register(a.huma, op(auth.Read, http.MethodGet, personas, "list-personas", "List personas"), a.listPersonas)
	huma.Register(a.huma, op(auth.Think, http.MethodPost, personas, "set-persona", "Create or change a persona", http.StatusUnprocessableEntity), a.setPersona)
	huma.Register(a.huma, op(auth.Think, http.MethodDelete, personas+"/{id}", "remove-persona", "Remove a persona; its memories stay"), a.removePersona)
}

// withLibrary calls do with the library of the caller.
func (a *api) withLibrary(ctx context.Context, do func(*app.LibraryHandle) error) error {
	all, err := a.appOf(ctx)
	if err != nil {
		return err
	}
	lib, err := all.OpenLibraryReadOnly(ctx) // a server shares one library for reading and writing
	if err != nil {
		return a.apiError(err)
	}
	defer lib.Release()
	return do(lib)
}

type newFile struct {
	Name string `json:"name" minLength:"1" maxLength:"300" doc:"name with its extension" example:"notes.md"`
	Data []byte `json:"data" doc:"content in base64" example:"IyBOb3Rlcw=="`
}

type filesInput struct {
	Body struct {
		Files   []newFile `json:"files" minItems:"1" maxItems:"50" nullable:"false"`
		Persona string    `json:"persona,omitempty" maxLength:"100" doc:"persona that wrote them"`
	}
}

// A RememberedFile is the result for a file.
type RememberedFile struct {
	Name     string `json:"name"`
	Memories int    `json:"memories"`
	Error    string `json:"error,omitempty"`
}

type filesOutput struct {
	Body struct {
		Success bool             `json:"success" doc:"all files are readable"`
		Files   []RememberedFile `json:"files" nullable:"false"`
	}
}

func (a *api) rememberFiles(ctx context.Context, in *filesInput) (*filesOutput, error) {
	out := &filesOutput{}
	out.Body.Success, out.Body.Files = true, []RememberedFile{}
	err := a.withLibrary(ctx, func(lib *app.LibraryHandle) error {
		for _, f := range in.Body.Files {
			one := RememberedFile{Name: textkit.OneLine(path.Base(strings.ReplaceAll(f.Name, `\`, "/")))}
			r, err := lib.IngestBytes(ctx, one.Name, f.Data, recall.IngestOptions{Persona: in.Body.Persona})
			one.Memories = r.Items
			switch {
			case err != nil:
				one.Error = textkit.Truncate(textkit.OneLine(err.Error()), 200)
			case len(r.Skipped) > 0 && r.Items == 0:
				one.Error = textkit.Truncate(textkit.OneLine(r.Skipped[0].Reason), 200)
			}
			out.Body.Success = out.Body.Success && one.Error == ""
			out.Body.Files = append(out.Body.Files, one)
		}
		return nil
	})
	return out, err
}

type folderInput struct {
	Body struct {
		Path    string `json:"path" minLength:"1" maxLength:"4000" doc:"allowed folder: see /api/folders" example:"/home/ada/notes"`
		Persona string `json:"persona,omitempty" maxLength:"100" doc:"persona that wrote the documents"`
	}
}

// A SkippedDocument is a file that Ponder did not read.
type SkippedDocument struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

type folderOutput struct {
	Body struct {
		Success   bool              `json:"success"`
		Added     int               `json:"files_added"`
		Changed   int               `json:"files_changed"`
		Unchanged int               `json:"files_unchanged"`
		Removed   int               `json:"files_removed"`
		Memories  int               `json:"memories"`
		Skipped   []SkippedDocument `json:"skipped" nullable:"false" doc:"at most 100"`
	}
}

const maxSkipped = 100

func (a *api) rememberFolder(ctx context.Context, in *folderInput) (*folderOutput, error) {
	paths, err := a.resolveFolders(ctx, []string{in.Body.Path})
	if err != nil {
		return nil, err
	}
	out := &folderOutput{}
	err = a.withLibrary(ctx, func(lib *app.LibraryHandle) error {
		r, err := lib.Ingest(ctx, paths, recall.IngestOptions{Persona: in.Body.Persona})
		if err != nil {
			return a.apiError(err)
		}
		b := &out.Body
		b.Success, b.Added, b.Changed, b.Unchanged, b.Removed, b.Memories, b.Skipped = true, r.Added, r.Changed, r.Unchanged, r.Removed, r.Items, []SkippedDocument{}
		for _, s := range r.Skipped[:min(len(r.Skipped), maxSkipped)] {
			b.Skipped = append(b.Skipped, SkippedDocument{lookup.SourceName(s.Path), textkit.OneLine(s.Reason)})
		}
		return nil
	})
	return out, err
}

// A Persona answers from its own memories.
type Persona struct {
	Name    string   `json:"name"`
	Voice   string   `json:"voice"`
	Sources []string `json:"sources" nullable:"false"`
	Tags    []string `json:"tags" nullable:"false"`
}

func personaOf(p recall.Persona) Persona {
	return Persona{p.Name, p.Voice, append([]string{}, p.Sources...), append([]string{}, p.Tags...)}
}

type personasOutput struct {
	Body struct {
		Success  bool      `json:"success"`
		Count    int       `json:"persona_count"`
		Personas []Persona `json:"personas" nullable:"false"`
	}
}

func (a *api) listPersonas(ctx context.Context, _ *struct{}) (*personasOutput, error) {
	out := &personasOutput{}
	out.Body.Success, out.Body.Personas = true, []Persona{}
	err := a.withLibrary(ctx, func(lib *app.LibraryHandle) error {
		list, err := lib.Personas(ctx)
		for _, p := range list {
			out.Body.Personas = append(out.Body.Personas, personaOf(p))
		}
		out.Body.Count = len(list)
		return a.apiError(err)
	})
	return out, err
}

type personaInput struct {
	Body struct {
		Name    string   `json:"name" minLength:"1" maxLength:"100" example:"ada"`
		Voice   string   `json:"voice,omitempty" maxLength:"100000" doc:"how the persona speaks and what it values" example:"dry, exact, fond of engines"`
		Sources []string `json:"sources,omitempty" maxItems:"50" doc:"sources of its memories and posts"`
		Tags    []string `json:"tags,omitempty" maxItems:"50" doc:"tags of its memories and posts"`
	}
}

type personaOutput struct {
	Body struct {
		Success bool    `json:"success"`
		Persona Persona `json:"persona"`
	}
}

func (a *api) setPersona(ctx context.Context, in *personaInput) (*personaOutput, error) {
	p := recall.Persona{Name: in.Body.Name, Voice: in.Body.Voice, Sources: in.Body.Sources, Tags: in.Body.Tags}
	out := &personaOutput{}
	out.Body.Success, out.Body.Persona = true, personaOf(p)
	err := a.withLibrary(ctx, func(lib *app.LibraryHandle) error {
		if old, err := lib.Persona(ctx, p.Name); err == nil {
			p.Created = old.Created
		}
		if err := lib.SetPersona(ctx, p); err != nil {
			return a.apiError(app.Invalidf("name", "%w", err))
		}
		return nil
	})
	return out, err
}

type personaPath struct {
	ID string `path:"id" maxLength:"100" doc:"name of the persona"`
}

func (a *api) removePersona(ctx context.Context, in *personaPath) (*doneOutput, error) {
	err := a.withLibrary(ctx, func(lib *app.LibraryHandle) error {
		if err := lib.RemovePersona(ctx, in.ID); err != nil {
			return a.apiErrorIn("path", app.PersonaError(err, in.ID))
		}
		return nil
	})
	out := &doneOutput{}
	out.Body.Success, out.Body.Message = true, "the persona is removed; its memories stay"
	return out, err
}
