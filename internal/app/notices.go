package app

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/notice"
	"ponder/sensor/notify"
	"ponder/store/sqlite"
)

// noticeKind is the kind of the records of requested notices. Their id is the thread.
const noticeKind = "notice"

// NoticeChannels returns the channels that may send notices: the desktop and all of mind.notify.
func (a *App) NoticeChannels() ([]notify.Channel, error) {
	list, err := a.MindChannels()
	if err == nil && !slices.ContainsFunc(list, func(c notify.Channel) bool { return c.Name == notice.Desktop }) {
		list = append(list, notify.Desktop())
	}
	return list, err
}

// NoticeNames returns the names of the configured channels for notices.
func (a *App) NoticeNames() (names []string, err error) {
	list, err := a.NoticeChannels()
	for _, c := range list {
		if c.Name != notice.Desktop {
			names = append(names, c.Name)
		}
	}
	return names, err
}

// RequestNotice stores a request to notify the user of the end of a thread's work.
func (a *App) RequestNotice(ctx context.Context, store *sqlite.Store, id ponder.ThreadID, r notice.Request) error {
	if len(r.Channels) == 0 {
		return nil
	}
	db, err := openServerDB(ctx, store.SQL())
	if err != nil {
		return err
	}
	js, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("request a notice: %w", err)
	}
	return db.Put(ctx, noticeKind, a.Owner(), string(id), js)
}

// SendNotices sends the due notices: that of a thread, or all without an id. Errors stay with the
// requests, and a later call tries again.
func (a *App) SendNotices(ctx context.Context, store *sqlite.Store, id ponder.ThreadID) {
	if err := a.sendNotices(ctx, store, id); err != nil && ctx.Err() == nil {
		slog.Warn("cannot send notices", "error", err)
	}
}

func (a *App) sendNotices(ctx context.Context, store *sqlite.Store, id ponder.ThreadID) error {
	return forEachRecord(ctx, store, noticeKind, func(db *serverDB, r Record) error {
		if id != "" && r.ID != string(id) {
			return nil
		}
		return a.sendNotice(ctx, store, db, r)
	})
}

func (a *App) sendNotice(ctx context.Context, store *sqlite.Store, db *serverDB, r Record) error {
	var request notice.Request
	if json.Unmarshal(r.JSON, &request) != nil {
		return db.Drop(ctx, noticeKind, r.Owner, r.ID)
	}
	info, err := store.Thread(ctx, ponder.ThreadID(r.ID))
	switch {
	case errors.Is(err, ponder.ErrNoThread):
		return db.Drop(ctx, noticeKind, r.Owner, r.ID)
	case err != nil:
		return err
	case !info.Status.Ended() && (info.Status != ponder.Paused || info.Held):
		return nil
	}
	end, ended, err := a.endOf(ctx, store, info)
	if err != nil || !ended {
		return err
	}
	claimed, ok := request.Claim(end, time.Now())
	if !ok {
		return nil
	}
	if mine, err := db.replaceRecord(ctx, noticeKind, r, claimed); err != nil || !mine {
		return err
	}
	results := make(map[string]error)
	if m, wanted := claimed.Message(end); wanted {
		results = a.sendOn(ctx, claimed, m)
	} else {
		for _, name := range claimed.Unsent() {
			results[name] = nil
		}
	}
	settled, obsolete := claimed.Settle(end, results, time.Now())
	if settled.Error != "" {
		a.Notef("cannot notify about %s: %s", r.ID, settled.Error)
		slog.Warn("cannot notify the user", "thread", r.ID, "error", settled.Error)
	}
	if obsolete {
		return db.Drop(ctx, noticeKind, r.Owner, r.ID)
	}
	js, err := json.Marshal(settled)
	if err != nil {
		return err
	}
	return db.Put(ctx, noticeKind, r.Owner, r.ID, js)
}

const sendTime = 45 * time.Second // for one notice

// sendOn sends a message on the unsent channels of a request.
func (a *App) sendOn(ctx context.Context, r notice.Request, m notify.Message) map[string]error {
	results := make(map[string]error)
	channels, err := a.NoticeChannels()
	channels = append(channels, notify.Bell(r.Terminal))
	for _, name := range r.Unsent() {
		i := slices.IndexFunc(channels, func(c notify.Channel) bool { return c.Name == name })
		switch {
		case i >= 0:
			short, cancel := context.WithTimeout(ctx, sendTime)
			results[name] = channels[i].Send(short, m)
			cancel()
		case err != nil:
			results[name] = err
		default:
			results[name] = fmt.Errorf("%s is not configured", name)
		}
	}
	return results
}

// endOf returns how the work of a thread ended, or paused by itself. A pause by the user is no end.
func (a *App) endOf(ctx context.Context, store *sqlite.Store, info ponder.Info) (e notice.End, ended bool, err error) {
	w := a.SessionView(store, info.ID)
	for ev, err := range store.Events(ctx, info.ID, 0) {
		if err != nil {
			return e, false, fmt.Errorf("read %s: %w", info.ID, err)
		}
		w.Apply(ev)
		if ev.Run.Parent() != "" {
			continue
		}
		switch b := ev.Body.(type) {
		case ponder.RunPaused:
			ended = strings.Contains(ev.Cause, "/") // written by the run itself
			e = notice.End{Seq: ev.Seq, At: ev.Time, Status: ponder.Paused, Reason: b.Reason}
		case ponder.RunResumed:
			ended = false
		case ponder.RunFinished:
			ended = true
			e = notice.End{Seq: ev.Seq, At: ev.Time, Status: b.Status, Reason: b.Reason, Answer: b.Answer}
		}
	}
	e.Thread, e.Kind, e.Title = info.ID, info.Kind, info.Title
	if w.Research != nil && e.Status == ponder.Completed {
		if d := w.Research.Report().Since; d != nil {
			e.Changes, e.Differs = d.Summary(), d.HasChanges()
		}
	}
	return e, ended, nil
}

// replaceRecord replaces a record, unless another process has changed it since.
func (b *serverDB) replaceRecord(ctx context.Context, kind string, old Record, v any) (mine bool, err error) {
	js, err := json.Marshal(v)
	if err != nil {
		return false, fmt.Errorf("replace a record of %s: %w", kind, err)
	}
	err = b.db.Tx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, b.db.Bind(`UPDATE serve_record SET record = ? WHERE kind = ? AND owner = ? AND id = ? AND record = ?`),
			string(js), kind, old.Owner, old.ID, string(old.JSON))
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		mine = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("replace a record of %s: %w", kind, err)
	}
	return mine, nil
}
