package httpapi

import (
	"context"
	"slices"

	"ponder"
	"ponder/mode/session"
)

// A Thought is a thought of a session as programs are shown it.
type Thought struct {
	session.Thought
	Question *string `json:"related_to_question_id"` // the question that it is about; null if that is the user's
}

func thoughtsOf(v session.View) []Thought {
	list := make([]Thought, len(v.Thoughts))
	for i, t := range v.Thoughts {
		list[i].Thought = t
		if t.Question != "" {
			list[i].Question = &t.Question
		}
	}
	return list
}

type questionsOf struct {
	SessionPath
	Explored   bool `query:"explored_only" doc:"only those that were explored"`
	Unexplored bool `query:"unexplored_only" doc:"only those that are still to be explored"`
}

type manyQuestions struct {
	Body struct {
		Success   bool               `json:"success"`
		ID        ponder.ThreadID    `json:"session_id"`
		Count     int                `json:"question_count"`
		Questions []session.Question `json:"questions" nullable:"false"`
	}
}

func (a *api) getQuestions(ctx context.Context, in *questionsOf) (*manyQuestions, error) {
	info, err := a.owned(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	out := &manyQuestions{}
	out.Body.Success, out.Body.ID = true, info.ID
	err = a.look(ctx, info, func(v session.View) {
		out.Body.Questions = slices.DeleteFunc(slices.Concat([]session.Question{}, v.Questions), func(q session.Question) bool {
			return in.Explored && !q.Explored || in.Unexplored && (q.Explored || q.State == session.Dropped)
		})
	})
	out.Body.Count = len(out.Body.Questions)
	return out, err
}

type manySyntheses struct {
	Body struct {
		Success   bool                `json:"success"`
		ID        ponder.ThreadID     `json:"session_id"`
		Count     int                 `json:"synthesis_count"`
		Syntheses []session.Synthesis `json:"syntheses" nullable:"false"`
	}
}

func (a *api) getSyntheses(ctx context.Context, in *SessionPath) (*manySyntheses, error) {
	info, err := a.owned(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	out := &manySyntheses{}
	out.Body.Success, out.Body.ID = true, info.ID
	err = a.look(ctx, info, func(v session.View) { out.Body.Syntheses = slices.Concat([]session.Synthesis{}, v.Syntheses) })
	out.Body.Count = len(out.Body.Syntheses)
	return out, err
}

// Stats are counts of a session.
type Stats struct {
	ID         ponder.ThreadID `json:"session_id"`
	Status     ponder.Status   `json:"status"`
	Thoughts   int             `json:"total_thoughts"`
	ByType     map[string]int  `json:"thoughts_by_type"`
	Questions  int             `json:"total_questions"`
	Explored   int             `json:"explored_questions"`
	Open       int             `json:"open_questions"` // neither explored nor dropped
	Dropped    int             `json:"dropped_questions"`
	Syntheses  int             `json:"total_syntheses"`
	Sources    int             `json:"total_sources"`
	Cited      int             `json:"cited_sources"`
	Confidence Spread          `json:"confidence"` // of the thoughts
	Evolution  []float64       `json:"confidence_evolution" nullable:"false"`
	Elapsed    float64         `json:"elapsed_seconds"`
	Percentage float64         `json:"percentage"`
	Calls      int             `json:"calls"`
	Failed     int             `json:"failed_calls"`
	Input      int             `json:"input_tokens"`
	Output     int             `json:"output_tokens"`
	Tokens     int             `json:"total_tokens"`
	USD        float64         `json:"cost_usd"`
	Unpriced   int             `json:"unpriced_calls"` // whose price is not known; not in cost_usd
}

// A Spread is what numbers there are. It is null as long as there are none.
type Spread struct {
	Min  *float64 `json:"min"`
	Mean *float64 `json:"mean"`
	Max  *float64 `json:"max"`
}

type oneStats struct {
	Body struct {
		Success bool  `json:"success"`
		Stats   Stats `json:"stats"`
	}
}

func (a *api) getStats(ctx context.Context, in *SessionPath) (*oneStats, error) {
	info, err := a.owned(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	out := &oneStats{}
	out.Body.Success = true
	err = a.look(ctx, info, func(v session.View) { out.Body.Stats = statsOf(sessionOf(info, v, a.views.now()), v) })
	return out, err
}

// thoughtTypes are those of the contract, which all have a count.
var thoughtTypes = [...]string{"exploration", "critique", "connection", "insight", "question", "synthesis"}

func statsOf(s Session, v session.View) Stats {
	p, u := s.Progress, s.Usage
	st := Stats{
		ID: s.ID, Status: s.Status, Thoughts: len(v.Thoughts), ByType: make(map[string]int), Questions: len(v.Questions), Syntheses: len(v.Syntheses),
		Sources: len(v.Sources), Evolution: s.Confidence, Elapsed: p.Elapsed, Percentage: p.Percentage, Calls: u.Calls, Failed: u.Failed,
		Input: u.Input, Output: u.Output, Tokens: u.Total, USD: u.USD, Unpriced: u.Unpriced,
	}
	for _, kind := range thoughtTypes {
		st.ByType[kind] = 0
	}
	var sure []float64
	for _, t := range v.Thoughts {
		st.ByType[t.Kind]++
		if !t.Assumed {
			sure = append(sure, t.Confidence)
		}
	}
	st.Confidence = spreadOf(sure)
	for _, q := range v.Questions {
		switch {
		case q.Explored:
			st.Explored++
		case q.State == session.Dropped:
			st.Dropped++
		default:
			st.Open++
		}
	}
	for _, src := range v.Sources {
		if src.Cited {
			st.Cited++
		}
	}
	return st
}

func spreadOf(list []float64) Spread {
	if len(list) == 0 {
		return Spread{}
	}
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	least, mean, most := slices.Min(list), sum/float64(len(list)), slices.Max(list)
	return Spread{&least, &mean, &most}
}
