package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/textkit"
)

const (
	defaultHits = 8
	maxHits     = 50
	maxKept     = 256 << 10 // bytes
)

type recallInput struct {
	Query string `json:"query" jsonschema:"what to look for, in words"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many passages at most, 8 if it is not said"`
}

type recallOutput struct {
	Hits []hit `json:"hits" jsonschema:"what was found, the best first"`
}

type hit struct {
	ID      string  `json:"id,omitempty"`
	Title   string  `json:"title,omitempty"`
	Quote   string  `json:"quote"`
	Source  string  `json:"source,omitempty"`
	Score   float64 `json:"score"`
	Created string  `json:"created_at,omitempty"`
}

type rememberInput struct {
	Text  string `json:"text" jsonschema:"what to remember"`
	Title string `json:"title,omitempty"`
}

type rememberOutput struct {
	ID string `json:"id"`
}

type mindInput struct {
	Tick bool `json:"tick,omitempty" jsonschema:"have it think a little first"`
}

type mindOutput struct {
	Mind map[string]any `json:"mind" jsonschema:"what is on its mind: thoughts, questions, wishes"`
}

func (c *client) addMemory(server *sdk.Server) {
	closed := false
	offerTool(c, server, &sdk.Tool{
		Name: "ponder_recall", Title: "Recall", Description: "Find what was remembered, read or concluded before, by meaning and by words.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed},
	}, c.searchMemory, nil)
	offerTool(c, server, &sdk.Tool{
		Name: "ponder_remember", Title: "Remember", Description: "Keep something, so that it is found later by ponder_recall and by all thinking.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &closed, OpenWorldHint: &closed, IdempotentHint: true},
	}, c.storeMemory, nil)
	offerTool(c, server, &sdk.Tool{
		Name: "ponder_mind", Title: "Mind", Description: "See what is on Ponder's mind between questions: what it noticed, wonders about and waits for.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &closed, OpenWorldHint: &closed},
	}, c.readSubconscious, nil)
}

func (c *client) searchMemory(ctx context.Context, in recallInput) (recallOutput, error) {
	out := recallOutput{Hits: []hit{}}
	if err := c.checkScope(auth.Read); err != nil {
		return out, err
	}
	if app.CheckQuery(in.Query) != nil {
		return out, compat.InvalidField("query", "query: expected a text to search for")
	}
	if in.Limit < 0 || in.Limit > maxHits {
		return out, compat.InvalidField("limit", "limit: expected 1 to %d", maxHits)
	}
	in.Limit = cmp.Or(in.Limit, defaultHits)
	found, err := c.Desk.Service.Search(ctx, c.caller.Owner, app.Query{Text: in.Query, Limit: in.Limit})
	for _, h := range found {
		one := hit{ID: h.ID, Title: h.Title, Quote: h.Quote, Source: h.Source, Score: h.Score}
		if !h.Created.IsZero() {
			one.Created = h.Created.UTC().Format("2006-01-02T15:04:05Z")
		}
		out.Hits = append(out.Hits, one)
	}
	return out, err
}

func (c *client) storeMemory(ctx context.Context, in rememberInput) (rememberOutput, error) {
	if err := c.checkScope(auth.Think); err != nil {
		return rememberOutput{}, err
	}
	if strings.TrimSpace(in.Text) == "" || len(in.Text) > maxKept {
		return rememberOutput{}, compat.InvalidField("text", "text: expected 1 to %d bytes", maxKept)
	}
	list, err := c.Desk.Service.Remember(ctx, c.caller.Owner, app.Memory{Text: in.Text, Title: in.Title})
	if err != nil || len(list) == 0 {
		return rememberOutput{}, err
	}
	return rememberOutput{list[0].ID}, nil
}

