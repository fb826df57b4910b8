package ways

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"ponder/internal/compat"
	"ponder/internal/textkit"
)

// A Mind is the state of the subconscious.
type Mind struct {
	JSON json.RawMessage // in the form of subconscious.json
	Text string
}

// ReadMind returns the state of the subconscious, after a tick if that is set. Callers check the scope: a tick needs
// [auth.Think].
func ReadMind(ctx context.Context, d *compat.Dispatcher, owner string, tick bool) (m Mind, err error) {
	if tick {
		if _, err := d.Service.Tick(ctx, owner); err != nil {
			return m, err
		}
	}
	if m.JSON, err = d.Service.Mind(ctx, owner); err != nil {
		return m, err
	}
	m.Text, err = renderMind(m.JSON)
	return m, err
}

type mindEntry struct {
	ID       string `json:"id"`
	Summary  string `json:"summary"`
	Strength int    `json:"strength"`
}

func renderMind(js json.RawMessage) (string, error) {
	var lists struct {
		Threads  []mindEntry `json:"active_threads"`
		Patterns []mindEntry `json:"patterns"`
		Hunches  []mindEntry `json:"hunches"`
		Insights []mindEntry `json:"insights"`
	}
	if err := json.Unmarshal(js, &lists); err != nil {
		return "", fmt.Errorf("read the subconscious: %w", err)
	}
	var b strings.Builder
	for _, l := range []struct {
		name    string
		entries []mindEntry
	}{{"Active threads", lists.Threads}, {"Patterns", lists.Patterns}, {"Hunches", lists.Hunches}, {"Insights", lists.Insights}} {
		if len(l.entries) > 0 {
			fmt.Fprintf(&b, "**%s**\n\n", l.name)
		}
		for i, e := range l.entries {
			fmt.Fprintf(&b, "- %s (%d/10)\n", textkit.OneLine(compat.Plain(e.Summary)), e.Strength)
			if i == len(l.entries)-1 {
				b.WriteString("\n")
			}
		}
	}
	if b.Len() == 0 {
		return "The subconscious has no entries yet. Use /tick to let it look around.", nil
	}
	return strings.TrimSpace(b.String()), nil
}
