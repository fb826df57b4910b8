package httpapi

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"ponder"
)

// A conversation that is researched and talked in has several threads: the one that it has
// begun with, and those beside it, whose ids begin with its own.
const (
	ownLetters    = len("thr_") + 26
	besideLetters = 10 // that the ids of those beside have more
	mostBeside    = 50 // newest threads of a conversation that are read to tell what was said
	readEnd       = 50 // newest events of research that its answer is looked for in
)

// besides returns the id of a thread that belongs to a conversation, always the same for
// the same use.
func besides(conversation ponder.ThreadID, use, key string) ponder.ThreadID {
	letters := crockford(digest(string(conversation), use, key))
	return conversation + ponder.ThreadID(letters[len(letters)-besideLetters:])
}

// beside returns the threads beside a conversation, the oldest first.
func (a *api) beside(ctx context.Context, owner string, id ponder.ThreadID) ([]ponder.Info, error) {
	if len(id) != ownLetters || owner == "" {
		return nil, nil
	}
	list, err := a.Store.List(ctx, ponder.Filter{Owner: owner, Prefix: string(id)})
	if err != nil {
		return nil, a.failed(err)
	}
	list = slices.DeleteFunc(list, func(i ponder.Info) bool { return len(i.ID) != ownLetters+besideLetters })
	slices.Reverse(list)
	return list, nil
}

// idsBeside returns the ids of the threads beside a conversation.
func (a *api) idsBeside(ctx context.Context, info ponder.Info) (ids []ponder.ThreadID, err error) {
	list, err := a.beside(ctx, info.Owner, info.ID)
	for _, i := range list {
		ids = append(ids, i.ID)
	}
	return ids, err
}

// linksTo returns the header that leads to what there is of threads beside, or "".
func linksTo(ids []ponder.ThreadID, what string) string {
	var links []string
	for _, id := range ids {
		links = append(links, fmt.Sprintf(`</api/threads/%s/%s>; rel="related"`, url.PathEscape(string(id)), what))
	}
	return strings.Join(links, ", ")
}

// contextOf returns what research is told of what was said before: by the client or, if it
// says nothing, as it is known.
func (a *api) contextOf(ctx context.Context, in *completion, s spot) (string, error) {
	before := in.said[:len(in.said)-1]
	if len(before) == 0 && s.kind != "" {
		info, err := a.Store.Thread(ctx, s.id)
		if err != nil {
			return "", a.failed(err)
		}
		if before, err = a.saidBeside(ctx, info.Owner, s.id, ""); err != nil {
			return "", err
		}
	}
	return transcript(before, maxContext), nil
}

// saidBeside returns what was said in a conversation, the oldest first, but on one of its
// threads.
func (a *api) saidBeside(ctx context.Context, owner string, id, but ponder.ThreadID) (list []said, err error) {
	threads, err := a.beside(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	if info, err := a.Store.Thread(ctx, id); err == nil && info.Owner == owner {
		threads = slices.Insert(threads, 0, info)
	}
	for _, info := range threads[max(0, len(threads)-mostBeside):] {
		if info.ID == but {
			continue
		}
		read := a.foundOn
		if info.Kind == ponder.KindConversation {
			read = a.saidOn
		}
		some, err := read(ctx, info)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", info.ID, err)
		}
		list = append(list, some...)
	}
	return list, nil
}

// foundOn returns the question and the answer of research that has ended.
func (a *api) foundOn(ctx context.Context, info ponder.Info) (list []said, err error) {
	if !info.Status.Ended() {
		return nil, nil
	}
	for ev, err := range a.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return nil, err
		}
		if b, ok := ev.Body.(ponder.RunStarted); ok && ev.Run.Parent() == "" {
			list = []said{{role: roleUser, text: b.Input}}
			break
		}
	}
	for ev, err := range a.Store.Events(ctx, info.ID, max(0, info.Head-readEnd)) {
		if err != nil {
			return nil, err
		}
		if b, ok := ev.Body.(ponder.RunFinished); ok && ev.Run.Parent() == "" && b.Answer != "" && len(list) == 1 {
			list = append(list, said{role: roleAssistant, text: b.Answer})
		}
	}
	return list, nil
}

// saidOn returns what was said newest on the thread of a conversation.
func (a *api) saidOn(ctx context.Context, info ponder.Info) (list []said, err error) {
	for ev, err := range a.Store.Events(ctx, info.ID, max(0, info.Head-readBefore)) {
		if err != nil {
			return nil, err
		}
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			list = append(list, said{role: roleUser, text: b.Content})
		case ponder.AssistantMessage:
			list = append(list, said{role: roleAssistant, text: b.Content})
		}
	}
	return list, nil
}
