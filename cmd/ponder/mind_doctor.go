package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ponder/internal/app"
)

// mindFindings says who thinks in the subconscious, which sensors are configured and
// whether they answer, and how the user is told.
func (a *cli) mindFindings(ctx context.Context) []finding {
	cast, err := a.MindCastOf(ctx)
	if err != nil {
		return []finding{{"mind", broken, err.Error()}}
	}
	found := []finding{{"mind", fine, strings.TrimSuffix(cast.Says(), app.SeeDoctor)}}
	tried, err := a.tryAll(ctx, time.Now())
	if err != nil {
		return append(found, finding{"sensors", broken, err.Error()})
	}
	var well []string
	for _, t := range tried {
		if t.Error == "" {
			well = append(well, t.Sensor)
			continue
		}
		found = append(found, finding{"sensors", lacking, fmt.Sprintf("%s cannot look: %s", t.Sensor, t.Error)})
	}
	if len(well) > 0 {
		found = append(found, finding{"sensors", fine, "can look: " + strings.Join(well, ", ")})
	}
	m, err := a.mindLog(ctx)
	if err != nil {
		m = nil // it has not begun
	}
	found = append(found, a.notifyFinding(), a.actionsFinding(m, time.Now()))
	if m != nil {
		for _, line := range m.unsentText(time.Now()) {
			found = append(found, finding{"notify", lacking, line})
		}
	}
	return found
}

// notifyFinding says how the user is told of what the subconscious brings up.
func (a *cli) notifyFinding() finding {
	channels, err := a.MindChannels()
	if err != nil {
		return finding{"notify", broken, err.Error()}
	}
	if len(channels) == 0 {
		return finding{"notify", fine, "what the subconscious brings up is in `ponder mind log`; mind.notify has further ways to be told"}
	}
	var names []string
	for _, c := range channels {
		names = append(names, c.Name)
	}
	return finding{"notify", fine, "told by " + strings.Join(names, ", ")}
}
