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
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/passthrough"
	"ponder/tool/knowledge"
	webtool "ponder/tool/web"
)

// Models implements [app.Lister]: those of the roles, each once, the models that talk
// first.
func (s *Service) Models(ctx context.Context, owner string) (list []string, err error) {
	l, err := s.as(owner).ModelSet(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, choice := range l.Choices {
		for _, full := range choice.Models {
			if !slices.Contains(list, full) {
				list = append(list, full)
			}
		}
	}
	return list, nil
}

// errNoVectors is the error of a server without a model that makes vectors.
var errNoVectors = NotReadyf("%w: set models.embed, or PONDER_EMBED_MODEL", ErrNoVectors)

// Embed implements [Embedder]. The day of a token that is limited pays for it.
func (s *Service) Embed(ctx context.Context, owner, model string, texts []string) (vectors [][]float32, usage llm.Usage, name string, err error) {
	l, err := s.as(owner).ModelSet(ctx, "")
	if err != nil {
		return nil, usage, "", err
	}
	if name = model; name == "" {
		models := l.Choices.Of(ponder.Embed).Models
		if len(models) == 0 {
			return nil, usage, "", errNoVectors
		}
		name = models[0]
	}
	m, err := l.Vectors(name)
	if err != nil {
		return nil, usage, name, noSuchModel(err)
	}
	token, _, _ := s.limitOf(ctx)
	vectors, usage, err = s.embedFor(ctx, owner, token, m, texts)
	if err == nil && len(vectors) != len(texts) {
		err = &llm.Error{Class: llm.Malformed, Model: name, Message: "it made another number of vectors than there are texts"}
	}
	return vectors, usage, name, OfModel(model, err)
}

func noSuchModel(err error) error {
	return Invalidf("model_id", "%w", err)
}

// cleanSystem returns what a client says of how to answer, as it is kept.
func CleanSystem(text string) (string, error) {
	if len(text) > MaxSystem {
		return "", Invalidf("system", "%s", "what a conversation is told of how to answer has more than "+textkit.Number(MaxSystem)+" bytes")
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, "")), nil
}

// maxSystem is how much a client may say of how to answer, in bytes.
const MaxSystem = 32 << 10

func saysOfSystem(text string) string {
	return "The user speaks to you through a program, which says of how to answer:\n" + text
}

func (s *Service) Relay(ctx context.Context, owner string, id ponder.ThreadID, x Exchange) error {
	if _, err := s.Store.Thread(ctx, id); err == nil {
		return ponder.ErrTaken
	}
	return s.startWithQuota(ctx, id, &x.Budget, func() error {
		if err := s.relay(ctx, owner, id, x); err != nil {
			return OfModel(x.Model, err)
		}
		if x.Made != nil {
			x.Made()
		}
		return s.place.Start(ctx, id)
	})
}

// relay makes a thread on which a model is asked what a client asks.
func (s *Service) relay(ctx context.Context, owner string, id ponder.ThreadID, x Exchange) error {
	a := s.as(owner)
	t, err := a.ChatSetup(ctx, x.Model, false)
	if err != nil {
		return err
	}
	if x.Model != "" {
		if err := t.Check(ctx); err != nil {
			return err
		}
	}
	if err := CheckPrices(t.Models, x.Budget, &t.Config); err != nil {
		return err
	}
	opts := passthrough.Options{Request: x.Request}
	if x.Own {
		memory, web, err := s.looks(ctx, owner, x.NoMemory, x.NoWeb)
		if err != nil {
			return err
		}
		opts.Own = ownTools(memory, web)
		others, err := a.ReadOnlyMCPTools(ctx, ChatPatience)
		if err != nil {
			return err
		}
		for _, t := range others {
			opts.Own = append(opts.Own, t.Name)
		}
	}
	js, err := json.Marshal(opts)
	if err != nil {
		return fmt.Errorf("keep what is asked: %w", err)
	}
	title := textkit.Truncate(textkit.OneLine(textkit.Clean(x.Title)), MaxTitle)
	thread := ponder.Thread{ID: id, Kind: ponder.KindExchange, Title: title, Owner: owner, Created: time.Now(), Model: t.Name}
	err = s.Log.Create(ctx, thread, ponder.Event{
		Run: ponder.RunID(ponder.NewID("run")), Cause: x.Cause, Body: ponder.RunStarted{Mode: passthrough.Name, Input: title, Options: js, Budget: x.Budget},
	})
	if err == nil && x.Keep {
		err = s.Books.Wish(ctx, id, func(w *threadPrefs) { w.Keep = true })
	}
	return err
}

// ownTools returns the names of the tools that look into what is remembered, and at the
// web.
func ownTools(memory, web bool) (list []string) {
	if memory {
		list = append(list, knowledge.Name, knowledge.ReadName)
	}
	if web {
		list = append(list, webtool.SearchName, webtool.FetchName)
	}
	return list
}

// relaying returns what an exchange began with, but for what is asked.
func (s *Service) relaying(ctx context.Context, id ponder.ThreadID) (own []string, err error) {
	for ev, err := range s.Store.Events(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		b, ok := ev.Body.(ponder.RunStarted)
		if !ok {
			continue
		}
		var o struct{ Own []string }
		if len(b.Options) > 0 && json.Unmarshal(b.Options, &o) != nil {
			return nil, fmt.Errorf("what %s was asked cannot be read", id)
		}
		return o.Own, nil
	}
	return nil, nil
}

