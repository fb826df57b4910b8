package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/textkit"
)

func (a *cli) settingsCommand() *cobra.Command {
	var unset bool
	cmd := &cobra.Command{
		Use:   "settings [KEY [VALUE]]",
		Short: "Show and change settings",
		Long: `Show all settings, those of a group, or one, or write one to the configuration file. Other
lines and comments of the file stay. To switch on a setting that is on or off, give only its
name. NAME in a setting is a name of your choice, such as that of a model server in
providers.NAME.base_url. API keys of providers are not settings: Ponder reads them from the
environment.`,
		Example: `ponder settings
ponder settings providers
ponder settings enable_thinking
ponder settings models.fast ollama/llama3.1
ponder settings models.slow anthropic/claude-opus-4-6 openai/gpt-5.2
ponder settings notify.channels desktop
ponder settings providers.llamacpp.type openai
ponder settings providers.llamacpp.base_url http://127.0.0.1:8080/v1
ponder settings models.price.openai/gpt-5.2.input 1.75
ponder settings --unset models.fast`,
		GroupID: groupSetUp,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.runSettings(args, unset)
		},
	}
	cmd.Flags().BoolVar(&unset, "unset", false, "remove the setting from the file")
	cmd.ValidArgsFunction = a.completeSettings
	return cmd
}

// completeSettings offers the names of settings, then values of a setting.
func (a *cli) completeSettings(cmd *cobra.Command, args []string, typed string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
	cfg, err := a.Config()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	switch {
	case len(args) == 0:
		for _, k := range config.Keys() {
			for _, name := range cfg.KnownNames(k.Name) {
				words = append(words, cobra.CompletionWithDesc(name, k.Doc))
			}
		}
	case args[0] == "models.embed":
		return a.completeModelsFor(cmd, typed, config.ForEmbed)
	case strings.HasPrefix(args[0], "models.") && !strings.HasPrefix(args[0], "models.price.") && !strings.HasPrefix(args[0], "models.window.") && args[0] != "models.hedge":
		return a.completeModelsFor(cmd, typed, config.ForText)
	case len(args) == 1:
		words = config.KeyValues(args[0])
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

func (a *cli) runSettings(args []string, unset bool) error {
	switch {
	case unset && len(args) != 1:
		return usagef("--unset: name one setting")
	case len(args) == 0:
		return a.listSettings("")
	case len(args) == 1 && !unset && config.IsGroup(args[0]):
		return a.listSettings(args[0])
	}
	name := args[0]
	if err := config.CheckKey(name); err != nil {
		return unknownSetting(name, err)
	}
	switch {
	case unset:
		value, err := config.Unset(a.Source(), name)
		return a.printChanged(name, value, err)
	case len(args) == 1 && !isSwitch(name):
		cfg, err := a.Config()
		if err != nil {
			return err
		}
		return a.showSetting(cfg, name)
	}
	if name == "thinking.templates" {
		if err := a.CheckTemplates(strings.FieldsFunc(strings.Join(args[1:], ","), func(r rune) bool { return r == ',' || r == ' ' })...); err != nil {
			return err
		}
	}
	value, err := config.Set(a.Source(), name, strings.Join(args[1:], ","))
	return a.printChanged(name, value, err)
}

func isSwitch(name string) bool { return name == "enable_thinking" }

func unknownSetting(name string, err error) error {
	var names []string
	for _, k := range config.Keys() {
		names = append(names, k.Name)
	}
	return app.Invalidf("key", "%w: %sSee `ponder settings`", err, textkit.Suggest(name, names))
}

func (a *cli) printChanged(name, value string, err error) error {
	if err != nil {
		if errors.Is(err, config.ErrWrite) {
			return err
		}
		return app.Invalidf("value", "%w", err)
	}
	if a.flags.json {
		return a.printJSON(map[string]string{"key": name, "value": value})
	}
	a.printf("%s = %s\n", name, value)
	return nil
}

func (a *cli) showSetting(cfg *config.Config, name string) error {
	value := cfg.Value(name)
	if a.flags.json {
		return a.printJSON(map[string]string{"key": name, "value": value, "from": cfg.Origin(name)})
	}
	if value != "" {
		a.printf("%s\n", value)
	}
	return nil
}

// listSettings lists all settings, or those of a group. Of settings with a free part, it lists
// those with a value, or else their pattern.
func (a *cli) listSettings(group string) error {
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	var rows [][]string
	table, begun := "", 0 // of settings with a free part, and its first row
	for _, k := range config.Keys() {
		if start, _, _ := strings.Cut(k.Name, "*"); start != table {
			table, begun = start, len(rows)
		}
		names := cfg.ListedNames(k.Name)
		if len(names) == 0 && config.InGroup(k.Name, group) && !a.flags.json {
			rows = append(rows, []string{config.Pattern(k.Name), "", "", k.Doc})
		}
		for _, name := range names {
			switch {
			case !config.InGroup(name, group):
			case a.flags.json:
				if err := a.showSetting(cfg, name); err != nil {
					return err
				}
			default:
				rows = append(rows, []string{name, cfg.Value(name), cfg.Origin(name), k.Doc})
			}
		}
		slices.SortStableFunc(rows[begun:], func(x, y []string) int { return strings.Compare(tableOf(x[0]), tableOf(y[0])) })
	}
	if !a.flags.json {
		a.printTable(append([][]string{{"SETTING", "VALUE", "FROM", ""}}, rows...))
		a.printNote("the file is %s", cfg.File)
	}
	return nil
}

// tableOf returns a setting without its last part.
func tableOf(name string) string { return name[:max(0, strings.LastIndexByte(name, '.'))] }

func (a *cli) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "backup FILE",
		Short:   "Back up the database, also while it is in use",
		Example: "ponder backup ponder-2026-11-21.db",
		GroupID: groupSetUp,
		Args:    requireArgs(1, 1, "a file to write"),
		RunE:    runWithArg(a.runBackup),
	}
}

