package simulation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/store/memory"
)

// A disk is the store of one node. It adds time and faults to the disk that all nodes share.
type disk struct {
	*memory.Store
	*node
}

var errBusy = errors.New("database is locked")

// write performs a write with a name: it takes its time, fails as the seed wants, and passes
// the outcome to the checker at the moment of the write.
func (d *disk) write(ctx context.Context, name string, do func() error) error {
	if slow := fmt.Sprint("slow ", name, d.countOf(name)); d.number(15, slow) == 0 && !d.isCalm() { // so that others append meanwhile
		time.Sleep(d.duration(50*time.Millisecond, 2*time.Second, slow))
	}
	if err := d.pass(name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	f := d.faultAt("append")
	switch f {
	case killBefore:
		d.kill("before " + name)
		<-d.closed
		return errKilled
	case diskFull:
		d.record("%s full %s", d.node.name, name)
		return fmt.Errorf("append: %w", ponder.ErrFull)
	case diskBusy:
		d.record("%s busy %s", d.node.name, name)
		return fmt.Errorf("append: %w", errBusy)
	}
	if err := do(); err != nil {
		return err
	}
	switch f {
	case killAfter:
		d.kill("after " + name)
		<-d.closed
		return errKilled
	case syncError: // the events are in the log, but not safe
		d.record("%s sync error %s", d.node.name, name)
		return fmt.Errorf("append: %w", ponder.ErrDisk)
	}
	return d.pass(name + " sync")
}

// describe returns a short name of events.
func describe(events []ponder.Event) string {
	if len(events) == 0 {
		return "nothing"
	}
	ev := events[0]
	return fmt.Sprintf("%s %s %s+%d", ev.Run, ev.Cause, ev.Body.Type(), len(events)-1)
}

func (d *disk) Append(ctx context.Context, thread ponder.ThreadID, fence ponder.Fence, events ...ponder.Event) (added []ponder.Event, err error) {
	name := fmt.Sprintf("append %s %d %s", thread, fence, describe(events))
	err = d.write(ctx, name, func() (err error) {
		added, err = d.Store.Append(context.WithoutCancel(ctx), thread, fence, events...)
		d.record("%s %s: %v", d.node.name, name, err)
		if err == nil {
			d.checker.noteAppend(d.node, thread, fence, events, added)
			if f := ponder.Recorded(ctx); f != nil {
				f()
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return added, nil
}

func (d *disk) Retake(ctx context.Context, thread ponder.ThreadID, node ponder.NodeID, want ponder.Lease, events ...ponder.Event) (added []ponder.Event, err error) {
	name := fmt.Sprintf("retake %s %d %s", thread, want.Fence, describe(events))
	err = d.write(ctx, name, func() (err error) {
		added, err = d.Store.Retake(context.WithoutCancel(ctx), thread, node, want, events...)
		d.record("%s %s: %v", d.node.name, name, err)
		if err == nil {
			d.checker.noteTake(d.node, thread, node, want.Fence)
			d.checker.noteAppend(d.node, thread, want.Fence, events, added)
			if f := ponder.Recorded(ctx); f != nil {
				f()
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return added, nil
}

func (d *disk) Create(ctx context.Context, thread ponder.Thread, events ...ponder.Event) error {
	name := "create " + string(thread.ID)
	return d.write(ctx, name, func() error {
		err := d.Store.Create(context.WithoutCancel(ctx), thread, events...)
		d.record("%s %s: %v", d.node.name, name, err)
		if err == nil {
			d.checker.noteCreate(thread.ID, events)
		}
		return err
	})
}

func (d *disk) Take(ctx context.Context, thread ponder.ThreadID, node ponder.NodeID) (lease ponder.Lease, err error) {
	name := "take " + string(thread)
	if err := d.pass(name); err != nil {
		return lease, err
	}
	lease, err = d.Store.Take(ctx, thread, node)
	d.record("%s %s: fence %d, %v", d.node.name, name, lease.Fence, err)
	if err == nil {
		d.checker.noteTake(d.node, thread, node, lease.Fence)
	}
	if d.faultAt("take") == killAfter {
		d.kill("after " + name)
	}
	if err := d.pass(name + " ack"); err != nil {
		return ponder.Lease{}, err
	}
	return lease, err
}

func (d *disk) Release(ctx context.Context, thread ponder.ThreadID, fence ponder.Fence, head ponder.Seq, elapsed time.Duration) error {
	name := "release " + string(thread)
	if err := d.pass(name); err != nil {
		return err
	}
	err := d.Store.Release(ctx, thread, fence, head, elapsed)
	d.record("%s %s at %d: %v", d.node.name, name, head, err)
	if err == nil {
		d.checker.noteRelease(d.node, thread, fence, head)
		if info, ok := d.threadInfo(thread); ok && info.Head == head && info.Status == ponder.Thinking {
			d.report("%s: released at %d, but it has work", thread, head)
		}
	}
	return err
}

func (d *disk) Abandon(ctx context.Context, thread ponder.ThreadID, fence ponder.Fence, elapsed time.Duration) error {
	name := "abandon " + string(thread)
	if err := d.pass(name); err != nil {
		return err
	}
	err := d.Store.Abandon(ctx, thread, fence, elapsed)
	d.record("%s %s: %v", d.node.name, name, err)
	if err == nil {
		d.checker.noteAbandon(thread, fence)
	}
	return err
}

func (d *disk) Join(ctx context.Context, n ponder.Node) error {
	if err := d.pass("join"); err != nil {
		return err
	}
	if d.losesHeartbeats() {
		return errBusy
	}
	err := d.Store.Join(ctx, n)
	if err == nil {
		d.checker.noteBeat(n.ID)
	}
	return err
}

func (d *disk) Heartbeat(ctx context.Context, id ponder.NodeID, clock time.Duration) error {
	if err := d.pass("beat"); err != nil {
		return err
	}
	if d.losesHeartbeats() {
		return errBusy
	}
	err := d.Store.Heartbeat(ctx, id, clock)
	if err == nil {
		d.checker.noteBeat(id)
	}
	return err
}

func (d *disk) MarkDead(ctx context.Context, id ponder.NodeID) error {
	if err := d.pass("mark dead"); err != nil {
		return err
	}
	d.checker.noteDead(id)
	return d.Store.MarkDead(ctx, id)
}

func (d *disk) Events(ctx context.Context, thread ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		if err := d.pass("read " + string(thread)); err != nil {
			yield(ponder.Event{}, err)
			return
		}
		last := after
		defer func() { d.checker.noteRead(d.node, thread, last) }()
		d.Store.Events(ctx, thread, after)(func(ev ponder.Event, err error) bool {
			last = max(last, ev.Seq)
			return yield(ev, err)
		})
	}
}

func (d *disk) Request(ctx context.Context, thread ponder.ThreadID, run ponder.RunID, cause string) (*llm.Request, error) {
	if err := d.pass(fmt.Sprint("request ", thread, run, cause)); err != nil {
		return nil, err
	}
	return d.Store.Request(ctx, thread, run, cause)
}

func (d *disk) Thread(ctx context.Context, id ponder.ThreadID) (ponder.Info, error) {
	if err := d.pass("info " + string(id)); err != nil {
		return ponder.Info{}, err
	}
	return d.Store.Thread(ctx, id)
}

func (d *disk) Abandoned(ctx context.Context) ([]ponder.ThreadID, error) {
	if err := d.pass("abandoned"); err != nil {
		return nil, err
	}
	return d.Store.Abandoned(ctx)
}

func (d *disk) LoadCheckpoint(ctx context.Context, thread ponder.ThreadID, fold, version string) (ponder.Seq, []byte, error) {
	if err := d.pass("load " + string(thread)); err != nil {
		return 0, nil, err
	}
	return d.Store.LoadCheckpoint(ctx, thread, fold, version)
}

func (d *disk) SaveCheckpoint(ctx context.Context, thread ponder.ThreadID, fold, version string, seq ponder.Seq, state []byte) error {
	if err := d.pass("save " + string(thread)); err != nil {
		return err
	}
	d.record("%s checkpoint %s at %d", d.node.name, thread, seq)
	return d.Store.SaveCheckpoint(ctx, thread, fold, version, seq, state)
}
