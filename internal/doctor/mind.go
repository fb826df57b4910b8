package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ponder/internal/app"
	"ponder/internal/mindlog"
	"ponder/internal/server"
	"ponder/internal/textkit"
)

func (e *examiner) mindFindings(ctx context.Context) []Finding {
	cast, err := e.MindCastOf(ctx)
	if err != nil {
		return []Finding{{"mind", Broken, err.Error()}}
	}
	found := []Finding{{"mind", OK, strings.TrimSuffix(cast.Describe(), app.SeeDoctor)}}
	tried, err := e.TrySensors(ctx, time.Now())
	if err != nil {
		return append(found, Finding{"sensors", Broken, err.Error()})
	}
	var well []string
	for _, t := range tried {
		if t.Error == "" {
			well = append(well, t.Sensor)
			continue
		}
		found = append(found, Finding{"sensors", Missing, fmt.Sprintf("%s failed: %s", t.Sensor, t.Error)})
	}
	if len(well) > 0 {
		found = append(found, Finding{"sensors", OK, "available: " + strings.Join(well, ", ")})
	}
	m, err := mindlog.Open(ctx, e.App)
	if err != nil {
		m = nil // no subconscious yet
	}
	found = append(found, e.notifyFinding(), e.actionsFinding(m, time.Now()))
	if m != nil {
		for _, line := range m.Unsent(time.Now()) {
			found = append(found, Finding{"notify", Missing, line})
		}
	}
	return found
}

func (e *examiner) notifyFinding() Finding {
	channels, err := e.MindChannels()
	if err != nil {
		return Finding{"notify", Broken, err.Error()}
	}
	if len(channels) == 0 {
		return Finding{"notify", OK, "only in `ponder mind log`; add channels with mind.notify"}
	}
	var names []string
	for _, c := range channels {
		names = append(names, c.Name)
	}
	return Finding{"notify", OK, "messages by " + strings.Join(names, ", ")}
}

func (e *examiner) actionsFinding(m *mindlog.Log, now time.Time) Finding {
	acts, err := e.MindActions(nil)
	switch {
	case err != nil:
		return Finding{"actions", Broken, err.Error()}
	case len(acts.Tools) == 0:
		return Finding{"actions", OK, "the subconscious may only remember and send messages"}
	}
	text := "the subconscious may " + acts.Describe()
	if m != nil {
		if held := app.HeldBackText(m.View, now); held != "" {
			text += "; " + held
		}
	}
	return Finding{"actions", OK, text}
}

// callFindings reports the running servers of the database, with their waiting calls and the models
// that get none.
func (e *examiner) callFindings(ctx context.Context) (found []Finding) {
	for _, s := range server.LocalServers(e.App) {
		if s.Database != e.DatabasePath() || !s.IsResponding(ctx) {
			continue
		}
		lines, degraded, err := s.ModelNotes(ctx)
		f := Finding{"server", OK, "runs at " + s.LocalURL()}
		switch {
		case err != nil:
			f.State, f.Message = Broken, f.Message+": "+err.Error()
		case degraded:
			f.State = Broken
		}
		found = append(found, f)
		for _, line := range lines {
			found = append(found, Finding{"server", f.State, line})
		}
	}
	return found
}

func (e *examiner) serverFindings(ctx context.Context) (found []Finding) {
	rows, err := e.InspectMCPServers(ctx)
	if err != nil {
		return []Finding{{"tools", Broken, err.Error()}}
	}
	for _, r := range rows {
		if r.Error != "" {
			found = append(found, Finding{"tools", Missing, fmt.Sprintf("cannot connect to the MCP server %s: %s", r.Server, r.Error)})
			continue
		}
		found = append(found, Finding{"tools", OK, fmt.Sprintf("the MCP server %s has %s", r.Server, textkit.Count(len(r.Tools), "tool", "tools"))})
	}
	return found
}
