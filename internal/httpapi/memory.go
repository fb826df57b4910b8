package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder/internal/auth"
)

const tagMemory = "memory"

func (a *api) registerMemory() {
	post := a.newOperation(auth.Think, http.MethodPost, "/api/memory", "remember", "Add one or more memories", tagMemory, http.StatusUnprocessableEntity)
	post.Description = "The server stores all items or, on an error, none. An item replaces one of the same kind, persona, source and `external_id`, or without an `external_id` one with equal text, and keeps its ID, so clients may repeat a request."
	post.DefaultStatus = http.StatusCreated
	huma.Register(a.huma, post, a.remember)
	huma.Register(a.huma, a.newOperation(auth.Read, http.MethodGet, "/api/memory", "list-memories", "List memories, newest first", tagMemory, http.StatusUnprocessableEntity), a.listMemories)
	huma.Register(a.huma, a.newOperation(auth.Read, http.MethodGet, "/api/memory/search", "search-memory", "Search the memory", tagMemory, http.StatusUnprocessableEntity), a.searchMemory)
	huma.Register(a.huma, a.newOperation(auth.Think, http.MethodDelete, "/api/memory/{id}", "forget", "Delete a memory", tagMemory, http.StatusNotFound), a.forgetMemory)
}

type newMemory struct {
	Kind    string     `json:"kind,omitempty" enum:"memory,document,post,journal" doc:"default: memory"`
	Title   string     `json:"title,omitempty" maxLength:"300" doc:"default: the start of the text"`
	Text    string     `json:"text" minLength:"1" maxLength:"1000000" doc:"text to remember" example:"The bridge was closed in 1931."`
	Source  string     `json:"source,omitempty" maxLength:"500" doc:"source: a URL or a name" example:"twitter"`
	Origin  string     `json:"external_id,omitempty" maxLength:"500" doc:"ID at the source; an item replaces one of the same kind, persona, source and ID; a post has the verbatim content of a memory with its ID"`
	URL     string     `json:"url,omitempty" format:"uri" maxLength:"2000" doc:"web address of the original"`
	Persona string     `json:"persona,omitempty" maxLength:"100" doc:"persona that wrote it"`
	Created *time.Time `json:"created_at,omitempty" doc:"time of writing or of the event; default: now"`
}

// maxMemories is per request.
const maxMemories = 1000

type memoryList struct {
	parsed any // for schema validation
	list   []newMemory
}

func (m *memoryList) UnmarshalJSON(js []byte) error {
	if err := json.Unmarshal(js, &m.parsed); err != nil {
		return err
	}
	if _, many := m.parsed.([]any); many {
		return json.Unmarshal(js, &m.list)
	}
	m.list = make([]newMemory, 1)
	return json.Unmarshal(js, &m.list[0])
}

func (memoryList) Schema(r huma.Registry) *huma.Schema {
	one := r.Schema(reflect.TypeFor[newMemory](), true, "NewMemory")
	return &huma.Schema{OneOf: []*huma.Schema{one, {Type: huma.TypeArray, Items: one}}}
}

type rememberInput struct {
	OnceKey
	Body memoryList
}

var newMemorySchema = sync.OnceValues(func() (huma.Registry, *huma.Schema) {
	reg := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	return reg, reg.Schema(reflect.TypeFor[newMemory](), false, "")
})

// Resolve validates each memory, because the oneOf schema of the body names no fields.
func (in *rememberInput) Resolve(huma.Context) []error {
	if in.Body.list == nil {
		return nil // huma refuses it
	}
	list, many := in.Body.parsed.([]any)
	if !many {
		list = []any{in.Body.parsed}
	}
	if len(list) == 0 || len(list) > maxMemories {
		return []error{&huma.ErrorDetail{Location: "body", Message: "expected 1 to " + strconv.Itoa(maxMemories) + " memories"}}
	}
	reg, schema := newMemorySchema()
	path, res := huma.NewPathBuffer(make([]byte, 0, 64), 0), &huma.ValidateResult{}
	path.Push("body")
	for i, one := range list {
		if many {
			path.PushIndex(i)
		}
		huma.Validate(reg, schema, path, huma.ModeWriteToServer, one, res)
		if m, ok := one.(map[string]any); ok {
			if text, _ := m["text"].(string); text != "" && strings.TrimSpace(text) == "" {
				path.Push("text")
				res.Add(path, "", "expected text, not only spaces")
				path.Pop()
			}
		}
		if many {
			path.Pop()
		}
	}
	return res.Errors
}

type memoryListOutput struct {
	Link string `header:"Link"`
	Body struct {
		Success  bool     `json:"success"`
		Count    int      `json:"memory_count"`
		Memories []Memory `json:"memories"`
		Next     string   `json:"next_cursor,omitempty"`
	}
}

func rememberedOf(list []Memory) *memoryListOutput {
	out := &memoryListOutput{}
	out.Body.Success, out.Body.Count, out.Body.Memories = true, len(list), list
	if list == nil {
		out.Body.Memories = []Memory{}
	}
	return out
}

