package main

import (
	"github.com/spf13/cobra"
)

func (a *cli) threadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "thread",
		Short: "Look at what is in the log, copy it, and remove it",
		Long: `Look at what is in the log, copy it, and remove it: each conversation and session, and
whatever else was said and thought, is a thread of events. An ID may be shortened
as long as it stays unique, with or without thr_; "last" is the newest thread.`,
		Example: "ponder thread list\nponder thread show last\nponder thread export last -o thread.jsonl\nponder thread remove 01K",
		GroupID: groupLook,
		Args:    cobra.ArbitraryArgs,
		RunE:    onlyGroups,
	}
	cmd.AddCommand(a.threadListCommand(), a.threadShowCommand(), a.threadExportCommand(), a.threadImportCommand(), a.threadForkCommand(),
		a.threadRemoveCommand(), a.threadWorkCommand())
	for _, sub := range cmd.Commands() {
		if sub.Name() != "list" && sub.Name() != "import" {
			sub.ValidArgsFunction = a.completeThreads("")
		}
	}
	return cmd
}
