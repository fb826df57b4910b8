package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
)

func completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print what makes a shell complete commands",
		Long: `Print a script that makes bash, zsh, fish or powershell complete commands, flags and ids.
That for bash needs the package bash-completion.`,
		Example: `source <(ponder completion bash)
ponder completion zsh > "${fpath[1]}/_ponder"
ponder completion fish > ~/.config/fish/completions/ponder.fish`,
		GroupID:   groupSetUp,
		ValidArgs: shells,
		Args:      take(1, 1, "bash, zsh, fish or powershell"),
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
				return usagef("%q is none of bash, zsh, fish, powershell", clip(args[0], 20))
			}
			if err != nil {
				return fmt.Errorf("print completion: %w", err)
			}
			return nil
		},
	}
}

// maxCompletions is how many ids a shell is offered.
const maxCompletions = 50

// completeThreads offers a shell the ids of threads of a kind.
func (a *cli) completeThreads(kind ponder.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
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
			words = append(words, cobra.CompletionWithDesc(string(info.ID), clip(oneLine(info.Title), 60)))
		}
		return slices.Clip(words), no | cobra.ShellCompDirectiveKeepOrder
	}
}
