// Package app has the words for what `ponder serve` can do for programs, whatever
// language they speak: the native API (internal/httpapi) and the dialects of other
// clients ask it in these words, and cmd/ponder does it.
package app

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math/big"
	"strings"
	"time"

	"ponder"
	"ponder/llm"
)

// What a surface cannot do itself, since it takes models, documents and an index. Each
// method acts for an owner; it returns an [Error] for what the caller can mend, and
// ponder.ErrTaken if something of the id is there already.
type (
	// A Thinker begins and goes on with thinking.
	Thinker interface {
		// Begin makes a thread of the id with a question, and has it worked on. A session
		// is of the kind session; research is of its own.
		Begin(ctx context.Context, owner string, id ponder.ThreadID, s Start) error
		// Go has a thread worked on that exists: after a wish, a message or a resumption. A
		// model, if named, thinks from now on.
		Go(ctx context.Context, id ponder.ThreadID, model string) error
		// Fork makes a thread of the id that begins as another did.
		Fork(ctx context.Context, owner string, from, id ponder.ThreadID, f Fork) error
		// Remove erases a thread and all that belongs to it.
		Remove(ctx context.Context, id ponder.ThreadID) error
		// Keep makes what a session has come to recallable, once it has ended.
		Report(ctx context.Context, id ponder.ThreadID, format string) (Document, error)
	}

	// A Resumer has threads go on that are paused. A [Thinker] may be one.
	Resumer interface {
		// Resume has a paused session or research worked on, as [Thinker.Go] does. What may
		// refuse that is asked before tell is called, which tells it to go on; the error of
		// tell is returned.
		Resume(ctx context.Context, id ponder.ThreadID, model string, tell func() error) error
	}

	// An Accountant knows what owners have used. A [UseCases] may be one.
	Accountant interface {
		// Used returns sums of what an owner has used since a time, also on threads that
		// were removed, and beside threads; of a key there may be several. Alone says that
		// nobody else may ask.
		Used(ctx context.Context, owner string, alone bool, by ponder.GroupBy, since time.Time) ([]ponder.UsageRow, error)
	}

	// A Talker holds conversations.
	Talker interface {
		// Open makes a conversation of the id.
		Open(ctx context.Context, owner string, id ponder.ThreadID, c Conversation) error
		// Say appends a message to a conversation as it was found just now, keyed, and has
		// it answered. The cause of its event is the key; ErrTaken says that there is one
		// already.
		Say(ctx context.Context, conversation ponder.Info, key string, m Message) (ponder.Event, error)
	}

	// A Rememberer keeps and finds what an owner had remembered.
	Rememberer interface {
		// Remember keeps all or, on an error, none, and returns them as they are kept, in
		// their order. What says the same as something that is remembered takes its place.
		Remember(ctx context.Context, owner string, list ...Memory) ([]Memory, error)
		// Remembered returns those of the ids that are still remembered, in their order.
		Remembered(ctx context.Context, owner string, ids ...string) ([]Memory, error)
		Search(ctx context.Context, owner string, q Query) ([]Hit, error)
		// Memories returns what is remembered, what was added last first: at most q.Limit,
		// and only what was added before the item of the id after, unless that is empty.
		Memories(ctx context.Context, owner string, q Query, after string) ([]Memory, error)
		// Forget returns an [Error] of the code [NotFound] if nothing of the owner has the id.
		Forget(ctx context.Context, owner, id string) error
	}

	// A Minder has the subconscious of an owner tick.
	Minder interface {
		Thread(owner string) ponder.ThreadID
		// Mind returns what is on its mind, in the form of subconscious.json.
		Mind(ctx context.Context, owner string) (json.RawMessage, error)
		Tick(ctx context.Context, owner string) (json.RawMessage, error)
	}

	// UseCases are all of these.
	UseCases interface {
		Thinker
		Talker
		Rememberer
		Minder
	}
)

// A Start is a question, and how to think about it.
type Start struct {
	Kind     ponder.Kind
	Question string
	Model    string
	Budget   ponder.Budget
	Every    time.Duration // between syntheses; zero: as configured
	Parallel int
	Title    string
	NoMemory bool
	NoWeb    bool
	Persona  string // of research
	Rounds   int    // of research; zero: as configured
	Context  string // what was said before in the conversation
	Cause    string // of the run_started: what tells the request from another one of the same id
}

type Fork struct {
	At     ponder.Seq // zero: the newest event, or the newest before it began to conclude
	Model  string
	Title  string
	Paused bool
	Wishes []ponder.Event // inputs with their ids, runs and causes, to be appended as they are
}

// A Conversation is how to talk.
type Conversation struct {
	Title   string
	Model   string
	NoWeb   bool   // the web is not looked into
	Persona string // who answers
	System  string // what the program that a user speaks through says of how to answer
}

