package client

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ponder"
)

// A Question is what a session is to think about, and how much it may use. What is zero
// is as the server is configured.
type Question struct {
	Question  string  `json:"question"`
	Minutes   float64 `json:"duration_minutes,omitempty"` // 1 to 1440
	Model     string  `json:"model_id,omitempty"`         // provider/model
	Synthesis float64 `json:"synthesis_interval_seconds,omitempty"`
	Tokens    int     `json:"max_tokens,omitempty"`
	USD       float64 `json:"max_cost_usd,omitempty"`
	Calls     int     `json:"max_calls,omitempty"`
	Parallel  int     `json:"parallel,omitempty"` // things thought about at a time
	Title     string  `json:"title,omitempty"`
}

// A Session is a thinking session as it stands.
type Session struct {
	ID          string        `json:"id"`
	Run         ponder.RunID  `json:"run_id"`
	Title       string        `json:"title"`
	Question    string        `json:"original_question"`
	Minutes     float64       `json:"thinking_duration_minutes"` // 0: not limited
	Model       string        `json:"model_id"`
	Status      ponder.Status `json:"status"`
	Interrupted bool          `json:"interrupted"` // no process thinks, though nobody paused it
	Progress    Progress      `json:"progress"`
	Created     *time.Time    `json:"created_at"`
	Started     *time.Time    `json:"started_at"`
	Paused      *time.Time    `json:"paused_at"`
	Completed   *time.Time    `json:"completed_at"`
	Final       string        `json:"final_synthesis"`      // the answer
	Confidence  []float64     `json:"confidence_evolution"` // 0 to 1, a synthesis each
	StopReason  string        `json:"stop_reason"`
	Budget      Limits        `json:"budget"`
	Usage       Used          `json:"usage"`
	Error       string        `json:"error_message"`
}

// Progress is how far a session has come.
type Progress struct {
	Thoughts   int     `json:"total_thoughts"`
	Questions  int     `json:"total_questions"`
	Syntheses  int     `json:"total_syntheses"`
	Focus      string  `json:"current_focus"`
	Percentage float64 `json:"percentage"` // of the budget that is nearest to its end
	Elapsed    float64 `json:"elapsed_seconds"`
}

// Limits are what a session may use. Zero is no limit.
type Limits struct {
	Seconds float64 `json:"time_seconds"`
	Calls   int     `json:"calls"`
	Tokens  int     `json:"tokens"`
	USD     float64 `json:"cost_usd"`
}

// Used is what a session has used.
type Used struct {
	Calls    int     `json:"calls"`
	Failed   int     `json:"failed_calls"`
	Input    int     `json:"input_tokens"`
	Output   int     `json:"output_tokens"`
	Total    int     `json:"total_tokens"`
	USD      float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced_calls"` // whose price is not known; not in USD
}

// A Thought is a thought of a session.
type Thought struct {
	ID         string    `json:"id"`
	Number     int       `json:"sequence_number"`
	Text       string    `json:"thought_text"`
	Type       string    `json:"thought_type"`
	Confidence float64   `json:"confidence"`
	Importance float64   `json:"importance"`
	Question   string    `json:"related_to_question_id"` // empty: that of the user
	Offset     float64   `json:"time_offset_seconds"`
	Created    time.Time `json:"created_at"`
}

// A SubQuestion is a question that came up in a session.
type SubQuestion struct {
	ID       string    `json:"id"`
	Text     string    `json:"question_text"`
	Priority int       `json:"priority"` // 1 to 10, the highest first
	Why      string    `json:"why"`
	Explored bool      `json:"explored"`
	Insights string    `json:"insights_gained"`
	Created  time.Time `json:"created_at"`
}

// A Synthesis is the understanding of a session at a time.
type Synthesis struct {
	ID         string    `json:"id"`
	Number     int       `json:"sequence_number"`
	Text       string    `json:"synthesis_text"`
	Insights   []string  `json:"key_insights"`
	Confidence float64   `json:"confidence_level"`
	Remaining  []string  `json:"remaining_questions"`
	Offset     float64   `json:"time_offset_seconds"`
	Created    time.Time `json:"created_at"`
}

const sessions = "thinking"

// one is an answer with a session.
type one struct {
	Session Session `json:"session"`
}

// Start begins a session.
func (c *Client) Start(ctx context.Context, q Question) (Session, error) {
	var out one
	err := c.post(ctx, path(sessions, "start"), q, &out)
	return out.Session, err
}

// Session returns a session as it stands.
func (c *Client) Session(ctx context.Context, id string) (Session, error) {
	var out one
	err := c.get(ctx, path(sessions, id), nil, &out)
	return out.Session, err
}

// Sessions iterates over sessions, the newest first: those of a status, unless that is
// empty. It asks for page after page. An error is the last that it yields.
func (c *Client) Sessions(ctx context.Context, status ponder.Status) iter.Seq2[Session, error] {
	query := url.Values{}
	if status != "" {
		query.Set("status", string(status))
	}
	return pages(ctx, c, path(sessions)+"/", query, func(p *sessionPage) ([]Session, string) { return p.Sessions, p.Next })
}

type sessionPage struct {
	Sessions []Session `json:"sessions"`
	Next     string    `json:"next_cursor"`
}

