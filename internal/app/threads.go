package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/report"
	"ponder/internal/textkit"
	"ponder/store/sqlite"
)

// FindThread returns the thread of an id, a prefix of one (with or without thr_), or "last". A
// non-empty kind must match; research matches session.
func (a *App) FindThread(ctx context.Context, threads ponder.Threads, name string, kind ponder.Kind) (ponder.Info, error) {
	name = strings.TrimSpace(name)
	list, err, listed := []ponder.Info(nil), error(nil), kind
	if strings.EqualFold(name, "last") {
		list, err = NewestThreads(ctx, threads, ponder.Filter{Kind: kind, Limit: 1})
		kind = ""
	} else {
		list, err = threadsByID(ctx, threads, name)
	}
	field := idField(kind)
	switch ours := IDPrefix(name); {
	case err != nil:
		return ponder.Info{}, fmt.Errorf("find %s: %w", name, err)
	case len(list) == 0 && strings.EqualFold(name, "last") && listed == ponder.KindResearch:
		return ponder.Info{}, ErrNoResearch
	case len(list) == 0 && strings.EqualFold(name, "last"):
		return ponder.Info{}, ErrNothingYet
	case len(list) == 0 && ours == "":
		return ponder.Info{}, NotFoundf(field, "%q is not an ID", textkit.Truncate(textkit.OneLine(name), 40))
	case len(list) == 0:
		return ponder.Info{}, NotFoundf(field, "no such ID: %s", ours)
	case len(list) > 1:
		return ponder.Info{}, Invalidf(field, "ambiguous ID prefix %s: add more characters", name)
	case kind != "" && !slices.Contains(KindsLike(kind), list[0].Kind):
		return ponder.Info{}, Invalidf(field, "%s is a %s, not a %s", list[0].ID, list[0].Kind, kind)
	}
	return list[0], nil
}

// minShortID is the minimal number of letters of a shown id.
const minShortID = 12

// ShortID returns the shortest beginning of an id that finds only its thread. It returns an id of
// a foreign form unchanged.
func ShortID(ctx context.Context, threads ponder.Threads, id ponder.ThreadID) (string, error) {
	letters, ours := strings.CutPrefix(string(id), "thr_")
	if !ours || IDPrefix(letters) != string(id) {
		return string(id), nil
	}
	for n := minShortID; n < len(letters); n++ {
		list, err := threads.List(ctx, ponder.Filter{Prefix: "thr_" + letters[:n], Limit: 2})
		if err != nil {
			return "", fmt.Errorf("shorten %s: %w", id, err)
		}
		if len(list) < 2 {
			return "thr_" + letters[:n], nil
		}
	}
	return string(id), nil
}

// OpenThread opens an existing database for writing and finds a thread. The caller closes the
// store.
func (a *App) OpenThread(ctx context.Context, name string, kind ponder.Kind) (*sqlite.Store, ponder.Info, error) {
	store, err := a.OpenExisting(ctx)
	if err != nil {
		return nil, ponder.Info{}, err
	}
	info, err := a.FindThread(ctx, store, name, kind)
	if err != nil {
		store.Close()
		return nil, info, err
	}
	return store, info, nil
}

// OpenExisting opens the database for writing. Its error is [ErrNothingYet] if there is none.
func (a *App) OpenExisting(ctx context.Context) (*sqlite.Store, error) {
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return nil, err
	}
	store.Close()
	return a.OpenStore(ctx)
}

// StatusText returns the status of a thread in words.
func StatusText(info ponder.Info) string {
	if IsInterrupted(info) {
		return "paused (interrupted)"
	}
	return string(info.Status)
}

func (a *App) CompareSessions(ctx context.Context, first, second string) (*report.Comparison, error) {
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	var infos [2]ponder.Info
	for i, name := range []string{first, second} {
		if infos[i], err = a.FindThread(ctx, store, name, ponder.KindSession); err != nil {
			return nil, err
		}
		if infos[i].Kind != ponder.KindSession {
			return nil, Invalidf("", "%s is a %s: compare requires sessions", infos[i].ID, infos[i].Kind)
		}
	}
	if infos[0].ID == infos[1].ID {
		return nil, Invalidf("", "both are %s: compare requires two sessions", infos[0].ID)
	}
	return a.CompareThreads(ctx, store, infos[0], infos[1])
}