func (a *cli) runBackup(ctx context.Context, file string) error {
	n, err := a.Backup(ctx, file)
	if n > 0 {
		a.printNote("%s, %s", file, textkit.Bytes(n))
	}
	return err
}

func completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for a shell",
		Long: `Print a script with which bash, zsh, fish or powershell completes commands, flags and IDs.
The script for bash needs the package bash-completion.`,
		Example: `source <(ponder completion bash)
ponder completion zsh > "${fpath[1]}/_ponder"
ponder completion fish > ~/.config/fish/completions/ponder.fish`,
		GroupID:   groupSetUp,
		ValidArgs: shells,
		Args:      requireArgs(1, 1, "bash, zsh, fish or powershell"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			var err error
			switch args[0] {
			case "bash":
				err = root.GenBashCompletionV2(out, true)
			case "zsh":
				err = root.GenZshCompletion(out)
			case "fish":
				err = root.GenFishCompletion(out, true)
			case "powershell":
				err = root.GenPowerShellCompletionWithDesc(out)
			default:
				return usagef("%q is not supported: use bash, zsh, fish or powershell", truncate(args[0], 20))
			}
			if err != nil {
				return fmt.Errorf("print completion: %w", err)
			}
			return nil
		},
	}
}

// maxCompletions is the maximal number of ids offered to a shell.
const maxCompletions = 50

func (a *cli) completeThreads(kind ponder.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const no = cobra.ShellCompDirectiveNoFileComp
		if len(args) > 0 {
			return nil, no
		}
		store, err := a.OpenReadOnly(cmd.Context())
		if err != nil {
			return nil, no
		}
		defer store.Close()
		list, err := app.NewestThreads(cmd.Context(), store, ponder.Filter{Kind: kind, Limit: maxCompletions})
		if err != nil {
			return nil, no
		}
		words := []cobra.Completion{cobra.CompletionWithDesc("last", "the newest")}
		for _, info := range list {
			id, err := app.ShortID(cmd.Context(), store, info.ID)
			if err != nil || len(typed) > len(id) {
				id = string(info.ID)
			}
			words = append(words, cobra.CompletionWithDesc(id, truncate(oneLine(info.Title), 60)))
		}
		return slices.Clip(words), no | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeFlags makes the flags --model, --notify and --preset of all commands below cmd complete.
func (a *cli) completeFlags(cmd *cobra.Command) error {
	for name, complete := range map[string]cobra.CompletionFunc{"model": a.completeModels, "notify": a.completeChannels, "preset": completePresets} {
		if cmd.Flags().Lookup(name) == nil {
			continue
		}
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			return fmt.Errorf("complete --%s: %w", name, err)
		}
	}
	for _, sub := range cmd.Commands() {
		if err := a.completeFlags(sub); err != nil {
			return err
		}
	}
	return nil
}

// completeModels offers the models of the roles, then the priced models of providers with a key.
func (a *cli) completeModels(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeModelsFor(cmd, typed, config.ForText)
}

func (a *cli) completeModelsFor(cmd *cobra.Command, typed string, use config.ModelUse) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	names, err := a.ModelNames(cmd.Context(), use)
	if err != nil {
		return nil, directive
	}
	var words []cobra.Completion
	for _, n := range names {
		if strings.HasPrefix(n.Model, typed) {
			words = append(words, cobra.CompletionWithDesc(n.Model, n.About))
		}
	}
	return words, directive
}

// completePresets offers the presets, the shortest first.
func completePresets(*cobra.Command, []string, string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
	for name, d := range app.Presets {
		words = append(words, cobra.CompletionWithDesc(name, textkit.Clock(d)))
	}
	slices.SortFunc(words, func(a, b cobra.Completion) int { return int(presetTime(a) - presetTime(b)) })
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

func presetTime(word cobra.Completion) time.Duration {
	name, _, _ := strings.Cut(word, "\t")
	return app.Presets[name]
}
