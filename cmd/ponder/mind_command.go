package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/mode/subconscious"
)

func (a *cli) mindCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mind",
		Short: "The subconscious: what is noticed while nobody asks",
		Long: `The subconscious: at each tick, four roles look at what sensors saw (mail, calendars,
files, this machine, feeds, repositories, Ponder's own threads), and what they find is
merged. What keeps coming back grows, what does not fades, and what matters is thought
through and told once. When nothing has happened nothing is asked, and nothing is spent.`,
		Example: `ponder mind tick --dry-run
ponder mind run
ponder mind show
ponder mind log --since 24h`,
		GroupID: groupThink,
		Args:    cobra.ArbitraryArgs,
		RunE:    onlyGroups,
	}
	cmd.AddCommand(a.mindRunCommand(), a.mindTickCommand(), a.mindShowCommand(), a.mindLogCommand(), a.mindExplainCommand(),
		a.mindResolveCommand(), a.mindForgetCommand(), a.mindRollbackCommand(), a.mindSensorsCommand())
	return cmd
}

// errNoMind is the error of a subconscious that has not begun.
var errNoMind = errors.New("the subconscious has not begun: `ponder mind tick` has it look once, `ponder mind run` from now on")

// A mindLog is the thread of a subconscious, read.
type mindLog struct {
	subconscious.View
	head   ponder.Seq
	events []ponder.Event          // what was found, merged, escalated and said
	seenAs map[string]ponder.Event // observations, by id
	told   map[string]map[string]time.Time
	spent  map[ponder.RunID]ponder.Cost
	deeds  map[ponder.RunID][]mindDeed // of decisions
	broken map[ponder.RunID]int        // calls of ticks that failed

	failures map[string]mindFailure // by channel: those that were not made up for
}

func newMindLog() *mindLog {
	return &mindLog{View: subconscious.NewView(), seenAs: make(map[string]ponder.Event), told: make(map[string]map[string]time.Time),
		spent: make(map[ponder.RunID]ponder.Cost), deeds: make(map[ponder.RunID][]mindDeed), failures: make(map[string]mindFailure),
		broken: make(map[ponder.RunID]int)}
}

// apply takes in the next event.
func (m *mindLog) apply(ev ponder.Event) {
	m.head, m.View = ev.Seq, m.View.Apply(ev)
	switch b := ev.Body.(type) {
	case ponder.RunFinished:
		m.spent[ev.Run] = b.Spent
	case ponder.Observation:
		m.failed(ev, b)
		if channel, sent := deliveredBy(b); sent {
			if m.told[b.Subject] == nil {
				m.told[b.Subject] = make(map[string]time.Time)
			}
			m.told[b.Subject][channel] = ev.Time
		} else if b.Content != "" && !ev.Internal && b.Sensor != subconscious.Delivery {
			m.seenAs[ev.ID] = ev
		}
	case ponder.CallFinished:
		if b.Error != "" && !b.Dropped && !b.Refused {
			root, _, _ := strings.Cut(string(ev.Run), "/")
			m.broken[ponder.RunID(root)]++
		}
	case ponder.ToolCall:
		m.deeds[ev.Run] = append(m.deeds[ev.Run], mindDeed{Tool: b.Name, At: ev.Time, Reason: app.WhyOf(b.Args), key: keyOf(ev)})
	case ponder.ToolResult:
		m.done(ev, b)
	case ponder.Finding, ponder.Subconscious, ponder.Escalation, ponder.Resolved:
		m.events = append(m.events, ev)
	}
}

// deliveredBy returns the channel on which the user was told, if an observation says so.
func deliveredBy(o ponder.Observation) (channel string, sent bool) {
	return o.State, o.Sensor == subconscious.Delivery && o.State != ""
}

// mindLog opens the database to look at the subconscious, and reads its thread. The
// error is errNoMind if there is none.
func (a *cli) mindLog(ctx context.Context) (*mindLog, error) {
	store, err := a.OpenReadOnly(ctx)
	if errors.Is(err, app.ErrNothingYet) {
		return nil, app.Invalidf("", "%w", errNoMind)
	}
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return readMind(ctx, store)
}

// readMind reads the thread of the subconscious.
func readMind(ctx context.Context, log ponder.Log) (*mindLog, error) {
	m := newMindLog()
	for ev, err := range log.Events(ctx, app.MindID(), 0) {
		if errors.Is(err, ponder.ErrNoThread) {
			return nil, app.Invalidf("", "%w", errNoMind)
		}
		if err != nil {
			return nil, fmt.Errorf("read the subconscious: %w", err)
		}
		m.apply(ev)
	}
	return m, nil
}
