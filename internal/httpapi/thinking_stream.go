package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ponder"
	"ponder/mode/session"
)

type streamOf struct {
	SessionPath
	EventCursor
	Limit int `query:"limit" minimum:"1" maximum:"100000" doc:"of JSON: only the newest so many thoughts"`
}

// manyThoughts is what a session has thought.
type manyThoughts struct {
	Success  bool            `json:"success"`
	ID       ponder.ThreadID `json:"session_id"`
	Count    int             `json:"thought_count"`
	Thoughts []Thought       `json:"thoughts" nullable:"false"`
}

func (a *api) streamSession(ctx context.Context, in *streamOf) (*written, error) {
	info, err := a.owned(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	many := manyThoughts{Success: true, ID: info.ID}
	return &written{func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		if wantsEvents(r) {
			a.events(w, r, info, in.seq())
			return
		}
		err := a.look(ctx, info, func(v session.View) { many.Thoughts = thoughtsOf(v) })
		if err != nil {
			a.refuse(hc, err)
			return
		}
		if in.Limit > 0 {
			many.Thoughts = many.Thoughts[max(0, len(many.Thoughts)-in.Limit):]
		}
		many.Count = len(many.Thoughts)
		a.write(hc, http.StatusOK, many)
	}}, nil
}
