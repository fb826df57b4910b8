package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ponder"
	"ponder/internal/stream"
	"ponder/mode/research"
)

// A Chunk is a piece of an answer, as it is streamed.
type Chunk struct {
	Type    string `json:"type" enum:"text,tool-results,memory-sources,deep-think-progress,conversation-title,error"`
	Content string `json:"content,omitempty" doc:"of text: what is added to the answer"`
	Text    string `json:"text,omitempty" doc:"the same as content"`
	Replace bool   `json:"replace,omitempty" doc:"of text: it stands in the place of all text before it"`

	Title    string                    `json:"conversationTitle,omitempty"`
	Tools    []ToolOutcome             `json:"toolResults,omitempty"`
	Sources  []research.Reference      `json:"memorySources,omitempty"`
	Summary  *research.Summary         `json:"referenceSummary,omitempty"`
	Progress *research.ProgressPayload `json:"deepThinkProgress,omitempty"`
	Error    string                    `json:"error,omitempty" doc:"of error: why there is no answer, or no more of it"`

	Conversation string   `json:"conversationUniqueId"`
	Models       []string `json:"models" nullable:"false" doc:"provider/model of those that answer"`
}

// The types of chunks that are not of package research.
const (
	chunkText  = "text"
	chunkTools = "tool-results"
	chunkTitle = "conversation-title"
	chunkError = "error"
)

// textChunk returns a chunk of text.
func textChunk(text string, replace bool) Chunk {
	return Chunk{Type: chunkText, Content: text, Text: text, Replace: replace}
}

// A teller makes chunks of the events of a thread: a fold. Its chunks lack the name of the
// conversation.
type teller interface {
	event(ev ponder.Event) []Chunk
	// piece takes in what a model writes at the moment.
	piece(p stream.Piece) []Chunk
	// missed says that pieces were lost, before those that come next.
	missed()
	// over reports whether the answer is at its end. Last says that nothing is waited for
	// any more but what may still come of itself, such as a title.
	over() (over, last bool)
	// title returns that of the conversation, or "".
	title() string
	close() []Chunk
}

// lastWords is how long is waited for what may still come behind an answer.
const lastWords = 3 * time.Second

// A telling is a stream of chunks to a client.
type telling struct {
	*api
	*answer
	out    *stream.Writer
	models []string // of the newest chunk that names any
}

// stream sends an answer until it is at its end, or the client is gone; the work goes on.
func (a *api) stream(ctx context.Context, w http.ResponseWriter, t *answer) {
	defer t.watch.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.gone, cancel)()
	w.Header().Set("X-Thread-Id", string(t.thread))
	s := &telling{api: a, answer: t, out: stream.NewWriter(w), models: t.models}
	err := s.out.Flush()
	if err == nil {
		err = s.run(ctx)
	}
	switch {
	case s.out.Flush() != nil, err != nil && ctx.Err() != nil && a.gone.Err() == nil:
		return // nobody reads it
	case err == nil:
		s.end(ctx)
	case a.gone.Err() != nil:
		s.put(Chunk{Type: chunkError, Error: "the server stops; the work goes on: send the request again, with the same Idempotency-Key, messageId or newUniqueId"})
	case errors.Is(err, ponder.ErrNoThread):
		s.put(Chunk{Type: chunkError, Error: "the conversation was removed"})
	default:
		a.Logger.Error("an answer could not be streamed", "thread", t.thread, "error", err)
		s.put(Chunk{Type: chunkError, Error: "something failed in the server: send the request again"})
	}
	s.done()
}

// run streams what comes until the answer is at its end.
func (s *telling) run(ctx context.Context) error {
	var until time.Time // when nothing more is waited for
	for {
		over, last := s.teller().over()
		if over {
			return nil
		}
		wait := stream.Heartbeat
		if last {
			if until.IsZero() {
				until = time.Now().Add(lastWords)
			}
			if wait = min(wait, time.Until(until)); wait <= 0 {
				return nil
			}
		}
		if err := s.step(ctx, wait); err != nil {
			return err
		}
	}
}

// step streams what comes next, or a sign of life.
func (s *telling) step(ctx context.Context, wait time.Duration) error {
	before := s.watch.Lost()
	waiting, cancel := context.WithTimeout(ctx, wait)
	frames, err := s.watch.Next(waiting)
	cancel()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		s.out.Comment("keep-alive")
		return s.out.Flush()
	case err != nil:
		return err
	}
	missed := s.watch.Lost() > before
	for _, f := range frames {
		if f.Seq == 0 && missed { // events come before pieces
			s.teller().missed()
			missed = false
		}
		chunks, err := s.hear(f)
		if err != nil {
			return err
		}
		for _, c := range chunks {
			s.put(c)
		}
		if over, _ := s.teller().over(); over {
			break
		}
	}
	return s.out.Flush()
}

func (s *telling) teller() teller { return s.answer.tell }

// hear takes in a frame.
func (s *telling) hear(f stream.Frame) ([]Chunk, error) {
	if f.Seq == 0 {
		var p stream.Piece
		if err := json.Unmarshal(f.JSON, &p); err != nil {
			return nil, err
		}
		return s.teller().piece(p), nil
	}
	var ev ponder.Event
	if err := json.Unmarshal(f.JSON, &ev); err != nil {
		return nil, err
	}
	return s.teller().event(ev), nil
}

// put adds a chunk.
func (s *telling) put(c Chunk) {
	c.Conversation = s.name
	if len(c.Models) > 0 {
		s.models = c.Models
	}
	c.Models = s.models
	js, err := json.Marshal(c)
	if err != nil { // which what was read from JSON is not
		s.Logger.Error("a chunk could not be written", "thread", s.thread, "type", c.Type, "error", err)
		return
	}
	s.out.Event(0, "", js)
}

// end adds what stands behind an answer.
func (s *telling) end(ctx context.Context) {
	for _, c := range s.teller().close() {
		s.put(c)
	}
	if !s.fresh {
		return
	}
	title := s.teller().title()
	if title == "" {
		if info, err := s.Store.Thread(ctx, s.thread); err == nil {
			title = info.Title
		}
	}
	if title == "" {
		title = clip(s.question, maxTitle)
	}
	s.put(Chunk{Type: chunkTitle, Title: plain(title)})
}

// done ends the stream.
func (s *telling) done() {
	s.out.Event(0, "", []byte("[DONE]"))
	_ = s.out.Flush() // a client that is gone needs no end
}

// plain returns text of strangers without what a terminal would obey.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 {
			return -1
		}
		return r
	}, text)
}

// pieces cuts a text into pieces of about so many bytes, between words.
func pieces(text string, size int) (list []string) {
	for len(text) > size {
		n := strings.IndexFunc(text[size:], unicode.IsSpace)
		if n < 0 || n > size {
			if n = 0; !utf8.RuneStart(text[size]) {
				n = strings.IndexFunc(text[size:], func(r rune) bool { return r != utf8.RuneError })
			}
		}
		if n < 0 {
			break
		}
		list = append(list, text[:size+n])
		text = text[size+n:]
	}
	if text != "" {
		list = append(list, text)
	}
	return list
}
