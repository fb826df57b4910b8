package completions

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/compat"
	"ponder/internal/textkit"
	"ponder/llm"
)

// A conversation with research has a first thread, and threads beside it whose ids extend its id.
const (
	ownLetters     = len("thr_") + 26
	relatedLetters = 10   // extra letters of an id beside
	maxRelated     = 50   // newest threads that known reads
	readEnd        = 50   // newest events with the answer of research
	readSaid       = 4000 // newest events of a conversation that are read
)

func namedThread(owner, name string) ponder.ThreadID { return threadOf(owner, "newUniqueId", name) }

func threadOf(parts ...string) ponder.ThreadID {
	return ponder.ThreadID("thr_" + app.Letters(app.Sum(parts...)))
}

// Find returns a thread by id or client name, of any of the kinds if given, or [ponder.ErrNoThread].
func Find(ctx context.Context, store ponder.Store, owner, name string, kinds ...ponder.Kind) (ponder.Info, error) {
	for _, id := range []ponder.ThreadID{ponder.ThreadID(name), namedThread(owner, name)} {
		info, err := store.Thread(ctx, id)
		switch {
		case err == nil && info.Owner == owner && (len(kinds) == 0 || slices.Contains(kinds, info.Kind)):
			return info, nil
		case err != nil && !errors.Is(err, ponder.ErrNoThread):
			return info, fmt.Errorf("look for a thread: %w", err)
		}
	}
	return ponder.Info{}, ponder.ErrNoThread
}

// RelatedThreads returns the threads beside id, the oldest first.
func RelatedThreads(ctx context.Context, store ponder.Store, owner string, id ponder.ThreadID) ([]ponder.Info, error) {
	if len(id) != ownLetters || owner == "" {
		return nil, nil
	}
	list, err := store.List(ctx, ponder.Filter{Owner: owner, Prefix: string(id)})
	if err != nil {
		return nil, fmt.Errorf("list threads related to %s: %w", id, err)
	}
	list = slices.DeleteFunc(list, func(i ponder.Info) bool { return len(i.ID) != ownLetters+relatedLetters })
	slices.Reverse(list)
	return list, nil
}

func relatedThread(conversation ponder.ThreadID, use, key string) ponder.ThreadID {
	letters := app.Letters(app.Sum(string(conversation), use, key))
	return conversation + ponder.ThreadID(letters[len(letters)-relatedLetters:])
}

func causeOf(parts ...string) string {
	sum := app.Sum(parts...)
	return "post-" + hex.EncodeToString(sum[:16])
}

type place struct {
	id    ponder.ThreadID // of the conversation
	name  string          // the client's name
	kind  ponder.Kind     // empty: no thread yet
	key   string          // of the message
	found bool            // had to exist
	own   string          // derives the id without a name
}

// placeOf finds or names the conversation.
func (a *api) placeOf(ctx context.Context, owner string, in *completion) (p place, err error) {
	p.name, p.found, p.key = in.conversationName(), in.isContinued(), cmp.Or(in.Key, textOf(in.Body.MessageID))
	if p.found {
		info, err := Find(ctx, a.Desk.Store, owner, p.name, ponder.KindConversation, ponder.KindResearch, ponder.KindSession)
		if errors.Is(err, ponder.ErrNoThread) {
			return p, &compat.APIError{Status: http.StatusNotFound, Detail: "no such thread: " + textkit.TruncateBytes(compat.Plain(p.name), 40)}
		}
		p.id, p.kind, p.key = info.ID, info.Kind, cmp.Or(p.key, ponder.NewID("key"))
		return p, err
	}
	switch {
	case p.name != "":
		p.id = namedThread(owner, p.name)
	case p.key != "":
		p.id, p.own = threadOf(owner, route, p.key), p.key
	default:
		p.id = ponder.ThreadID(ponder.NewID("thr"))
	}
	p.name, p.key = cmp.Or(p.name, string(p.id)), cmp.Or(p.key, "first")
	info, err := a.Desk.Store.Thread(ctx, p.id)
	if err != nil && !errors.Is(err, ponder.ErrNoThread) {
		return p, fmt.Errorf("look for %s: %w", p.id, err)
	}
	p.kind = info.Kind
	return p, nil
}

// knownMessages returns the messages of all threads but one, the oldest first.
func (a *api) knownMessages(ctx context.Context, owner string, id, but ponder.ThreadID) (list []llm.Message, err error) {
	threads, err := RelatedThreads(ctx, a.Desk.Store, owner, id)
	if err != nil {
		return nil, err
	}
	if info, err := a.Desk.Store.Thread(ctx, id); err == nil && info.Owner == owner {
		threads = slices.Insert(threads, 0, info)
	}
	for _, info := range threads[max(0, len(threads)-maxRelated):] {
		if info.ID == but {
			continue
		}
		read := a.researchMessages
		if info.Kind == ponder.KindConversation {
			read = a.threadMessages
		}
		some, err := read(ctx, info)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", info.ID, err)
		}
		list = append(list, some...)
	}
	return list, nil
}

func (a *api) researchMessages(ctx context.Context, info ponder.Info) (list []llm.Message, err error) {
	if !info.Status.Ended() {
		return nil, nil
	}
	for ev, err := range a.Desk.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return nil, err
		}
		if b, ok := ev.Body.(ponder.RunStarted); ok && ev.Run.Parent() == "" {
			list = []llm.Message{llm.Say(llm.User, b.Input)}
			break
		}
	}
	for ev, err := range a.Desk.Store.Events(ctx, info.ID, max(0, info.Head-readEnd)) {
		if err != nil {
			return nil, err
		}
		if b, ok := ev.Body.(ponder.RunFinished); ok && ev.Run.Parent() == "" && b.Answer != "" && len(list) == 1 {
			list = append(list, llm.Say(llm.Assistant, b.Answer))
		}
	}
	return list, nil
}

func (a *api) threadMessages(ctx context.Context, info ponder.Info) (list []llm.Message, err error) {
	for ev, err := range a.Desk.Store.Events(ctx, info.ID, max(0, info.Head-readSaid)) {
		if err != nil {
			return nil, err
		}
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			list = append(list, llm.Say(llm.User, b.Content))
		case ponder.AssistantMessage:
			list = append(list, llm.Say(llm.Assistant, b.Content))
		}
	}
	return list, nil
}
