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

// A Question is the input and the budget of a session. For zero fields, the configuration
// of the server applies.
type Question struct {
	Question  string  `json:"question"`
	Minutes   float64 `json:"duration_minutes,omitempty"` // 1 to 1440
	Model     string  `json:"model_id,omitempty"`         // provider/model
	Synthesis float64 `json:"synthesis_interval_seconds,omitempty"`
	Tokens    int     `json:"max_tokens,omitempty"`
	USD       float64 `json:"max_cost_usd,omitempty"`
	Calls     int     `json:"max_calls,omitempty"`
	Parallel  int     `json:"parallel,omitempty"`   // concurrent lines of thought
	ToTheEnd  bool    `json:"to_the_end,omitempty"` // use the whole time, even without new insights
	Title     string  `json:"title,omitempty"`
}

// A Session is the current state of a thinking session.
type Session struct {
	ID             string        `json:"id"`
	Run            ponder.RunID  `json:"run_id"`
	Title          string        `json:"title"`
	Question       string        `json:"original_question"`
	Minutes        float64       `json:"thinking_duration_minutes"` // 0: no limit
	Model          string        `json:"model_id"`
	Status         ponder.Status `json:"status"`
	Interrupted    bool          `json:"interrupted"` // no process works on it, although it is not paused
	Progress       Progress      `json:"progress"`
	Created        *time.Time    `json:"created_at"`
	Started        *time.Time    `json:"started_at"` // nil before the first action
	Paused         *time.Time    `json:"paused_at"`  // of the newest pause, also after a resume
	Resumed        *time.Time    `json:"resumed_at"`
	Completed      *time.Time    `json:"completed_at"`
	FinalSynthesis string        `json:"final_synthesis"`      // the answer
	Confidence     []float64     `json:"confidence_evolution"` // 0 to 1, one per synthesis
	StopReason     string        `json:"stop_reason"`
	EndReason      string        `json:"end_reason"` // the code of StopReason: see docs/log-format.md
	Budget         Limits        `json:"budget"`
	Usage          Usage         `json:"usage"`
	Error          string        `json:"error_message"`
}

type Progress struct {
	Thoughts       int     `json:"total_thoughts"`
	Questions      int     `json:"total_questions"`
	Syntheses      int     `json:"total_syntheses"`
	Focus          string  `json:"current_focus"`
	Percentage     float64 `json:"percentage"`      // of the budget part that is closest to its limit; 100 if completed
	PercentageOf   string  `json:"percentage_of"`   // that part: time, calls, tokens or money
	TimePercentage float64 `json:"time_percentage"` // of the time, also if completed
	Elapsed        float64 `json:"elapsed_seconds"`
}

// Limits is the budget of a session. Zero is no limit.
type Limits struct {
	Seconds float64 `json:"time_seconds"`
	Calls   int     `json:"calls"`
	Tokens  int     `json:"tokens"`
	USD     float64 `json:"cost_usd"`
}

type Usage struct {
	Calls    int     `json:"calls"`
	Failed   int     `json:"failed_calls"`
	Input    int     `json:"input_tokens"`
	Output   int     `json:"output_tokens"`
	Total    int     `json:"total_tokens"`
	USD      float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced_calls"` // calls with an unknown price, not in USD
}

type Thought struct {
	ID         string    `json:"id"`
	Number     int       `json:"sequence_number"`
	Text       string    `json:"thought_text"`
	Type       string    `json:"thought_type"`
	Confidence float64   `json:"confidence"`
	Importance float64   `json:"importance"`
	Question   string    `json:"related_to_question_id"` // empty: the question of the user
	Offset     float64   `json:"time_offset_seconds"`
	Created    time.Time `json:"created_at"`
}

// A SubQuestion is a question that a session raised.
type SubQuestion struct {
	ID       string    `json:"id"`
	Text     string    `json:"question_text"`
	Priority int       `json:"priority"` // 1 to 10, the highest first
	Why      string    `json:"why"`
	Explored bool      `json:"explored"`
	Insights string    `json:"insights_gained"`
	Created  time.Time `json:"created_at"`
}

// A Synthesis is an intermediate understanding of a session.
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

type sessionAnswer struct {
	Session Session `json:"session"`
}

func (c *Client) Start(ctx context.Context, q Question) (Session, error) {
	var out sessionAnswer
	err := c.post(ctx, apiPath(sessions, "start"), q, &out)
	return out.Session, err
}

func (c *Client) Session(ctx context.Context, id string) (Session, error) {
	var out sessionAnswer
	err := c.get(ctx, apiPath(sessions, id), nil, &out)
	return out.Session, err
}

// Sessions iterates over the sessions with a status, or over all if it is empty, newest
// first. It fetches pages on demand. An error ends the iteration.
func (c *Client) Sessions(ctx context.Context, status ponder.Status) iter.Seq2[Session, error] {
	query := url.Values{}
	if status != "" {
		query.Set("status", string(status))
	}
	return listPages(ctx, c, apiPath(sessions)+"/", query, func(p *sessionPage) ([]Session, string) { return p.Sessions, p.Next })
}

type sessionPage struct {
	Sessions []Session `json:"sessions"`
	Next     string    `json:"next_cursor"`
}

