package responses

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"ponder"
	"ponder/internal/dialect"
	"ponder/internal/stream"
)

// stream sends the events of a response behind a number, as they come.
func (a *api) stream(w http.ResponseWriter, r *http.Request, j job, after int, answered func()) {
	out := stream.NewWriter(w)
	err := a.run(r.Context(), j, func(e event) {
		if e.Number <= after {
			return
		}
		js, err := json.Marshal(e)
		if err == nil { // what was read from JSON can be written
			out.Event(ponder.Seq(e.Number), e.Type, js)
		}
	}, out.Flush, func() error {
		out.Comment("keep-alive")
		return out.Flush()
	})
	if r.Context().Err() != nil || err != nil && out.Flush() != nil {
		return // nobody reads it
	}
	if err != nil && !errors.Is(err, context.Canceled) { // the server stops, or fails: the client comes again
		fault := a.desk.FaultOf(err)
		js, err := json.Marshal(event{Type: "error", Code: "server_error", Message: fault.Detail, Error: &problem{"server_error", "server_error", fault.Detail, nil}})
		if err == nil {
			out.Event(0, "error", js)
		}
	}
	out.Event(0, "", []byte("[DONE]"))
	if out.Flush() == nil && err == nil {
		answered()
		if err := a.drop(r.Context(), j); err != nil {
			a.desk.FaultOf(err) // which logs it
		}
	}
}

// run makes the events of a response from its beginning until it has ended. Flush is
// called where all that there is was made, quiet where a sign of life is due.
func (a *api) run(ctx context.Context, j job, put func(event), flush, quiet func() error) error {
	f := newFold(j.response(), j.note.wants(), put)
	f.begin()
	if err := flush(); err != nil {
		j.work.Forget()
		return err
	}
	end, err := a.desk.Wait(ctx, j.work, func(p dialect.Part) error {
		f.part(p)
		return flush()
	}, quiet)
	if err != nil {
		return err
	}
	f.end(end, end.At.Unix())
	return flush()
}