func (a *api) remember(ctx context.Context, in *rememberInput) (*memoryListOutput, error) {
	owner := auth.CallerOf(ctx).Owner
	list := make([]Memory, len(in.Body.list))
	for i, m := range in.Body.list {
		list[i] = Memory{Kind: m.Kind, Title: m.Title, Text: m.Text, Source: m.Source, ExternalID: m.Origin, URL: m.URL, Persona: m.Persona}
		if m.Created != nil {
			list[i].Created = *m.Created
		}
	}
	var kept []Memory
	ids, err := a.runOnce(ctx, onceID{owner, "POST /api/memory", in.Key}, bodyDigest(in.Body.list), func() (ids string, err error) {
		if kept, err = a.Service.Remember(context.WithoutCancel(ctx), owner, list...); err != nil {
			return "", err
		}
		return idsOf(kept)
	})
	if err == nil && kept == nil { // repeated: the stored answer has only ids
		kept, err = a.storedMemories(ctx, owner, ids)
	}
	if err != nil {
		return nil, a.apiError(err)
	}
	return rememberedOf(kept), nil
}

func idsOf(list []Memory) (string, error) {
	ids := make([]string, len(list))
	for i, m := range list {
		ids[i] = m.ID
	}
	js, err := json.Marshal(ids)
	return string(js), err
}

// storedMemories returns an earlier answer, or a conflict if a memory was removed since.
func (a *api) storedMemories(ctx context.Context, owner, answer string) ([]Memory, error) {
	var ids []string
	if err := json.Unmarshal([]byte(answer), &ids); err != nil {
		return nil, fmt.Errorf("decode the stored answer: %w", err)
	}
	list, err := a.Service.Remembered(ctx, owner, ids...)
	if err == nil && len(list) < len(ids) {
		err = keyUsedError()
	}
	return list, err
}

type memoryPage struct {
	Page
	Kind    []string `query:"kind" maxItems:"10" enum:"memory,document,post,journal,thread" doc:"only memories of these kinds"`
	Persona string   `query:"persona" maxLength:"100" doc:"only memories of this persona"`
}

func (a *api) listMemories(ctx context.Context, in *memoryPage) (*memoryListOutput, error) {
	after, err := base64.RawURLEncoding.DecodeString(in.Cursor)
	if err != nil {
		return nil, huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{Location: "query.cursor", Message: "invalid cursor: use next_cursor of the previous page", Value: in.Cursor})
	}
	q := Query{Limit: in.Limit + 1, Kinds: in.Kind, Persona: in.Persona}
	list, err := a.Service.Memories(ctx, auth.CallerOf(ctx).Owner, q, string(after))
	if err != nil {
		return nil, a.apiError(err)
	}
	next := ""
	if len(list) > in.Limit {
		list = list[:in.Limit]
		next = base64.RawURLEncoding.EncodeToString([]byte(list[len(list)-1].ID))
	}
	out := rememberedOf(list)
	out.Body.Next = next
	out.Link = linkTo("/api/memory", url.Values{"kind": {strings.Join(in.Kind, ",")}, "persona": {in.Persona}, "limit": {strconv.Itoa(in.Limit)}}, next)
	return out, nil
}

type memorySearch struct {
	Text    string   `query:"q" required:"true" minLength:"1" maxLength:"2000" doc:"search words"`
	Limit   int      `query:"limit" minimum:"1" maximum:"100" default:"10" doc:"maximum number of items"`
	Kind    []string `query:"kind" maxItems:"10" enum:"memory,document,post,journal,thread" doc:"only memories of these kinds"`
	Persona string   `query:"persona" maxLength:"100" doc:"only memories of this persona"`
}

type foundMemories struct {
	Body struct {
		Success bool   `json:"success"`
		Query   string `json:"query"`
		Count   int    `json:"hit_count"`
		Hits    []Hit  `json:"hits"`
	}
}

func (a *api) searchMemory(ctx context.Context, in *memorySearch) (*foundMemories, error) {
	hits, err := a.Service.Search(ctx, auth.CallerOf(ctx).Owner, Query{Text: in.Text, Limit: in.Limit, Kinds: in.Kind, Persona: in.Persona})
	if err != nil {
		return nil, a.apiErrorIn("query", err)
	}
	out := &foundMemories{}
	out.Body.Success, out.Body.Query, out.Body.Count, out.Body.Hits = true, in.Text, len(hits), hits
	if hits == nil {
		out.Body.Hits = []Hit{}
	}
	return out, nil
}

type memoryPath struct {
	ID string `path:"id" maxLength:"200" doc:"ID of the memory"`
}

type forgetOutput struct {
	Body struct {
		Success bool   `json:"success"`
		ID      string `json:"memory_id"`
	}
}

func (a *api) forgetMemory(ctx context.Context, in *memoryPath) (*forgetOutput, error) {
	err := a.Service.Forget(ctx, auth.CallerOf(ctx).Owner, in.ID)
	if err != nil {
		return nil, a.apiError(err)
	}
	out := &forgetOutput{}
	out.Body.Success, out.Body.ID = true, in.ID
	return out, nil
}
