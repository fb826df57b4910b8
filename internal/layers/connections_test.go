package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// connections are the files that make connections, and who names the addresses. A client's token
// or a model may name an address only where the list says "checked": these use netaddr.Guard.
var connections = map[string]string{
	"internal/netaddr/guard.go":      "checked: the dialer of all others",
	"internal/webhook/client.go":     "checked: webhooks and push notifications of clients",
	"knowledge/web/transport.go":     "checked: pages, feeds and calendars",
	"client/client.go":               "the caller of the package",
	"internal/app/mind_sensors.go":   "checked: the transport of knowledge/web",
	"internal/app/model_check.go":    "the configuration: model servers",
	"internal/app/models.go":         "the configuration: model servers and the list of prices",
	"internal/doctor/doctor.go":      "the configuration: model servers",
	"internal/metrics/trace_send.go": "the environment: the trace collector",
	"internal/server/discovery.go":   "servers of this machine",
	"internal/server/manager.go":     "the service manager, and this server",
	"internal/server/notes.go":       "servers of this machine",
	"internal/stream/broadcast.go":   "sockets beside the database",
	"knowledge/web/search/api.go":    "the configuration: search engines",
	"llm/internal/wire/client.go":    "the configuration: model servers",
	"llm/internal/wire/stale.go":     "the configuration: model servers",
	"llm/llmtest/sim.go":             "none: memory",
	"sensor/calendar/calendar.go":    "the configuration: calendars, without a client",
	"sensor/mail/imap.go":            "the configuration: mail servers",
	"sensor/notify/mail.go":          "the configuration: mail servers",
	"sensor/notify/webhook.go":       "the configuration: webhooks of the user",
	"tool/mcp/transport.go":          "the configuration: MCP servers",
	"cmd/ponder/main.go":             "changes the default transport",
}

// dialWords are the names of net, net/http, crypto/tls and net/smtp that make connections.
var dialWords = []string{
	"net.Dial", "net.DialTimeout", "net.DialTCP", "net.DialUDP", "net.DialUnix", "net.Dialer", "tls.Dial", "tls.Dialer", "tls.DialWithDialer",
	"http.Client", "http.Transport", "http.DefaultClient", "http.DefaultTransport", "http.Get", "http.Post", "http.PostForm", "http.Head",
	"smtp.Dial", "smtp.SendMail", "websocket.Dial",
}

// TestConnections fails for a connection outside the listed files, so that an address of a client
// or model cannot be used without a check.
func TestConnections(t *testing.T) {
	seen := make(map[string]bool)
	for _, file := range goFiles(t) {
		rel, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		rel = filepath.ToSlash(rel)
		if strings.HasSuffix(rel, "_test.go") || strings.HasPrefix(rel, "test/") || strings.HasPrefix(rel, "cmd/ponder-bench/") || strings.HasPrefix(rel, "examples/") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range dialsOf(f) {
			if seen[rel] = true; connections[rel] == "" {
				t.Errorf("%s uses %s: use netaddr.Guard for addresses of clients and models, and add the file to the list", rel, word)
			}
		}
	}
	for file := range connections {
		if !seen[file] {
			t.Errorf("%s makes no connection: remove it from the list", file)
		}
	}
}

// dialsOf returns the dial words that a file uses as values: a parameter or field of such a type
// makes no connection.
func dialsOf(f *ast.File) (list []string) {
	packages := make(map[string]string) // names in the file
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			packages[i.Name.Name] = name
		} else {
			packages[name] = name
		}
	}
	word := func(e ast.Expr) string {
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		x, ok := s.X.(*ast.Ident)
		if !ok || !slices.Contains(dialWords, packages[x.Name]+"."+s.Sel.Name) {
			return ""
		}
		return packages[x.Name] + "." + s.Sel.Name
	}
	add := func(e ast.Expr) {
		if w := word(e); w != "" {
			list = append(list, w)
		}
	}
	isType := func(w string) bool {
		return w != "" && slices.Contains([]string{"Dialer", "Client", "Transport"}, w[strings.IndexByte(w, '.')+1:])
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			add(n.Type)
		case *ast.CallExpr: // new(net.Dialer)
			for _, a := range n.Args {
				if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "new" {
					add(a)
				}
			}
		case *ast.SelectorExpr:
			if w := word(n); w != "" && !isType(w) {
				list = append(list, w)
			}
		case *ast.ValueSpec: // var c http.Client
			add(n.Type)
		}
		return true
	})
	return list
}