func (c *client) readSubconscious(ctx context.Context, in mindInput) (mindOutput, error) {
	need := auth.Read
	if in.Tick {
		need = auth.Think
	}
	if err := c.checkScope(need); err != nil {
		return mindOutput{}, err
	}
	if in.Tick {
		if _, err := c.Desk.Service.Tick(ctx, c.caller.Owner); err != nil {
			return mindOutput{}, err
		}
	}
	js, err := c.Desk.Service.Mind(ctx, c.caller.Owner)
	if err != nil {
		return mindOutput{}, err
	}
	out := mindOutput{}
	if err := json.Unmarshal(js, &out.Mind); err != nil {
		return out, fmt.Errorf("read the subconscious: %w", err)
	}
	return out, nil
}

// URIs of resources.
const (
	scheme      = "ponder://"
	sessionsURI = scheme + "sessions/"
	mindURI     = scheme + "subconscious.json"
)

// views maps the rest of a session URI to its resource.
var views = map[string]struct{ kind, name, title string }{
	"":          {"application/json", "session", "A session, complete"},
	"/thoughts": {"text/plain", "thoughts", "The thoughts of a session, in order"},
	"/report":   {"text/markdown", "report", "The report of a session"},
}

func (c *client) addResources(server *sdk.Server) {
	server.AddResource(&sdk.Resource{
		URI: mindURI, Name: "subconscious.json", Title: "State of the subconscious", MIMEType: "application/json",
		Description: "What Ponder noticed, suspects and waits for between questions.",
	}, c.readMind)
	for tail, v := range views {
		server.AddResourceTemplate(&sdk.ResourceTemplate{
			URITemplate: sessionsURI + "{id}" + tail, Name: v.name, Title: v.title, MIMEType: v.kind,
		}, c.readSession)
	}
}

// listResources adds the caller's sessions to lists of resources.
func (c *client) listResources(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*sdk.ListResourcesResult)
		if err != nil || !ok || list.NextCursor != "" || !c.caller.HasScope(auth.Read) {
			return res, err
		}
		infos, err := c.newestSessions(ctx)
		if err != nil {
			return nil, c.clientError(err)
		}
		for _, info := range infos {
			uri := sessionsURI + idOf(info.ID)
			list.Resources = append(list.Resources, &sdk.Resource{
				URI: uri + "/report", Name: textkit.TruncateBytes(info.Title, maxNews), MIMEType: "text/markdown", Description: string(info.Kind) + ", " + string(info.Status),
			})
		}
		return list, nil
	}
}

func (c *client) readMind(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	if err := c.checkScope(auth.Read); err != nil {
		return nil, c.clientError(err)
	}
	js, err := c.Desk.Service.Mind(ctx, c.caller.Owner)
	if err != nil {
		return nil, c.clientError(err)
	}
	return textResource(req.Params.URI, "application/json", string(js)), nil
}

func textResource(uri, kind, text string) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: kind, Text: text}}}
}

func (c *client) readSession(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	if err := c.checkScope(auth.Read); err != nil {
		return nil, c.clientError(err)
	}
	uri := req.Params.URI
	id, tail, ok := splitURI(uri)
	v := views[tail]
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	text, err := c.renderView(ctx, id, tail)
	var fault *compat.APIError
	if err != nil {
		if fault = c.Desk.APIErrorOf(err); fault.Status == http.StatusNotFound {
			return nil, sdk.ResourceNotFoundError(uri)
		}
		return nil, errors.New(fault.Detail)
	}
	return textResource(uri, v.kind, textkit.TruncateBytes(text, maxReport)), nil
}

func (c *client) renderView(ctx context.Context, id, tail string) (string, error) {
	work, err := c.findWork(ctx, id)
	if err != nil {
		return "", err
	}
	if tail == "/thoughts" {
		parts, _, err := c.Desk.Result(ctx, work)
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Thinking())
		}
		return strings.TrimSpace(b.String()), err
	}
	format := "json"
	if tail == "/report" {
		format = "markdown"
	}
	doc, err := c.Desk.Service.Report(ctx, work.Thread, format)
	return string(doc.Body), err
}
