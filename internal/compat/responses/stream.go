package responses

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/stream"
)

// stream sends the events of a response behind a number, as they come. A stream that ends
// without [DONE] was cut off: the client comes again.
func (a *api) stream(w http.ResponseWriter, r *http.Request, j job, after int, answered func()) {
	ctx, cancel := a.untilGone(r.Context())
	defer cancel()
	out, pen := stream.NewPlainWriter(w), pen{}
	f := newFold(j.response(), j.note.wants(), func(e event) {
		if e.Number <= after {
			return
		}
		if js := pen.write(e); js != nil {
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

// A pen writes events as JSON. Those that add to the same text differ in nothing but what
// they add and their number. The zero pen is ready.
type pen struct {
	like event // the one before, if it added to a text
	head string
	rest compat.Mould // behind the number
	js   []byte
}

// write returns an event, until it is called again; nil if it cannot be written, which is
// not so of what was read from JSON.
func (p *pen) write(e event) []byte {
	if e.Delta == nil {
		js, err := json.Marshal(e)
		if err != nil {
			return nil
		}
		return js
	}
	if !p.like.addsAs(e) {
		gap, blank := compat.Gap, e
		blank.Number, blank.Delta = 0, &gap
		p.like, p.head = e, `{"type":"`+e.Type+`","sequence_number":`
		p.rest = compat.NewMould(blank).Without(p.head + "0")
	}
	p.js = strconv.AppendInt(append(p.js[:0], p.head...), int64(e.Number), 10)
	p.js = p.rest.Append(p.js, *e.Delta)
	return p.js
}

// addsAs reports whether two events add to the same text.
func (e event) addsAs(other event) bool {
	same := func(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }
	return e.Delta != nil && e.Type == other.Type && e.ItemID == other.ItemID && same(e.Index, other.Index) && same(e.Content, other.Content) && same(e.Summary, other.Summary)
}

// errorOf returns the event of a fault in the server.
func errorOf(fault *compat.Fault, number int) event {
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
	end, err := a.tell(ctx, j, func(p compat.Part) error {
		f.part(p)
		return nil
	}, flush, quiet)
	if err != nil {
		return err
	}
	f.end(end, end.At.Unix())
	return flush()
}
