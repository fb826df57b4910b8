// Package app implements the use cases of Ponder, with typed errors. The command line
// (cmd/ponder), the native API (internal/httpapi) and the protocols of other clients
// (internal/compat) call it.
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

// Use cases act for an owner. They return an [Error] that the caller can correct, and
// ponder.ErrTaken if the id is in use.
type (
	Thinker interface {
		// Begin creates a thread with a question and starts it. Its kind is session or
		// research.
		Begin(ctx context.Context, owner string, id ponder.ThreadID, s Start) error
		// Go starts work on an existing thread after a command, a message or a resumption. A
		// non-empty model replaces the configured ones.
		Go(ctx context.Context, id ponder.ThreadID, model string) error
		Fork(ctx context.Context, owner string, from, id ponder.ThreadID, f Fork) error
		Remove(ctx context.Context, id ponder.ThreadID) error
		// Report writes the result of a session or a research.
		Report(ctx context.Context, id ponder.ThreadID, format string) (Document, error)
	}

	// A Resumer resumes paused threads. A [Thinker] may implement it.
	Resumer interface {
		// Resume continues a paused session or research. It makes all checks before it calls
		// tell, which appends the resumption, and returns tell's error.
		Resume(ctx context.Context, id ponder.ThreadID, model string, tell func() error) error
	}

	// An Accountant reports usage. A [UseCases] may implement it.
	Accountant interface {
		// Used returns an owner's usage since a time, including removed threads and calls
		// without threads. A key may have several rows. alone means that no other owner exists.
		Used(ctx context.Context, owner string, alone bool, by ponder.GroupBy, since time.Time) ([]ponder.UsageRow, error)
	}

	Talker interface {
		Open(ctx context.Context, owner string, id ponder.ThreadID, c Conversation) error
		// Say appends a message to a conversation and starts the answer. key becomes the cause
		// of its event; ErrTaken means that it exists.
		Say(ctx context.Context, conversation ponder.Info, key string, m Message) (ponder.Event, error)
	}

	Rememberer interface {
		// Remember stores all memories or none, and returns them in order. A memory with equal
		// text replaces the older one.
		Remember(ctx context.Context, owner string, list ...Memory) ([]Memory, error)
		// Remembered returns the existing memories among ids, in order.
		Remembered(ctx context.Context, owner string, ids ...string) ([]Memory, error)
		Search(ctx context.Context, owner string, q Query) ([]Hit, error)
		// Memories returns the newest memories first, at most q.Limit, and only those older
		// than the item after, unless that is empty.
		Memories(ctx context.Context, owner string, q Query, after string) ([]Memory, error)
		// Forget returns an [Error] of the code [NotFound] if the owner has no such memory.
		Forget(ctx context.Context, owner, id string) error
	}

	Minder interface {
		Thread(owner string) ponder.ThreadID
		// Mind returns the state of the subconscious, in the form of subconscious.json.
		Mind(ctx context.Context, owner string) (json.RawMessage, error)
		Tick(ctx context.Context, owner string) (json.RawMessage, error)
	}

	// A MindService has the use cases of one's subconscious that need the server's files. A [UseCases]
	// may implement it.
	MindService interface {
		// RollBack restores the entries from before a tick, and returns the appended event.
		RollBack(ctx context.Context, owner string, tick int) (ponder.Event, error)
		// Sensors returns the status of the sensors in this process.
		Sensors(ctx context.Context, owner string) ([]SensorStatus, error)
		// TestSensors lets each sensor look once and stores nothing.
		TestSensors(ctx context.Context, owner string) ([]SensorTrial, error)
	}

	UseCases interface {
		Thinker
		Talker
		Rememberer
		Minder
	}
)

type Start struct {
	Kind     ponder.Kind
	Question string
	Model    string
	Budget   ponder.Budget
	Every    time.Duration // between syntheses; zero: as configured
	Parallel int
	ToTheEnd bool // of a session: use the whole time
	Title    string
	NoMemory bool
	NoWeb    bool
	Folders  []string // absolute paths of documents that the caller may read
	Persona  string   // of research
	Rounds   int      // of research; zero: as configured

	PlanFirst bool         // of research: pause with a plan for approval
	Plan      *ponder.Plan // of research: the approved plan; may be nil
	Since     string       // of research: the id of the research to update

	Context string // earlier conversation
	Cause   string // of the run_started; distinguishes requests with equal ids
}

type Fork struct {
	At       ponder.Seq // zero: the newest event before the conclusion, if any
	Model    string
	Title    string
	Paused   bool
	Commands []ponder.Event // inputs with ids, runs and causes, appended unchanged
}

