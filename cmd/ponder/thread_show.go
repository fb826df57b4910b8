package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ponder"
)

func (a *cli) threadShowCommand() *cobra.Command {
	var internal, thoughts bool
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show the events of a thread",
		Example: "ponder thread show last\nponder thread show last --thoughts\nponder thread show last --internal --json",
		Args:    takeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.threadShow(cmd.Context(), args[0], func(ev ponder.Event) bool {
				return !ev.Internal || internal || thoughts && !isCall(ev)
			})
		},
	}
	cmd.Flags().BoolVar(&internal, "internal", false, "internal events too, such as calls of models")
	cmd.Flags().BoolVar(&thoughts, "thoughts", false, "internal events too, but for calls of models: what was thought without being said")
	return cmd
}

// isCall reports whether an event is the beginning or the end of a call of a model.
func isCall(ev ponder.Event) bool {
	switch ev.Body.(type) {
	case ponder.CallStarted, ponder.CallFinished:
		return true
	}
	return false
}

func (a *cli) threadShow(ctx context.Context, name string, wanted func(ponder.Event) bool) error {
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := a.FindThread(ctx, store, name, "")
	if err != nil {
		return err
	}
	if !a.flags.json {
		a.printf("%s, %s, %s: %s\n\n", info.ID, info.Kind, statusOf(info), oneLine(info.Title))
	}
	for ev, err := range store.Events(ctx, info.ID, 0) {
		if err != nil {
			return fmt.Errorf("read %s: %w", info.ID, err)
		}
		if !wanted(ev) {
			continue
		}
		if a.flags.json {
			if err := a.object(ev); err != nil {
				return err
			}
			continue
		}
		row := []string{fmt.Sprintf("%5d", ev.Seq), ev.Time.Local().Format("15:04:05"), fmt.Sprintf("%-17s", ev.Body.Type()), oneLine(clip(gist(ev), 160))}
		fmt.Fprint(a.out, columns([][]string{row}, a.cells()))
	}
	return nil
}

// gist returns what an event says, as one line.
func gist(ev ponder.Event) string {
	var flat struct {
		Content    string          `json:"content"`
		ToolName   string          `json:"tool_name"`
		ToolArgs   json.RawMessage `json:"tool_args"`
		ToolResult string          `json:"tool_result"`
		Reason     string          `json:"reason"`
		Model      string          `json:"model"`
		Data       struct {
			Error  string `json:"error"`
			Status string `json:"status"`
			Do     string `json:"do"`
			Role   string `json:"model_role"`
		} `json:"data"`
	}
	js, err := json.Marshal(ev)
	if err != nil {
		return err.Error()
	}
	if err := json.Unmarshal(js, &flat); err != nil { // data of another shape
		return oneLine(flat.Content)
	}
	if ev.Erased {
		return "(erased)"
	}
	parts := []string{flat.Data.Status, flat.Data.Do, flat.Data.Role, flat.Model, flat.ToolName, string(flat.ToolArgs), flat.Reason, flat.Data.Error,
		flat.Content, flat.ToolResult}
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return oneLine(strings.Join(said, " · "))
}
