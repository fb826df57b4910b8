package responses

import (
	"context"
	"encoding/json"
	"net/http"

	"ponder"
	"ponder/internal/dialect"
	"ponder/internal/stream"
)

// stream sends the events of a response behind a number, as they come. A stream that ends
// without [DONE] was cut off: the client comes again.
func (a *api) stream(w http.ResponseWriter, r *http.Request, j job, after int, answered func()) {
	ctx, cancel := a.untilGone(r.Context())
	defer cancel()
	out := stream.NewPlainWriter(w)
	f := newFold(j.response(), j.note.wants(), func(e event) {
		if e.Number <= after {
			return
		}
		js, err := json.Marshal(e)
		if err == nil { // what was read from JSON can be written
			out.Event(ponder.Seq(e.Number), e.Type, js)
		}
	})
	err := a.fold(ctx, j, f, out.Flush, func() error {
		out.Comment("keep-alive")
		return out.Flush()
	})
	if ctx.Err() != nil || err != nil && out.Flush() != nil {
		a.dropLater(j)
		return // nobody reads it
	}
	if err != nil {
		if js, err := json.Marshal(errorOf(a.desk.FaultOf(err), max(f.number, after+1))); err == nil {
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

// errorOf returns the event of a fault in the server.
func errorOf(fault *dialect.Fault, number int) event {
	return event{
		Type: "error", Number: number, Code: "server_error", Message: fault.Detail,
		Error: &problem{"server_error", "server_error", fault.Detail, nil},
	}
}

// untilGone returns a context that ends when the server stops, too.
func (a *api) untilGone(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(a.desk.Gone, func() { cancel(errGone) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// fold makes the events of a response from its beginning until it has ended. Flush is
// called where all that there is was made, quiet where a sign of life is due.
func (a *api) fold(ctx context.Context, j job, f *fold, flush, quiet func() error) error {
	f.begin()
	if err := flush(); err != nil {
		j.work.Forget()
		return err
	}
	end, err := a.tell(ctx, j, func(p dialect.Part) error {
		f.part(p)
		return nil
	}, flush, quiet)
	if err != nil {
		return err
	}
	f.end(end, end.At.Unix())
	return flush()
}