// A Message is what a user says.
type Message struct {
	ponder.UserMessage
	Deep  bool // it is to be reflected on
	Model string
	NoWeb bool // the web is not looked into for the answer

	System string // as in [Conversation], from now on; empty: as before

	// After is the id of the newest event that the conversation was told, as far as the
	// caller knows: if that is not so, or cannot be said, or if the message asks for something
	// else than those before, nothing is done, and the error is
	// [ponder.ErrStale]. Empty: whatever it was told. See [engine.Engine.PostAfter].
	After string

	Note *ponder.Observation // kept behind the message and with it, internally, by [NoteCause]; nil: none
}

// NoteCause returns the cause of the note of a message of a key.
func NoteCause(key string) string { return "note-" + key }

// A Memory is something to remember, or that is remembered.
type Memory struct {
	ID      string    `json:"id,omitempty"`
	Kind    string    `json:"kind,omitempty"` // memory, document, post, journal
	Title   string    `json:"title,omitempty"`
	Text    string    `json:"text"`
	Source  string    `json:"source,omitempty"`
	Persona string    `json:"persona,omitempty"`
	Created time.Time `json:"created_at,omitzero"`
}

// A Query is what to look for.
type Query struct {
	Text    string
	Limit   int
	Kinds   []string
	Persona string
}

// A Hit is a passage that was found.
type Hit struct {
	Memory
	Quote string  `json:"quote"`
	Score float64 `json:"score"`
}

// A Document is a report.
type Document struct {
	Type string // media type
	Name string // of a file
	Body []byte
}

// Resume has a paused thread told to go on by tell, and worked on. If s is a [Resumer],
// it is not told before all that may refuse it was asked.
func Resume(ctx context.Context, s Thinker, id ponder.ThreadID, model string, tell func() error) error {
	if r, ok := s.(Resumer); ok {
		return r.Resume(ctx, id, model, tell)
	}
	if err := tell(); err != nil {
		return err
	}
	return s.Go(ctx, id, model)
}

// A SentRequest is a request that a client made under an idempotency key.
type SentRequest struct {
	Words  string // a digest of its content
	Answer string // empty if no answer was stored, because the request runs or its process was killed
}

// A Record is a small object that a protocol stores for an owner.
type Record struct {
	Owner, ID string
	JSON      []byte
}

// What the languages of other clients need beside the native API.
type (
	// A Relayer asks models what clients ask that keep the conversation themselves.
	Relayer interface {
		// Relay makes a thread of the id, on which a model is asked, and has it worked on.
		Relay(ctx context.Context, owner string, id ponder.ThreadID, x Exchange) error
	}

	// An Embedder makes vectors of texts.
	Embedder interface {
		// Embed asks a model, or the one that is configured if none is named, and returns a
		// vector for each text and the full name of the model.
		Embed(ctx context.Context, owner, model string, texts []string) (vectors [][]float32, usage llm.Usage, name string, err error)
	}

	// A Lister knows the models that may be named.
	Lister interface {
		// Models returns the full names, provider/model, of those that are configured for any
		// role, in a fixed order.
		Models(ctx context.Context, owner string) ([]string, error)
	}

	// A ChatFinder finds conversations by what was said in them.
	ChatFinder interface {
		// FindChat returns the conversation that was noted under a digest last, or "".
		FindChat(ctx context.Context, owner, digest string) (ponder.ThreadID, error)
		// NoteChat has a conversation found under a digest. What is patient may take some
		// milliseconds, and be written with something else.
		NoteChat(ctx context.Context, owner, digest string, id ponder.ThreadID, patient bool) error
	}

	// Dialects is all that the languages of clients need.
	Dialects interface {
		UseCases
		Relayer
		Embedder
		Lister
		ChatFinder
	}
)

// An Exchange is one question to a model, as a client asks it.
type Exchange struct {
	Title    string
	Model    string // provider/model; empty: the fast one that is configured
	Request  llm.Request
	Own      bool // tools of ours may be used for it: the memory, and the web
	NoWeb    bool
	NoMemory bool
	Budget   ponder.Budget
	Keep     bool   // it is kept until it is removed
	Cause    string `json:"-"` // of the run_started: what tells the request from another one of the same id
	Made     func() `json:"-"` // if set, it is called once the thread is there, and before it is worked on
}

// Sum returns what is the same for the same texts.
func Sum(parts ...string) [sha256.Size]byte {
	var all []byte
	for _, p := range parts {
		all = append(binary.BigEndian.AppendUint32(all, uint32(len(p))), p...)
	}
	return sha256.Sum256(all)
}

// Letters returns the first 128 bits of a sum in the form of a ULID.
func Letters(sum [sha256.Size]byte) string {
	n := new(big.Int).SetBytes(sum[:16])
	text := strings.Map(func(r rune) rune {
		const plain, ours = "0123456789abcdefghijklmnopqrstuv", "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
		return rune(ours[strings.IndexRune(plain, r)])
	}, n.Text(32))
	const letters = 26
	return strings.Repeat("0", max(0, letters-len(text))) + text
}