func (s *Service) exchangeOutfit(ctx context.Context, info ponder.Info, o *engineSpec) error {
	own, err := s.relaying(ctx, info.ID)
	if err != nil {
		return err
	}
	o.Memory, o.Web = slices.Contains(own, knowledge.Name), slices.Contains(own, webtool.SearchName)
	o.Others = slices.ContainsFunc(own, func(name string) bool { return !slices.Contains(ownTools(true, true), name) })
	l, err := s.ModelSet(ctx, "")
	if err != nil {
		return err
	}
	if fast := l.Choices.Of(ponder.Fast).Models; fast == nil || fast[0] != info.Model {
		o.Model = info.Model // it was named
	}
	return nil
}

// relayingIn returns how exchanges of an outfit are answered: by the model that talks, with
// no tools but those that look.
func (a *App) relayingIn(ctx context.Context, o engineSpec) (ChatSetup, error) {
	t, err := a.ChatSetup(ctx, o.Model, false)
	t.Sources, t.Relay, t.NoMemory = o.sight(), true, true
	return t, err
}

// Of exchanges that have ended.
const (
	exchangePage  = 200 // that are looked at at a time
	mostForgotten = 500 // that are removed in one tidying
)

// forgetExchanges removes exchanges that ended longer ago than they are kept. What they
// used stays in the sums.
func (s *Service) ForgetExchanges(ctx context.Context, now time.Time) {
	until := now.Add(-s.Settings.Serve.KeepFor())
	filter := ponder.Filter{Kind: ponder.KindExchange, Limit: exchangePage, Before: ponder.Position{Created: until}}
	for removed := 0; removed < mostForgotten; {
		list, err := s.Store.List(ctx, filter)
		for _, info := range list {
			if err != nil || ctx.Err() != nil {
				break
			}
			filter.Before = info.Position()
			var gone bool
			if gone, err = s.forgetExchange(ctx, info, until); gone {
				removed++
			}
		}
		if err != nil && ctx.Err() == nil {
			slog.Warn("old exchanges are kept for now", "error", err)
		}
		if err != nil || ctx.Err() != nil || len(list) < exchangePage {
			return
		}
	}
}

// forgetExchange removes an exchange that had ended at a time, unless it is to be kept.
func (s *Service) forgetExchange(ctx context.Context, info ponder.Info, until time.Time) (gone bool, err error) {
	if !info.Status.Ended() || info.Held || info.Updated.After(until) {
		return false, nil
	}
	if asked, err := s.Books.wishes(ctx, info.ID); err != nil || asked.Keep {
		return false, err
	}
	if err := s.Log.Remove(ctx, info.ID); err != nil { // there is nothing else of it: it is not remembered
		return false, err
	}
	return true, s.Books.Remove(ctx, info.ID)
}

// Bounds of the conversations that are found by what was said in them.
const (
	chatLife  = 90 * 24 * time.Hour // after which one is not found any more
	mostChats = 200_000             // digests that are kept, of all owners
)

func (s *Service) FindChat(ctx context.Context, owner, digest string) (ponder.ThreadID, error) {
	return s.Books.chat(ctx, owner, digest)
}

func (s *Service) NoteChat(ctx context.Context, owner, digest string, id ponder.ThreadID, patient bool) error {
	return s.Books.NoteChat(ctx, owner, digest, id, patient, time.Now())
}

// chat returns the conversation that was noted under a digest last, or "".
func (b *serverDB) chat(ctx context.Context, owner, digest string) (id ponder.ThreadID, err error) {
	err = b.known.First(ctx, b.db.Read, []any{&id}, b.db.Bind(`SELECT thread FROM serve_chat WHERE owner = ? AND digest = ?`), owner, digest)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for a conversation: %w", err)
	}
	return id, nil
}

// noteChat has a conversation found under a digest. It does not wait for the disk: what is
// said in it, or answered, is not there without the notes of before.
func (b *serverDB) NoteChat(ctx context.Context, owner, digest string, id ponder.ThreadID, patient bool, now time.Time) error {
	return b.db.Pass(ctx, patient, `INSERT INTO serve_chat (owner, digest, thread, noted) VALUES (?, ?, ?, ?)
		ON CONFLICT (owner, digest) DO UPDATE SET thread = excluded.thread, noted = excluded.noted`, owner, digest, string(id), now.UnixMilli())
}

// tidyChats forgets what was noted long ago, and the oldest of what is too much.
func (b *serverDB) TidyChats(ctx context.Context, now time.Time, most int) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_chat WHERE noted < ?`), now.Add(-chatLife).UnixMilli())
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_chat WHERE noted <= (SELECT noted FROM serve_chat ORDER BY noted DESC LIMIT 1 OFFSET ?)`), most)
		return err
	})
}

func (b *serverDB) tidyAll(ctx context.Context, now time.Time) error {
	return errors.Join(b.tidyOnces(ctx, now), b.TidyChats(ctx, now, mostChats))
}
