package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ponder"
	"ponder/internal/textkit"
)

type flags struct {
	json, quiet, noColor bool
	version              bool // of the root only
}

const (
	groupThink = "think"
	groupKnow  = "know"
	groupLook  = "look"
	groupSetUp = "setup"
)

func newRoot(a *cli) *cobra.Command {
	root := &cobra.Command{
		Use:   "ponder",
		Short: "Think about hard questions for as long as it takes",
		Long: `Ponder thinks about a question for minutes or hours. It explores the question, raises
questions of its own and sums up. The answer has reasons, sources, confidence and cost.
Ponder saves every thought at once, so you can pause, kill and resume it at any time.`,
		Example: `ponder think "Why do large software projects run late?" --for 10m
ponder think "What does this contract commit us to?" --docs ./contract
ponder research "What is known of sleep in great apes?" -o report.html
ponder session resume last`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          a.runRoot,
	}
	root.Flags().BoolVarP(&a.flags.version, "version", "v", false, "version for ponder")
	f := root.PersistentFlags()
	f.StringVar(&a.Options.DB, "db", "", "database `file`, or :memory: (default $XDG_DATA_HOME/ponder/ponder.db)")
	f.StringVar(&a.Options.Config, "config", "", "configuration `file` (default $XDG_CONFIG_HOME/ponder/config.toml)")
	f.BoolVar(&a.flags.json, "json", false, "print results as JSON, one object per line")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "print only results, no progress")
	f.Var(levelFlag{&a.Options.LogLevel}, "log-level", "`level` of the log on standard error: debug, info, warn or error (default none)")
	f.BoolVar(&a.flags.noColor, "no-color", false, "print without colours, as with NO_COLOR")
	root.AddGroup(&cobra.Group{ID: groupThink, Title: "Think:"}, &cobra.Group{ID: groupKnow, Title: "Remember:"}, &cobra.Group{ID: groupLook, Title: "Inspect:"},
		&cobra.Group{ID: groupSetUp, Title: "Set up:"})
	root.AddCommand(
		a.thinkCommand(), a.researchCommand(), a.askCommand(), a.chatCommand(), a.approveCommand(), a.denyCommand(), a.sessionCommand(), a.mindCommand(),
		a.rememberCommand(), a.recallCommand(), a.memoryCommand(), a.personaCommand(),
		a.threadCommand(), a.evidenceCommand(), a.verifyCommand(), a.webCommand(), a.toolCommand(), a.usageCommand(), a.openCommand(),
		a.settingsCommand(), a.modelCommand(), a.evalCommand(), a.doctorCommand(), a.serveCommand(), a.mcpCommand(), a.acpCommand(), a.backupCommand(), a.versionCommand(), a.licensesCommand(), completionCommand(), a.manCommand(),
	)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommandGroupID(groupSetUp)
	root.SetFlagErrorFunc(flagError)
	root.InitDefaultHelpCmd()
	if c, _, err := root.Find([]string{"help"}); err == nil {
		c.Run, c.RunE = nil, showHelp
		c.Short, c.Long, c.Example = "Show the help of a command", "", "ponder help think\nponder help session list"
	}
	if err := a.completeFlags(root); err != nil {
		panic(err) // a flag has two completions
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(cmd.OutOrStdout(), helpText(cmd)) })
	return root
}

// runRoot runs the program without a command. The version flag is ours because cobra's needs a
// template: see docs/dependencies.md.
func (a *cli) runRoot(cmd *cobra.Command, args []string) error {
	if a.flags.version {
		a.printf("%s\n", readBuildVersion())
		return nil
	}
	return runGroup(cmd, args)
}

func groupCommands(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = cobra.ArbitraryArgs, runGroup
	cmd.AddCommand(below...)
	return cmd
}

func runGroup(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return usagef("unknown command %q: %sSee `%s --help`", truncate(args[0], 40), commandHint(cmd, args[0]), cmd.CommandPath())
}

// commandHint suggests commands for an unknown command of cmd: commands of this name in the groups
// of cmd, or else a similar name.
func commandHint(cmd *cobra.Command, name string) string {
	var same []string
	for _, group := range cmd.Commands() {
		for _, c := range group.Commands() {
			if c.IsAvailableCommand() && c.Name() == name {
				same = append(same, "`"+c.CommandPath()+"`")
			}
		}
	}
	if len(same) > 0 {
		return "did you mean " + strings.Join(same, " or ") + "? "
	}
	return textkit.Suggest(name, commandNames(cmd))
}