// CompareThreads compares two sessions of a log.
func (a *App) CompareThreads(ctx context.Context, store ponder.Store, first, second ponder.Info) (*report.Comparison, error) {
	return report.Compare(ctx, store, a.Calibration(ctx, store), first, second)
}

// threadsByID lists the thread of an id, else some with that prefix. It tries the text
// unchanged and in our form, as imported ids may have other forms.
func threadsByID(ctx context.Context, threads ponder.Threads, name string) ([]ponder.Info, error) {
	ours, foreign := IDPrefix(name), name
	for _, id := range []string{foreign, ours} {
		if info, err := threads.Thread(ctx, ponder.ThreadID(id)); err == nil {
			return []ponder.Info{info}, nil
		} else if !errors.Is(err, ponder.ErrNoThread) {
			return nil, err
		}
	}
	if len(strings.TrimPrefix(foreign, "thr_")) < minForeign {
		foreign = ""
	}
	for _, prefix := range []string{ours, foreign} {
		if prefix == "" {
			continue
		}
		if list, err := threads.List(ctx, ponder.Filter{Prefix: prefix, Limit: 2}); err != nil || len(list) > 0 {
			return list, err
		}
	}
	return nil, nil
}

// KindsLike returns the kinds that commands for a kind accept.
func KindsLike(kind ponder.Kind) []ponder.Kind {
	if kind == ponder.KindSession {
		return []ponder.Kind{ponder.KindSession, ponder.KindResearch}
	}
	return []ponder.Kind{kind}
}

func NewestThreads(ctx context.Context, threads ponder.Threads, filter ponder.Filter) (list []ponder.Info, err error) {
	for _, filter.Kind = range KindsLike(filter.Kind) {
		more, err := threads.List(ctx, filter)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	slices.SortStableFunc(list, func(a, b ponder.Info) int { return b.Created.Compare(a.Created) })
	if filter.Limit > 0 {
		list = list[:min(len(list), filter.Limit)]
	}
	return list, nil
}

// minForeign is the minimal prefix of an id in a foreign form.
const minForeign = 4

func idField(kind ponder.Kind) string {
	if kind == ponder.KindSession {
		return "session_id"
	}
	return "thread_id"
}

func IDPrefix(name string) string {
	const maxLetters = 36
	name = strings.ToUpper(strings.TrimSpace(name))
	name = strings.TrimPrefix(name, "THR_")
	if name == "" || len(name) > maxLetters || strings.Trim(name, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != "" {
		return ""
	}
	return "thr_" + name
}

// ListSessions lists sessions and research; an interrupted one counts as paused.
func ListSessions(ctx context.Context, threads ponder.Threads, status ponder.Status, limit int) ([]ponder.Info, error) {
	filter := ponder.Filter{Kind: ponder.KindSession, Status: status, Limit: limit}
	if status == ponder.Thinking || status == ponder.Paused {
		filter.Status, filter.Limit = "", 0
	}
	all, err := NewestThreads(ctx, threads, filter)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var list []ponder.Info
	for _, info := range all {
		seen := info.Status
		if IsInterrupted(info) {
			seen = ponder.Paused
		}
		if (status == "" || seen == status) && len(list) < limit {
			list = append(list, info)
		}
	}
	return list, nil
}

func (a *App) SessionObject(ctx context.Context, store ponder.Store, info ponder.Info) (any, error) {
	if info.Kind == ponder.KindResearch {
		v, _, err := FoldResearch(ctx, store, info.ID)
		return report.NewResearchObject(info, v, IsInterrupted(info)), err
	}
	v, err := Fold(ctx, store, info.ID)
	return report.NewSessionObject(info, v.Calibrate(a.Calibration(ctx, store)), IsInterrupted(info)), err
}
