package mindrunner

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/mode/subconscious"
	"ponder/sensor"
	"ponder/store/memory"
)

// tickAndKill starts a process, ticks, and kills the process after a while.
func tickAndKill(t *testing.T, base ponder.Store, v *roleModel, c Config, after time.Duration) {
	store := &killedStore{Store: base, left: 1 << 30, kill: func() {}}
	c.Store = store
	r := startProcess(t, store, v, c)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := r.Tick(ctx, false)
		ended <- err
	}()
	time.Sleep(after)
	store.mu.Lock()
	store.left = 0 // no later call has an effect
	store.mu.Unlock()
	cancel()
	r.stopProcess()
	<-ended
}

// TestPaidAnswers kills processes while they compare findings with a slow embedding model. The
// answers of the roles are in the log by then, so no process asks for them again.
func TestPaidAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w, v := memory.New(), &sensorSource{}, &roleModel{takes: time.Second}
		w.addThing("room 1")
		subjects := map[string]string{}
		v.report = func(req *llm.Request) string {
			v.mu.Lock()
			defer v.mu.Unlock()
			if subjects[req.System] == "" {
				subjects[req.System] = []string{"The server room is far too warm", "A backup of the photos failed", "Rent for the flat is due", "Bees nest below the roof"}[len(subjects)]
			}
			return fmt.Sprintf(`{"findings":[{"type":"observation","summary":"%s","importance":8,"rests_on":["o1"]}],"escalate":false}`, subjects[req.System])
		}
		compared := 0
		c := Config{Sensors: []sensor.Sensor{w.newSensor("system")}}
		c.Options.Rules.Same = func(_, _ string) bool {
			compared++
			time.Sleep(3 * time.Second)
			return false
		}
		tickAndKill(t, store, v, c, 2*time.Second)
		asked := v.countCalls()
		if asked == 0 || compared == 0 {
			t.Fatalf("%d calls, %d comparisons", asked, compared)
		}
		for range 15 {
			tickAndKill(t, store, v, c, 2*time.Second)
		}
		if got := v.countCalls(); got != asked {
			t.Errorf("%d calls for %d answers", got, asked)
		}
		startProcess(t, store, v, c).mustTick(false)
		ticks := 0
		for _, ev := range mindEvents(t, store) {
			if _, ok := ev.Body.(ponder.Subconscious); ok {
				ticks++
			}
		}
		if ticks != 1 || v.countCalls() != asked {
			t.Errorf("%d ticks were merged, %d calls for %d answers", ticks, v.countCalls(), asked)
		}
	})
}

// TestPaidLookUps kills processes while one of two look-ups is slow. The result of the other is
// in the log by then, so no process looks it up again.
func TestPaidLookUps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w, v := memory.New(), &sensorSource{}, &roleModel{}
		w.addThing("room 1")
		v.report = func(req *llm.Request) string {
			if strings.Contains(req.Messages[0].Text(), "lookup:") {
				return `{"findings":[]}`
			}
			return fmt.Sprintf(`{"findings":[],"look_up":"subject %d"}`, len(req.System))
		}
		var mu sync.Mutex
		fast, asked := "", 0 // the first subject, and its look-ups
		isFast := func(text string) bool {
			mu.Lock()
			defer mu.Unlock()
			if fast = cmp.Or(fast, text); text == fast {
				asked++
			}
			return text == fast
		}
		s := &lookupSource{find: func(ctx context.Context, text string) ([]ponder.Observation, error) {
			if !isFast(text) {
				select {
				case <-time.After(10 * time.Second):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return []ponder.Observation{{Content: "Result of " + text}}, nil
		}}
		c := Config{
			Sensors: []sensor.Sensor{w.newSensor("own")}, LookUp: s.lookUp,
			Options: subconscious.Options{Roles: subconscious.DefaultRoles()[1:3]},
		}
		first := startProcess(t, store, v, c)
		first.mustTick(true)
		first.stopProcess()
		if n := len(first.view.Internal.LookUpRequests); n != 2 {
			t.Fatalf("%d wants", n)
		}
		time.Sleep(5 * time.Minute)
		for range 5 {
			tickAndKill(t, store, v, c, 3*time.Second)
		}
		if n := len(lookUpResults(mindEvents(t, store))); n != 1 || asked != 1 {
			t.Errorf("%d results are stored after %d look-ups of %q, want one of each", n, asked, fast)
		}
	})
}
