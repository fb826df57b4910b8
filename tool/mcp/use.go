package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"ponder/internal/textkit"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxSilent is the number of consecutive unanswered calls after which the session counts as
// dead.
const maxSilent = 2

// errFailed is the error of a tool that gives no reason.
var errFailed = errors.New("the tool failed without a reason")

// useTool uses a tool of the server. If the session ends during the call of a read-only tool,
// use calls it again.
func (l *link) useTool(ctx context.Context, tool string, changes bool, input json.RawMessage) (string, error) {
	arguments := bytes.TrimSpace(input)
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	if arguments[0] != '{' || !json.Valid(arguments) {
		return "", fmt.Errorf("%s: the input must be a JSON object", tool)
	}
	limited, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	r, err := l.callTool(limited, tool, arguments)
	if err != nil && !changes && limited.Err() == nil && isBroken(err) {
		r, err = l.callTool(limited, tool, arguments)
	}
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil && limited.Err() != nil:
		return "", fmt.Errorf("the MCP server %s did not answer in %v", l.Name, l.Timeout)
	case err != nil:
		return "", fmt.Errorf("%s: %w", textkit.VisibleLine(tool, MaxName), l.cleanError(err))
	}
	output := l.hideSecrets(textOf(r))
	if r.IsError {
		if output == "" {
			return "", errFailed
		}
		return "", errors.New(output)
	}
	output = cmp.Or(output, "Done. It returned nothing.")
	return output, nil
}

// callTool calls a tool once.
func (l *link) callTool(ctx context.Context, tool string, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	session, err := l.openedSession(ctx)
	if err != nil {
		return nil, err
	}
	r, err := callUntilDone(ctx, func() (*sdk.CallToolResult, error) {
		return session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	}, func(*sdk.CallToolResult) { l.dropSession(session) })
	if err != nil && ctx.Err() == nil && isBroken(err) {
		l.dropSession(session)
	}
	l.countSilence(session, errors.Is(ctx.Err(), context.DeadlineExceeded))
	if err == nil && r == nil {
		err = errFailed
	}
	return r, err
}

// isBroken reports whether an error ends the session, because it is not an answer of the
// server.
func isBroken(err error) bool {
	var answer *jsonrpc.Error
	return !errors.As(err, &answer)
}

// countSilence counts unanswered calls, and drops the session after maxSilent.
func (l *link) countSilence(session *serverSession, silent bool) {
	l.mu.Lock()
	if l.silent++; !silent {
		l.silent = 0
	}
	dead := l.silent >= maxSilent
	if dead {
		l.silent = 0
	}
	l.mu.Unlock()
	if dead {
		l.dropSession(session)
	}
}

// textOf returns the result of a tool as text, up to [MaxResult] bytes.
func textOf(r *sdk.CallToolResult) string {
	var b strings.Builder
	add := func(s string) {
		if s = textkit.Visible(s); s != "" && b.Len() <= MaxResult {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(s)
		}
	}
	for _, c := range r.Content {
		add(partOf(c))
	}
	if b.Len() == 0 && r.StructuredContent != nil {
		if js, err := json.Marshal(r.StructuredContent); err == nil {
			add(string(js))
		}
	}
	return visibleText(b.String(), MaxResult)
}

// partOf returns a part of a result as text.
func partOf(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return textkit.Prefix(c.Text, 2*MaxResult)
	case *sdk.ImageContent:
		return leftOut("image", c.MIMEType, len(c.Data))
	case *sdk.AudioContent:
		return leftOut("audio", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return "[" + textkit.VisibleLine(c.Name, MaxName) + "](" + textkit.VisibleLine(c.URI, maxServerName) + ")"
	case *sdk.EmbeddedResource:
		if c.Resource == nil {
			return ""
		}
		if c.Resource.Text != "" {
			return textkit.VisibleLine(c.Resource.URI, maxServerName) + ":\n" + textkit.Prefix(c.Resource.Text, 2*MaxResult)
		}
		return leftOut("data", c.Resource.MIMEType, len(c.Resource.Blob))
	}
	return ""
}

// leftOut returns the placeholder of a part that is not text.
func leftOut(what, media string, n int) string {
	return fmt.Sprintf("[%s %s, %d bytes: left out]", what, textkit.VisibleLine(media, MaxName), n)
}

// maxError limits an error of a server, in bytes.
const maxError = 400

// cleanError returns an error of a session as one line, without secrets, and without the URL,
// which may contain a key.
func (l *link) cleanError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer")
	}
	var address *url.Error
	says := err.Error()
	if errors.As(err, &address) {
		says = address.Err.Error()
	}
	return plainError{textkit.VisibleLine(l.hideSecrets(says), maxError), err}
}

// hideSecrets replaces the secrets in a text.
func (l *link) hideSecrets(s string) string {
	for _, secret := range l.secretTexts() {
		s = strings.ReplaceAll(s, secret, "…")
	}
	return s
}

// A plainError is an error with a safe text.
type plainError struct {
	text  string
	cause error
}

func (e plainError) Error() string { return e.text }

func (e plainError) Unwrap() error { return e.cause }