// pages iterates over a list that a server gives page by page.
func pages[P, T any](ctx context.Context, c *Client, path string, query url.Values, of func(*P) ([]T, string)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := maps.Clone(query)
		for cursor := ""; ; {
			if cursor != "" {
				query.Set("cursor", cursor)
			}
			var page P
			if err := c.get(ctx, path, query, &page); err != nil {
				var none T
				yield(none, err)
				return
			}
			list, next := of(&page)
			for _, one := range list {
				if !yield(one, nil) {
					return
				}
			}
			if next == "" || next == cursor {
				return
			}
			cursor = next
		}
	}
}

// Thoughts returns the newest thoughts of a session, at most so many, oldest first; all
// if limit is zero.
func (c *Client) Thoughts(ctx context.Context, id string, limit int) ([]Thought, error) {
	var out struct {
		Thoughts []Thought `json:"thoughts"`
	}
	query := url.Values{}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	err := c.get(ctx, path(sessions, id, "stream"), query, &out)
	return out.Thoughts, err
}

// Questions returns the questions that came up in a session.
func (c *Client) Questions(ctx context.Context, id string) ([]SubQuestion, error) {
	var out struct {
		Questions []SubQuestion `json:"questions"`
	}
	err := c.get(ctx, path(sessions, id, "questions"), nil, &out)
	return out.Questions, err
}

// Syntheses returns the syntheses of a session, oldest first.
func (c *Client) Syntheses(ctx context.Context, id string) ([]Synthesis, error) {
	var out struct {
		Syntheses []Synthesis `json:"syntheses"`
	}
	err := c.get(ctx, path(sessions, id, "syntheses"), nil, &out)
	return out.Syntheses, err
}

// Watch follows a session from behind an event, which is zero for its beginning, until
// it has ended. Over connections that break it misses no event and repeats none. An
// error is the last that it yields.
func (c *Client) Watch(ctx context.Context, id string, after ponder.Seq) iter.Seq2[Update, error] {
	return c.follow(ctx, path(sessions, id, "stream"), after)
}

// Pause has a session stop thinking.
func (c *Client) Pause(ctx context.Context, id string) (Session, error) {
	return c.act(ctx, id, "pause", nil)
}

// Resume has a session go on, with another model unless that is empty.
func (c *Client) Resume(ctx context.Context, id, model string) (Session, error) {
	return c.act(ctx, id, "resume", struct {
		Model string `json:"model_id,omitempty"`
	}{model})
}

// Cancel ends a session without an answer.
func (c *Client) Cancel(ctx context.Context, id string) (Session, error) {
	return c.act(ctx, id, "cancel", nil)
}

func (c *Client) act(ctx context.Context, id, what string, body any) (Session, error) {
	var out one
	err := c.post(ctx, path(sessions, id, what), body, &out)
	return out.Session, err
}

// A Wish is something that a session is told. Which fields an order has, docs/steering.md
// and the server's /docs say.
type Wish struct {
	Order    string  `json:"order"`              // add_question, drop_question, rank_question, correct, pin_source, ban_source, budget, answer_now
	Content  string  `json:"content,omitempty"`  // of add_question the question, of correct the fact
	Question string  `json:"question,omitempty"` // of drop_question and rank_question: its id or its text
	Priority int     `json:"priority,omitempty"` // 1 to 10
	Source   string  `json:"source,omitempty"`   // of pin_source and ban_source
	Minutes  float64 `json:"duration_minutes,omitempty"`
	Tokens   int     `json:"max_tokens,omitempty"`
	USD      float64 `json:"max_cost_usd,omitempty"`
	Calls    int     `json:"max_calls,omitempty"`
}

// An Obeyed says what became of a wish.
type Obeyed struct {
	Order   string     `json:"order"`
	Outcome string     `json:"outcome"`       // done, refused, or noted, which means that it takes effect when the session goes on
	Effect  string     `json:"effect"`        // what the session did, or why not, in words
	Seq     ponder.Seq `json:"effective_seq"` // of the event that says so
}

// Steer tells a session one thing or several, which it obeys in their order.
func (c *Client) Steer(ctx context.Context, id string, wishes ...Wish) (Session, []Obeyed, error) {
	var out struct {
		one
		Wishes []Obeyed `json:"wishes"`
	}
	err := c.post(ctx, path(sessions, id, "steer"), struct {
		Wishes []Wish `json:"wishes"`
	}{wishes}, &out)
	return out.Session, out.Wishes, err
}

// A Fork is where a session goes another way, and how.
type Fork struct {
	At     ponder.Seq `json:"at,omitempty"`       // the last event that it shares; zero: the newest, or the newest before it began to conclude
	Model  string     `json:"model_id,omitempty"` // goes on with this one
	Title  string     `json:"title,omitempty"`
	Paused bool       `json:"paused,omitempty"` // does not go on yet
	Wishes []Wish     `json:"wishes,omitempty"` // that hold before it thinks anything
}

// Fork makes a session that begins as another did, and returns it.
func (c *Client) Fork(ctx context.Context, id string, f Fork) (Session, error) {
	return c.act(ctx, id, "fork", f)
}

// Delete erases a session and all that belongs to it.
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.remove(ctx, path(sessions, id))
}

// Export returns a session as a file: json, markdown or jsonl.
func (c *Client) Export(ctx context.Context, id, format string) ([]byte, error) {
	var file []byte
	err := c.do(ctx, call{method: http.MethodGet, path: path(sessions, id, "export"), query: url.Values{"format": {format}}}, &file)
	return file, err
}
