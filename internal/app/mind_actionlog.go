package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/mode/subconscious"
	"ponder/store/sqlite"
)

// actionLog is the record of recent actions, read incrementally from the thread. It is safe for
// concurrent use.
type actionLog struct {
	store  *sqlite.Store
	thread ponder.ThreadID

	mu      sync.Mutex
	head    ponder.Seq
	raised  map[string]string       // event id by escalation
	about   map[ponder.RunID]string // event id of the escalation, by run of its decision
	actions []loggedAction
	budget  map[ponder.ThreadID]ponder.Budget // of sessions
}

type loggedAction struct {
	tool string
	run  ponder.RunID
	at   time.Time
}

// actionLogAge is the lifetime of a use in memory.
const actionLogAge = 48 * time.Hour

// readNew folds new events. The caller holds m.mu.
func (m *actionLog) readNew(ctx context.Context) error {
	if m.about == nil {
		m.about, m.budget, m.raised = make(map[ponder.RunID]string), make(map[ponder.ThreadID]ponder.Budget), make(map[string]string)
	}
	for ev, err := range m.store.Events(ctx, m.thread, m.head) {
		if errors.Is(err, ponder.ErrNoThread) {
			m.head, m.actions = 0, nil
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the subconscious: %w", err)
		}
		m.head = ev.Seq
		if time.Since(ev.Time) <= actionLogAge {
			m.applyEvent(ev)
		}
	}
	return nil
}

func (m *actionLog) applyEvent(ev ponder.Event) {
	switch b := ev.Body.(type) {
	case ponder.Escalation:
		if b.Outcome == "" {
			m.raised[b.ID] = ev.ID
		}
	case ponder.RunStarted:
		if b.Mode == subconscious.DecideMode {
			id := strings.TrimSpace(b.Input)
			m.about[ev.Run] = cmp.Or(m.raised[id], id) // an escalation from before the record has only its id
		}
	case ponder.ToolCall:
		if m.about[ev.Run] != "" {
			m.actions = append(m.actions, loggedAction{b.Name, ev.Run, ev.Time})
		}
	}
}

func localDay(t time.Time) string { return t.Local().Format(time.DateOnly) }

// usesToday returns the uses of a tool today. The caller holds m.mu.
func (m *actionLog) usesToday(tool string, now time.Time) (list []loggedAction) {
	for _, d := range m.actions {
		if d.tool == tool && localDay(d.at) == localDay(now) {
			list = append(list, d)
		}
	}
	return list
}

// checkUse refuses a second use of a tool in a run, and uses beyond the daily limit. Failed
// attempts count.
func (m *actionLog) checkUse(ctx context.Context, tool string, run ponder.RunID, most int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.readNew(ctx); err != nil {
		return err
	}
	today, here := m.usesToday(tool, time.Now()), 0
	for _, d := range today {
		if d.run == run {
			here++
		}
	}
	switch {
	case here > 1:
		return fmt.Errorf("%s was used already: decide now", tool)
	case len(today) > most:
		return fmt.Errorf("%s was used %d times today, and may be used no more: tell the user", tool, most)
	}
	return nil
}

// escalationOf returns the event id of the escalation that a run decides about.
func (m *actionLog) escalationOf(ctx context.Context, run ponder.RunID) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.readNew(ctx); err != nil {
		return "", err
	}
	if id := m.about[run]; id != "" {
		return id, nil
	}
	return "", fmt.Errorf("run %s has no escalation to decide", run)
}

// costsToday returns the possible cost of today's sessions, and the cost of the subconscious
// itself.
func (m *actionLog) costsToday(ctx context.Context, now time.Time) (sessions, itself ponder.Cost, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.readNew(ctx); err != nil {
		return sessions, itself, err
	}
	y, month, d := now.Local().Date()
	rows, err := m.store.Usage(ctx, ponder.ByThread, time.Date(y, month, d, 0, 0, 0, 0, now.Local().Location()))
	if err != nil {
		return sessions, itself, fmt.Errorf("read the cost of the subconscious: %w", err)
	}
	spent := make(map[string]ponder.Cost)
	for _, r := range rows {
		spent[r.Key] = ponder.Cost{Tokens: r.Usage.Total(), Money: r.Money, Calls: r.Calls}
	}
	for _, use := range m.usesToday(config.ThinkAbout, now) {
		id := mindSession(m.about[use.run])
		cost, err := m.maxCostOf(ctx, id, spent[string(id)])
		if err != nil {
			return sessions, itself, err
		}
		sessions = sessions.Add(cost)
	}
	return sessions, spent[string(m.thread)], nil
}

// maxCostOf returns the cost of an ended session, else its ceiling. The caller holds m.mu.
func (m *actionLog) maxCostOf(ctx context.Context, id ponder.ThreadID, spent ponder.Cost) (ponder.Cost, error) {
	info, err := m.store.Thread(ctx, id)
	switch {
	case errors.Is(err, ponder.ErrNoThread):
		return spent, nil
	case err != nil:
		return spent, fmt.Errorf("read the status of %s: %w", id, err)
	case info.Status.Ended():
		return spent, nil
	}
	if _, ok := m.budget[id]; !ok {
		for ev, err := range m.store.Events(ctx, id, 0) {
			if err != nil {
				return spent, fmt.Errorf("read %s: %w", id, err)
			}
			if b, ok := ev.Body.(ponder.RunStarted); ok {
				m.budget[id] = b.Budget
				break
			}
		}
	}
	most := m.budget[id]
	return ponder.Cost{Tokens: max(spent.Tokens, most.Tokens), Money: max(spent.Money, most.Money)}, nil
}

// sessionCostToday returns the day's possible cost of sessions; zero if unknown.
func (m *actionLog) sessionCostToday(now time.Time) ponder.Cost {
	ctx, cancel := context.WithTimeout(context.Background(), actionLogTimeout)
	defer cancel()
	cost, _, err := m.costsToday(ctx, now)
	if err != nil {
		slog.Warn("cannot read the cost of sessions of the subconscious", "error", err)
	}
	return cost
}

const actionLogTimeout = 10 * time.Second
