package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/transcript"
)

func (a *cli) threadExportCommand() *cobra.Command {
	var file string
	var internal bool
	cmd := &cobra.Command{
		Use:     "export ID",
		Short:   "Write a thread as JSON Lines",
		Long:    "Write a thread as JSON Lines: a header, then one event a line, oldest first.",
		Example: "ponder thread export last -o thread.jsonl\nponder thread export last --internal | jq .type",
		Args:    takeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			store, err := a.OpenReadOnly(ctx)
			if err != nil {
				return err
			}
			defer store.Close()
			info, err := a.FindThread(ctx, store, args[0], "")
			if err != nil {
				return err
			}
			return a.exportThread(ctx, store, info, file, internal)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this `file`")
	cmd.Flags().BoolVar(&internal, "internal", false, "internal events too, such as calls of models")
	return cmd
}

// exportThread writes a thread as JSON Lines, as docs/log-format.md says.
func (a *cli) exportThread(ctx context.Context, log ponder.Log, info ponder.Info, file string, internal bool) error {
	return a.deliver(file, func(out *bytes.Buffer) error {
		if err := transcript.Write(out, info.Thread, log.Events(ctx, info.ID, 0), internal); err != nil {
			return fmt.Errorf("export %s: %w", info.ID, err)
		}
		return nil
	})
}
