package mcp

import (
	"context"
	"errors"
	"net/http"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/textkit"
)

// The addresses of resources.
const (
	scheme      = "ponder://"
	sessionsURI = scheme + "sessions/"
	mindURI     = scheme + "subconscious.json"
)

// What is read of a session, by what stands behind its id.
var views = map[string]struct{ kind, name, title string }{
	"":          {"application/json", "session", "A session, with all there is to it"},
	"/thoughts": {"text/plain", "thoughts", "The thoughts of a session, in their order"},
	"/report":   {"text/markdown", "report", "The report of a session"},
}

// addResources offers what can be read.
func (c *client) addResources(server *sdk.Server) {
	server.AddResource(&sdk.Resource{
		URI: mindURI, Name: "subconscious.json", Title: "What is on the mind", MIMEType: "application/json",
		Description: "What Ponder noticed, wonders about and waits for between questions.",
	}, c.readMind)
	for tail, v := range views {
		server.AddResourceTemplate(&sdk.ResourceTemplate{
			URITemplate: sessionsURI + "{id}" + tail, Name: v.name, Title: v.title, MIMEType: v.kind,
		}, c.readSession)
	}
}

// listing adds the sessions of the caller to the resources that are listed.
func (c *client) listing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*sdk.ListResourcesResult)
		if err != nil || !ok || list.NextCursor != "" || !c.caller.May(auth.Read) {
			return res, err
		}
		infos, err := c.newest(ctx)
		if err != nil {
			return nil, c.told(err)
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

// readMind returns what is on the mind.
func (c *client) readMind(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	if err := c.may(auth.Read); err != nil {
		return nil, c.told(err)
	}
	js, err := c.Desk.Service.Mind(ctx, c.caller.Owner)
	if err != nil {
		return nil, c.told(err)
	}
	return contents(req.Params.URI, "application/json", string(js)), nil
}

func contents(uri, kind, text string) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: kind, Text: text}}}
}

// readSession returns what there is of a session.
func (c *client) readSession(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	if err := c.may(auth.Read); err != nil {
		return nil, c.told(err)
	}
	uri := req.Params.URI
	id, tail, cut := strings.Cut(strings.TrimPrefix(uri, sessionsURI), "/")
	if cut {
		tail = "/" + tail
	}
	v, ok := views[tail]
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	text, err := c.view(ctx, id, tail)
	var fault *compat.Fault
	if err != nil {
		if fault = c.Desk.FaultOf(err); fault.Status == http.StatusNotFound {
			return nil, sdk.ResourceNotFoundError(uri)
		}
		return nil, errors.New(fault.Detail)
	}
	return contents(uri, v.kind, textkit.TruncateBytes(text, maxReport)), nil
}

// view returns a view of a session.
func (c *client) view(ctx context.Context, id, tail string) (string, error) {
	work, err := c.work(ctx, id)
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