// showHelp is `ponder help`, which in cobra succeeds for unknown commands.
func showHelp(cmd *cobra.Command, args []string) error {
	on, rest, err := cmd.Root().Find(args)
	if err != nil {
		return usagef("%w", err)
	}
	if len(rest) > 0 && on.HasSubCommands() {
		return runGroup(on, rest)
	}
	return on.Help()
}

func flagError(cmd *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		name, why := wrong.GetFlag().Name, oneLine(wrong.Unwrap().Error())
		switch wrong.GetFlag().Value.Type() {
		case "bool":
			why = "it must be true or false, and --" + name + " alone is true"
		case "int":
			why = "it must be a whole number"
		}
		return usagef("--%s=%s: %s", name, truncate(oneLine(wrong.GetValue()), 20), why)
	}
	text := err.Error()
	hint := ""
	if name, ok := strings.CutPrefix(text, "unknown flag: "); ok {
		hint = textkit.Suggest(name, flagNames(cmd))
	}
	if strings.HasPrefix(text, "unknown shorthand flag") && hint == "" {
		hint = "To pass text that begins with a dash, put it after --. "
	}
	return usagef("%s. %sSee `%s --help`", text, hint, cmd.CommandPath())
}

// A levelFlag is a [pflag.Value]: a log level, or "".
type levelFlag struct{ level *string }

func (f levelFlag) String() string {
	if f.level == nil {
		return "" // pflag compares with a zero value
	}
	return *f.level
}

func (levelFlag) Type() string { return "level" }

func (f levelFlag) Set(text string) error {
	if text != "" && new(slog.Level).UnmarshalText([]byte(text)) != nil {
		return errors.New("use debug, info, warn or error")
	}
	*f.level = text
	return nil
}

// requireArgs checks the number of arguments. Its error names them by what.
func requireArgs(minArgs, maxArgs int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < minArgs:
			return usagef("%s needs %s: see `%s --help`", cmd.CommandPath(), what, cmd.CommandPath())
		case len(args) > maxArgs:
			return usagef("%s takes %s, not also %q: put an argument with spaces in quotes", cmd.CommandPath(), what, truncate(args[maxArgs], 40))
		}
		return nil
	}
}

func requireNoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, but got %q: see `%s --help`", cmd.CommandPath(), truncate(args[0], 40), cmd.CommandPath())
	}
	return nil
}

func runWithArg(do func(ctx context.Context, arg string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error { return do(cmd.Context(), args[0]) }
}

func runWithoutArgs(do func(context.Context) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error { return do(cmd.Context()) }
}

func helpText(cmd *cobra.Command) string {
	var b strings.Builder
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	b.WriteString(text + "\n\nUsage:\n")
	if takesArgs(cmd) {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	}
	if cmd.Example != "" {
		b.WriteString("\nExamples:\n  " + strings.ReplaceAll(cmd.Example, "\n", "\n  ") + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		writeCommands(&b, cmd)
	}
	if f := cmd.LocalFlags(); f.HasAvailableFlags() {
		b.WriteString("\nFlags:\n" + f.FlagUsages())
	}
	if f := cmd.InheritedFlags(); f.HasAvailableFlags() {
		b.WriteString("\nGlobal flags:\n" + f.FlagUsages())
	}
	return b.String()
}

// takesArgs reports whether a command works without a command below it.
func takesArgs(cmd *cobra.Command) bool {
	return !cmd.HasAvailableSubCommands() || strings.Contains(cmd.Use, " ")
}

func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, g := range groups {
		fmt.Fprintf(b, "\n%s\n", g.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(b, "  %-11s %s\n", sub.Name(), sub.Short)
			}
		}
	}
}

func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return names
}

// An eventFlag is a [pflag.Value]: an event number with a minimum.
type eventFlag struct {
	seq    *ponder.Seq
	minSeq ponder.Seq
}

func (f eventFlag) String() string {
	if f.seq == nil {
		return "0" // pflag compares with a zero value
	}
	return strconv.FormatInt(int64(*f.seq), 10)
}

func (eventFlag) Type() string { return "number" }

func (f eventFlag) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ponder.Seq(n) < f.minSeq {
		return fmt.Errorf("it must be the number of an event, from %d", f.minSeq)
	}
	*f.seq = ponder.Seq(n)
	return nil
}
