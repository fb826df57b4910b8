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
	"ponder/tool/approval"
	"ponder/tool/knowledge"
	webtool "ponder/tool/web"
)

// Models implements [Lister]. It starts with the models that answer in conversations.
func (s *Service) Models(ctx context.Context, owner string) (list []string, err error) {
	l, err := s.forOwner(owner).ModelSet(ctx, "")
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

var errNoVectors = NotReadyf("%w: set models.embed, or PONDER_EMBED_MODEL", ErrNoVectors)

// Embed implements [Embedder]. It charges the caller's token if that is limited.
func (s *Service) Embed(ctx context.Context, owner, model string, texts []string) (vectors [][]float32, usage llm.Usage, name string, err error) {
	l, err := s.forOwner(owner).ModelSet(ctx, "")
	if err != nil {
		return nil, usage, "", err
	}
	if name = model; name == "" {
		models := l.Choices.ForRole(ponder.Embed).Models
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
		err = &llm.Error{Class: llm.Malformed, Model: name, Message: "the number of vectors differs from the number of texts"}
	}
	return vectors, usage, name, OfModel(model, err)
}

func noSuchModel(err error) error {
	return Invalidf("model_id", "%w", err)
}

// CleanSystem returns a client's system prompt as it is stored.
func CleanSystem(text string) (string, error) {
	if len(text) > MaxSystem {
		return "", Invalidf("system", "%s", "the system prompt has more than "+textkit.Number(MaxSystem)+" bytes")
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, "")), nil
}

// MaxSystem bounds a client's system prompt, in bytes.
const MaxSystem = 32 << 10

func systemProblem(text string) string {
	return "The user speaks to you through a program, which says of how to answer:\n" + text
}

func (s *Service) Relay(ctx context.Context, owner string, id ponder.ThreadID, x Exchange) error {
	if _, err := s.Store.Thread(ctx, id); err == nil {
		return ponder.ErrTaken
	}
	return s.startWithQuota(ctx, id, &x.Budget, func() error {
		if err := s.relayExchange(ctx, owner, id, x); err != nil {
			return OfModel(x.Model, err)
		}
		if x.Made != nil {
			x.Made()
		}
		return s.place.Start(ctx, id)
	})
}

func (s *Service) relayExchange(ctx context.Context, owner string, id ponder.ThreadID, x Exchange) error {
	a := s.forOwner(owner)
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
	opts := passthrough.Options{Request: x.Request, Approved: x.Approved}
	if x.Own {
		memory, web, err := s.defaultSources(ctx, owner, x.NoMemory, x.NoWeb)
		if err != nil {
			return err
		}
		opts.ServerTools = ownTools(memory, web)
		others, err := a.ReadOnlyMCPTools(ctx, ChatPatience)
		if err != nil {
			return err
		}
		for _, t := range others {
			opts.ServerTools = append(opts.ServerTools, t.Name)
		}
	}
	js, err := json.Marshal(opts)
	if err != nil {
		return fmt.Errorf("store the request: %w", err)
	}
	title := textkit.Truncate(textkit.OneLine(textkit.Clean(x.Title)), MaxTitle)
	thread := ponder.Thread{ID: id, Kind: ponder.KindExchange, Title: title, Owner: owner, Created: time.Now(), Model: t.Name}
	err = s.Log.Create(ctx, thread, ponder.Event{
		Run: ponder.RunID(ponder.NewID("run")), Cause: x.Cause, Body: ponder.RunStarted{Mode: passthrough.Name, Input: title, Options: js, Budget: x.Budget},
	})
	if err == nil && x.Keep {
		err = s.DB.ChangePrefs(ctx, id, func(w *threadPrefs) { w.Keep = true })
	}
	return err
}

func ownTools(memory, web bool) (list []string) {
	if memory {
		list = append(list, knowledge.Name, knowledge.ReadName)
	}
	if web {
		list = append(list, webtool.SearchName, webtool.FetchName)
	}
	return list
}

func (s *Service) exchangeOwnTools(ctx context.Context, id ponder.ThreadID) (own []string, err error) {
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
			return nil, fmt.Errorf("cannot read the request of %s", id)
		}
		return o.Own, nil
	}
	return nil, nil
}

func (s *Service) completeExchangeSpec(ctx context.Context, info ponder.Info, o *engineSpec) error {
	own, err := s.exchangeOwnTools(ctx, info.ID)
	if err != nil {
		return err
	}
	o.Memory, o.Web = slices.Contains(own, knowledge.Name), slices.Contains(own, webtool.SearchName)
	o.Others = slices.ContainsFunc(own, func(name string) bool { return !slices.Contains(ownTools(true, true), name) })
	l, err := s.ModelSet(ctx, "")
	if err != nil {
		return err
	}
	if fast := l.Choices.ForRole(ponder.Fast).Models; fast == nil || fast[0] != info.Model {
		o.Model = info.Model
	}
	return nil
}