// listPages iterates over a list in pages.
func listPages[P, T any](ctx context.Context, c *Client, path string, query url.Values, of func(*P) ([]T, string)) iter.Seq2[T, error] {
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

// Thoughts returns the newest thoughts of a session, oldest first: up to limit, or all if
// limit is zero.
func (c *Client) Thoughts(ctx context.Context, id string, limit int) ([]Thought, error) {
	var out struct {
		Thoughts []Thought `json:"thoughts"`
	}
	query := url.Values{}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	err := c.get(ctx, apiPath(sessions, id, "stream"), query, &out)
	return out.Thoughts, err
}

func (c *Client) Questions(ctx context.Context, id string) ([]SubQuestion, error) {
	var out struct {
		Questions []SubQuestion `json:"questions"`
	}
	err := c.get(ctx, apiPath(sessions, id, "questions"), nil, &out)
	return out.Questions, err
}

func (c *Client) Syntheses(ctx context.Context, id string) ([]Synthesis, error) {
	var out struct {
		Syntheses []Synthesis `json:"syntheses"`
	}
	err := c.get(ctx, apiPath(sessions, id, "syntheses"), nil, &out)
	return out.Syntheses, err
}

// Watch follows a session from the event after, until the session ends. Zero starts at its
// beginning. It reconnects without losing or repeating events. An error ends the iteration.
func (c *Client) Watch(ctx context.Context, id string, after ponder.Seq) iter.Seq2[Update, error] {
	return c.followStream(ctx, apiPath(sessions, id, "stream"), after)
}

func (c *Client) Pause(ctx context.Context, id string) (Session, error) {
	return c.postAction(ctx, id, "pause", nil)
}

// Resume resumes a session. It changes the model unless model is empty.
func (c *Client) Resume(ctx context.Context, id, model string) (Session, error) {
	return c.postAction(ctx, id, "resume", struct {
		Model string `json:"model_id,omitempty"`
	}{model})
}

// Cancel ends a session without an answer.
func (c *Client) Cancel(ctx context.Context, id string) (Session, error) {
	return c.postAction(ctx, id, "cancel", nil)
}

func (c *Client) postAction(ctx context.Context, id, what string, body any) (Session, error) {
	var out sessionAnswer
	err := c.post(ctx, apiPath(sessions, id, what), body, &out)
	return out.Session, err
}

// A Command is a command to a session. docs/steering.md and the server's /docs list the fields
// of each order.
type Command struct {
	Order    string  `json:"order"`              // add_question, drop_question, rank_question, correct, pin_source, ban_source, budget, answer_now, undo
	Content  string  `json:"content,omitempty"`  // the question of add_question, or the fact of correct
	Question string  `json:"question,omitempty"` // the id or text, for drop_question and rank_question
	Priority int     `json:"priority,omitempty"` // 1 to 10
	Source   string  `json:"source,omitempty"`   // for pin_source and ban_source
	Minutes  float64 `json:"duration_minutes,omitempty"`
	Tokens   int     `json:"max_tokens,omitempty"`
	USD      float64 `json:"max_cost_usd,omitempty"`
	Calls    int     `json:"max_calls,omitempty"`
}

// A CommandResult is the result of a command.
type CommandResult struct {
	Order   string     `json:"order"`
	Outcome string     `json:"outcome"`       // done, refused, or noted: the session applies it when it resumes
	Effect  string     `json:"effect"`        // the effect or the reason, as a sentence
	Seq     ponder.Seq `json:"effective_seq"` // the event that acknowledges it
}

// Steer sends commands to a session, which applies them in order.
func (c *Client) Steer(ctx context.Context, id string, commands ...Command) (Session, []CommandResult, error) {
	var out struct {
		sessionAnswer
		Results []CommandResult `json:"wishes"`
	}
	err := c.post(ctx, apiPath(sessions, id, "steer"), struct {
		Commands []Command `json:"wishes"`
	}{commands}, &out)
	return out.Session, out.Results, err
}

// SteerSentence changes a session as a sentence in plain words says, and returns the meaning of the
// sentence. A dry run changes nothing. A sentence that is not understood is an error.
func (c *Client) SteerSentence(ctx context.Context, id, sentence string, dryRun bool) (meaning string, results []CommandResult, err error) {
	var out struct {
		Meaning string          `json:"understood_as"`
		Results []CommandResult `json:"wishes"`
	}
	err = c.post(ctx, apiPath(sessions, id, "steer"), struct {
		Sentence string `json:"sentence"`
		DryRun   bool   `json:"dry_run,omitempty"`
	}{sentence, dryRun}, &out)
	return out.Meaning, out.Results, err
}

// A Fork describes a fork of a session.
type Fork struct {
	At       ponder.Seq `json:"at,omitempty"`       // the last shared event; zero: the newest, or the newest before the conclusion
	Model    string     `json:"model_id,omitempty"` // replaces the model
	Title    string     `json:"title,omitempty"`
	Paused   bool       `json:"paused,omitempty"` // the fork starts paused
	Commands []Command  `json:"wishes,omitempty"` // applied before the fork thinks
}

// Fork creates a fork of a session, and returns it.
func (c *Client) Fork(ctx context.Context, id string, f Fork) (Session, error) {
	return c.postAction(ctx, id, "fork", f)
}

// Delete erases a session and all its data.
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.sendDelete(ctx, apiPath(sessions, id))
}

// Export returns a session as a file. The formats are json, markdown, html and jsonl.
func (c *Client) Export(ctx context.Context, id, format string) ([]byte, error) {
	var file []byte
	err := c.sendRetrying(ctx, call{method: http.MethodGet, path: apiPath(sessions, id, "export"), query: url.Values{"format": {format}}}, &file)
	return file, err
}