type Conversation struct {
	Title   string
	Model   string
	NoWeb   bool
	Persona string
	System  string // the client's system prompt
}

type Message struct {
	ponder.UserMessage
	Deep  bool // request a reflection
	Model string
	NoWeb bool

	System string // as in [Conversation]; empty: unchanged

	// After is the id of the newest event that the caller knows. If newer events exist, or the
	// message changes preferences, the error is [ponder.ErrStale]. Empty: no check. See
	// [engine.Engine.PostAfter].
	After string

	Note *ponder.Observation // stored internally after the message, with the cause [NoteCause]; may be nil
}

// NoteCause returns the cause of the note of a message with key.
func NoteCause(key string) string { return "note-" + key }

type Memory struct {
	ID         string    `json:"id,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Title      string    `json:"title,omitempty"`
	Text       string    `json:"text"`
	Source     string    `json:"source,omitempty"`
	ExternalID string    `json:"external_id,omitempty"` // at Source
	URL        string    `json:"url,omitempty"`
	Persona    string    `json:"persona,omitempty"`
	Created    time.Time `json:"created_at,omitzero"`
}

type Query struct {
	Text    string
	Limit   int
	Kinds   []string
	Persona string
}

type Hit struct {
	Memory
	Quote string  `json:"quote"`
	Score float64 `json:"score"`
}

type Document struct {
	Type string
	Name string
	Body []byte
}

// Resume calls tell, which resumes a paused thread, and continues it. A [Resumer] makes all
// checks before tell.
func Resume(ctx context.Context, s Thinker, id ponder.ThreadID, model string, tell func() error) error {
	if r, ok := s.(Resumer); ok {
		return r.Resume(ctx, id, model, tell)
	}
	if err := tell(); err != nil {
		return err
	}
	return s.Go(ctx, id, model)
}

// A SentRequest is a request under an idempotency key.
type SentRequest struct {
	Words  string // digest of its content
	Answer string // empty if the request runs or its process was killed
}

type Record struct {
	Owner, ID string
	JSON      []byte
}

// Use cases that only other protocols need.
type (
	Relayer interface {
		Relay(ctx context.Context, owner string, id ponder.ThreadID, x Exchange) error
	}

	Embedder interface {
		// Embed returns a vector for each text and the full name of the model. An empty model
		// is the configured one.
		Embed(ctx context.Context, owner, model string, texts []string) (vectors [][]float32, usage llm.Usage, name string, err error)
	}

	Lister interface {
		// Models returns the full names (provider/model) of the models of all roles, in a fixed
		// order.
		Models(ctx context.Context, owner string) ([]string, error)
	}

	ChatFinder interface {
		// FindChat returns the newest conversation of a digest, or "".
		FindChat(ctx context.Context, owner, digest string) (ponder.ThreadID, error)
		// NoteChat stores a digest. A patient call may wait some milliseconds to share a
		// transaction.
		NoteChat(ctx context.Context, owner, digest string, id ponder.ThreadID, patient bool) error
	}

	ProtocolService interface {
		UseCases
		Relayer
		Embedder
		Lister
		ChatFinder
	}
)

// An Exchange is one question of a client to a model.
type Exchange struct {
	Title    string
	Model    string // provider/model; empty: the configured fast one
	Request  llm.Request
	Own      bool
	NoWeb    bool
	NoMemory bool
	Budget   ponder.Budget
	Keep     bool
	Approved []llm.ToolCall // calls that the user approved; see [Service.AnswerExchange]
	Cause    string         `json:"-"` // of the run_started; distinguishes requests with equal ids
	Made     func()         `json:"-"` // called after the thread exists and before it starts; may be nil
}

// Sum returns a hash of parts, in order.
func Sum(parts ...string) [sha256.Size]byte {
	var all []byte
	for _, p := range parts {
		all = append(binary.BigEndian.AppendUint32(all, uint32(len(p))), p...)
	}
	return sha256.Sum256(all)
}

// Letters returns the first 128 bits of a sum as a ULID.
func Letters(sum [sha256.Size]byte) string {
	n := new(big.Int).SetBytes(sum[:16])
	text := strings.Map(func(r rune) rune {
		const plain, ours = "0123456789abcdefghijklmnopqrstuv", "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
		return rune(ours[strings.IndexRune(plain, r)])
	}, n.Text(32))
	const letters = 26
	return strings.Repeat("0", max(0, letters-len(text))) + text
}