// exchangeSetup returns the setup of exchanges: the chat model, with read-only tools.
func (a *App) exchangeSetup(ctx context.Context, o engineSpec) (ChatSetup, error) {
	t, err := a.ChatSetup(ctx, o.Model, false)
	t.Sources, t.Relay, t.NoMemory = o.sources(), true, true
	return t, err
}

const (
	exchangePage = 200
	maxForgotten = 500 // per cleanup
)

// ForgetExchanges removes expired exchanges. Their usage stays counted.
func (s *Service) ForgetExchanges(ctx context.Context, now time.Time) {
	until := now.Add(-s.Settings.Serve.ExchangeLifetime())
	filter := ponder.Filter{Kind: ponder.KindExchange, Limit: exchangePage, Before: ponder.Position{Created: until}}
	for removed := 0; removed < maxForgotten; {
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
			slog.Warn("cannot delete old exchanges", "error", err)
		}
		if err != nil || ctx.Err() != nil || len(list) < exchangePage {
			return
		}
	}
}

// forgetExchange removes an exchange that ended before until, unless it is to be kept.
func (s *Service) forgetExchange(ctx context.Context, info ponder.Info, until time.Time) (gone bool, err error) {
	if !info.Status.Ended() || info.Held || info.Updated.After(until) {
		return false, nil
	}
	if asked, err := s.DB.readPrefs(ctx, info.ID); err != nil || asked.Keep {
		return false, err
	}
	if err := s.Log.Remove(ctx, info.ID); err != nil {
		return false, err
	}
	return true, s.DB.Remove(ctx, info.ID)
}

const (
	chatLife = 90 * 24 * time.Hour // then it expires
	maxChats = 200_000             // digests of all owners
)

func (s *Service) FindChat(ctx context.Context, owner, digest string) (ponder.ThreadID, error) {
	return s.DB.chatThread(ctx, owner, digest)
}

func (s *Service) NoteChat(ctx context.Context, owner, digest string, id ponder.ThreadID, patient bool) error {
	return s.DB.NoteChat(ctx, owner, digest, id, patient, time.Now())
}

// chatThread returns the newest conversation of a digest, or "".
func (b *serverDB) chatThread(ctx context.Context, owner, digest string) (id ponder.ThreadID, err error) {
	err = b.statements.First(ctx, b.db.Read, []any{&id}, b.db.Bind(`SELECT thread FROM serve_chat WHERE owner = ? AND digest = ?`), owner, digest)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find a conversation: %w", err)
	}
	return id, nil
}

// NoteChat stores the digest of a conversation. It does not wait for the disk: the events that
// follow are durable only with it.
func (b *serverDB) NoteChat(ctx context.Context, owner, digest string, id ponder.ThreadID, patient bool, now time.Time) error {
	return b.db.ExecUnsynced(ctx, patient, `INSERT INTO serve_chat (owner, digest, thread, noted) VALUES (?, ?, ?, ?)
		ON CONFLICT (owner, digest) DO UPDATE SET thread = excluded.thread, noted = excluded.noted`, owner, digest, string(id), now.UnixMilli())
}

// CleanUpChats deletes expired digests, and the oldest beyond most.
func (b *serverDB) CleanUpChats(ctx context.Context, now time.Time, most int) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_chat WHERE noted < ?`), now.Add(-chatLife).UnixMilli())
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_chat WHERE noted <= (SELECT noted FROM serve_chat ORDER BY noted DESC LIMIT 1 OFFSET ?)`), most)
		return err
	})
}

func (b *serverDB) cleanUpAll(ctx context.Context, now time.Time) error {
	return errors.Join(b.cleanUpRequests(ctx, now), b.CleanUpChats(ctx, now, maxChats))
}

// AnswerExchange answers an open question that an exchange of the owner asked, if a text is such an
// answer. Each question takes one answer. It returns the approved call, which the next exchange runs
// first, or nil.
func AnswerExchange(ctx context.Context, store ponder.Store, owner, text string) (*llm.ToolCall, error) {
	code, approved, ok := approval.ParseAnswer(text)
	if !ok {
		return nil, nil
	}
	now := time.Now()
	infos, err := store.List(ctx, ponder.Filter{Kind: ponder.KindExchange, Owner: owner, Limit: exchangePage})
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		if now.Sub(info.Updated) > passthrough.QuestionTime {
			continue
		}
		open, err := ThreadApprovals(ctx, store, info.ID)
		if err != nil && !errors.Is(err, ponder.ErrNoThread) {
			return nil, err
		}
		for _, a := range open {
			if a.Code != code {
				continue
			}
			_, err := store.Append(ctx, info.ID, 0, ponder.Event{ID: ponder.NewID("evt"), Cause: "answer-" + a.ID, Body: ponder.UserMessage{Decisions: []ponder.ApprovalDecision{{ID: a.ID, Approved: approved}}}})
			if err != nil || !approved {
				return nil, err
			}
			return &llm.ToolCall{ID: "approved-" + code, Name: a.Tool, Input: a.Args}, nil
		}
	}
	return nil, nil
}
