package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ponder/internal/fileio"
)

// manCommand is hidden, because releases contain the pages.
func (a *cli) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write a manual page for each command",
		Long:    "Write a manual page for each command to a folder. man reads it there: man -M, or MANPATH.",
		Example: "ponder man ~/.local/share/man/man1",
		Hidden:  true,
		Args:    requireArgs(1, 1, "a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fileio.MakeSharedDir(args[0]); err != nil {
				return fmt.Errorf("write manual pages: %w", err)
			}
			return writeManPages(cmd.Root(), args[0], readBuildVersion())
		},
	}
}

func writeManPages(cmd *cobra.Command, dir string, b buildVersion) error {
	if err := fileio.WriteShared(filepath.Join(dir, manName(cmd)+".1"), []byte(manPage(cmd, b))); err != nil {
		return fmt.Errorf("write manual pages: %w", err)
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			if err := writeManPages(sub, dir, b); err != nil {
				return err
			}
		}
	}
	return nil
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

const exitStatus = `.SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
failed
.TP
.B 2
wrong usage
.TP
.B 3
ended incomplete: paused, or a budget was spent
.TP
.B 4
not configured, or access denied
.TP
.B 130
interrupted
`

// manPage returns the page of a command in the man(7) macros. Its date is the commit's, so that
// a build can be repeated.
func manPage(cmd *cobra.Command, b buildVersion) string {
	cmd.InitDefaultHelpFlag()
	var p strings.Builder
	date, _, _ := strings.Cut(b.Time, "T")
	fmt.Fprintf(&p, ".TH %s 1 %q %q \"Ponder\"\n", roff(strings.ToUpper(manName(cmd))), date, "ponder "+b.Version)
	fmt.Fprintf(&p, ".SH NAME\n%s \\- %s\n", roff(manName(cmd)), roff(cmd.Short))
	usage := cmd.UseLine()
	if !takesArgs(cmd) {
		usage = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(&p, ".SH SYNOPSIS\n.B %s\n.SH DESCRIPTION\n", roff(usage))
	manText(&p, cmp.Or(cmd.Long, cmd.Short+"."))
	var also []string
	if parent := cmd.Parent(); parent != nil {
		also = append(also, roff(manName(parent)))
	}
	if cmd.HasAvailableSubCommands() {
		p.WriteString(".SH COMMANDS\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&p, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
				also = append(also, roff(manName(sub)))
			}
		}
	}
	manFlags(&p, "OPTIONS", cmd.LocalFlags())
	manFlags(&p, "GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		fmt.Fprintf(&p, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	if !cmd.HasParent() {
		p.WriteString(exitStatus)
	}
	if len(also) > 0 {
		p.WriteString(".SH SEE ALSO\n.BR " + strings.Join(also, " (1),\n.BR ") + " (1)\n")
	}
	return p.String()
}

// manText fills paragraphs. It keeps the lines of a paragraph that has an indented line.
func manText(p *strings.Builder, text string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			p.WriteString(".PP\n")
		}
		if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") {
			fmt.Fprintf(p, ".nf\n%s\n.fi\n", roff(paragraph))
			continue
		}
		p.WriteString(roff(paragraph) + "\n")
	}
}

func manFlags(p *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.WriteString(".SH " + title + "\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		if !slices.Contains([]string{"", "false", "0", "0s", "[]"}, f.DefValue) {
			usage += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		p.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(p, "\\fB\\-%s\\fR, ", f.Shorthand)
		}
		fmt.Fprintf(p, "\\fB%s\\fR", roff("--"+f.Name))
		if value != "" {
			fmt.Fprintf(p, " \\fI%s\\fR", roff(value))
		}
		p.WriteString("\n" + roff(usage) + "\n")
	})
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`)

// roff escapes text. A line that begins with a dot or an apostrophe would be a macro.
func roff(text string) string {
	lines := strings.Split(roffEscapes.Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
