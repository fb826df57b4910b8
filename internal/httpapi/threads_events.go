package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ponder"
)

type listEvents struct {
	ThreadPath
	EventCursor
	Cursor int64 `query:"cursor" minimum:"0" doc:"next_cursor of the page before; the same as after"`
	Limit  int   `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"of JSON: how many at most"`
}

// manyEvents is a page of the events of a thread.
type manyEvents struct {
	Success bool            `json:"success"`
	ID      ponder.ThreadID `json:"thread_id"`
	Count   int             `json:"event_count"`
	Events  []Event         `json:"events" nullable:"false"`
	Next    string          `json:"next_cursor,omitempty" doc:"cursor of the next page; none on the last"`

	Beside []ponder.ThreadID `json:"beside,omitempty" doc:"threads of the same conversation, whose events are lists of their own"`
}

func (a *api) listEvents(ctx context.Context, in *listEvents) (*written, error) {
	info, err := a.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	after := max(in.seq(), ponder.Seq(in.Cursor))
	return &written{func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		if wantsEvents(r) {
			a.events(w, r, info, after)
			return
		}
		page, err := a.eventsAfter(ctx, info.ID, after, in.Limit)
		if err == nil {
			page.Beside, err = a.idsBeside(ctx, info)
		}
		if err != nil {
			a.refuse(hc, err)
			return
		}
		if link := linkTo("/api/threads/"+url.PathEscape(string(info.ID))+"/events", url.Values{"limit": {strconv.Itoa(in.Limit)}}, page.Next); link != "" {
			hc.SetHeader("Link", link)
		}
		a.write(hc, http.StatusOK, page)
	}}, nil
}

// eventsAfter returns so many events of a thread behind one, without what is internal.
func (a *api) eventsAfter(ctx context.Context, id ponder.ThreadID, after ponder.Seq, most int) (page manyEvents, err error) {
	page = manyEvents{Success: true, ID: id, Events: []Event{}}
	var last ponder.Seq
	for ev, err := range a.Store.Events(ctx, id, after) {
		switch {
		case err != nil:
			return page, err
		case ev.Internal:
			continue
		case len(page.Events) == most:
			page.Next = strconv.FormatInt(int64(last), 10)
			return page, nil
		}
		shown, err := eventOf(ev)
		if err != nil {
			return page, err
		}
		page.Events, last = append(page.Events, shown), ev.Seq
		page.Count = len(page.Events)
	}
	return page, nil
}
