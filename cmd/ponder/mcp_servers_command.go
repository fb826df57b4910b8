package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ponder/internal/textkit"

	"github.com/spf13/cobra"

	"ponder/tool/mcp"
)

func (a *cli) toolCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "tool",
		Short:   "See which tools MCP servers have for conversations",
		Long:    "See which MCP servers are configured, whether they answer, and which of their tools conversations and research have.",
		Example: "ponder tool list",
		GroupID: groupSetUp,
		Args:    cobra.ArbitraryArgs,
		RunE:    onlyGroups,
	}
	cmd.AddCommand(a.toolListCommand())
	return cmd
}

func (a *cli) toolListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Say which MCP servers answer, and with which tools",
		Long: `Say which MCP servers answer, and with which tools. Servers are configured in the user's
own file:

  [mcp.servers.files]
  command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/anna/notes"]
  reads = ["read_text_file", "search_files"]

  [mcp.servers.desk]
  url = "https://desk.example/mcp"
  token_env = "DESK_TOKEN"

A tool looks only if its server has read_only = true or names it in reads, whatever the
server says of it. Any other may change something: it is used once the user has confirmed
the very call, and in conversations alone.

Exit codes: 0 all answer, 2 a mistake in the configuration, 4 a server does not answer.`,
		Example: "ponder tool list\nponder tool list --json",
		Args:    takeNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.toolList(cmd.Context())
		},
	}
}

// A toolRow is a server with its tools, as programs are shown it.
type toolRow struct {
	Server  string         `json:"server"`
	Is      string         `json:"is,omitempty"` // what it calls itself
	Error   string         `json:"error,omitempty"`
	Tools   []toolOfServer `json:"tools"`
	LeftOut []string       `json:"left_out,omitempty"` // and why
}

// A toolOfServer is a tool.
type toolOfServer struct {
	Name    string `json:"name"`   // that models are told
	Theirs  string `json:"theirs"` // on its server
	Changes bool   `json:"changes"`
}

// lookTime is how long servers are waited for that are looked at.
const lookTime = 30 * time.Second

// toolRows asks all servers.
func (a *cli) toolRows(ctx context.Context) (rows []toolRow, err error) {
	m, err := a.OpenMCPServers()
	if err != nil || m == nil || m.Pool == nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(m.Failed)) {
		rows = append(rows, toolRow{Server: name, Error: m.Failed[name].Error(), Tools: []toolOfServer{}})
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	for _, r := range m.Pool.Look(ctx) {
		rows = append(rows, rowOf(r))
	}
	return rows, nil
}

func rowOf(r mcp.Report) toolRow {
	row := toolRow{Server: r.Name, Is: r.Is, Tools: []toolOfServer{}, LeftOut: r.LeftOut}
	if r.Err != nil {
		row.Error = r.Err.Error()
	}
	for _, t := range r.Tools {
		row.Tools = append(row.Tools, toolOfServer{t.Name, oneLine(t.Theirs), t.Changes})
	}
	return row
}

func (a *cli) toolList(ctx context.Context) error {
	rows, err := a.toolRows(ctx)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		a.note("no MCP server is configured: `ponder tool list --help` says how")
		return nil
	}
	lacks := false
	for _, row := range rows {
		lacks = lacks || row.Error != ""
		if !a.flags.json {
			a.printf("%s", row.text())
		} else if err := a.object(row); err != nil {
			return err
		}
	}
	if lacks {
		return failure{code: notReady}
	}
	return ctx.Err()
}

// text returns a row in lines for people.
func (r toolRow) text() string {
	var b strings.Builder
	switch {
	case r.Error != "":
		fmt.Fprintf(&b, "%s cannot be reached: %s\n", r.Server, oneLine(r.Error))
	default:
		fmt.Fprintf(&b, "%s is %q and has %s\n", r.Server, oneLine(r.Is), textkit.Count(len(r.Tools), "tool", "tools"))
	}
	for _, t := range r.Tools {
		does := "looks"
		if t.Changes {
			does = "may change something: it asks before"
		}
		fmt.Fprintf(&b, "  %-40s %s\n", t.Name, does)
	}
	for _, line := range r.LeftOut {
		fmt.Fprintf(&b, "  left out: %s\n", oneLine(line))
	}
	return b.String()
}

// outsideFindings say of each MCP server whether it answers.
func (a *cli) outsideFindings(ctx context.Context) (found []finding) {
	rows, err := a.toolRows(ctx)
	if err != nil {
		return []finding{{"tools", broken, err.Error()}}
	}
	for _, r := range rows {
		if r.Error != "" {
			found = append(found, finding{"tools", lacking, fmt.Sprintf("the MCP server %s cannot be reached: %s", r.Server, r.Error)})
			continue
		}
		found = append(found, finding{"tools", fine, fmt.Sprintf("the MCP server %s has %s", r.Server, textkit.Count(len(r.Tools), "tool", "tools"))})
	}
	return found
}
