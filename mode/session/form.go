package session

import (
	"encoding/json"
	"strings"
)

// What models mostly answer: JSON in the form that was asked for. It is read at
// once; all else is read with patience, by objects and records.
type (
	plainThoughts struct {
		Thoughts []struct {
			Thought    string   `json:"thought"`
			Type       string   `json:"type"`
			Confidence *float64 `json:"confidence"`
			Importance *float64 `json:"importance"`
			Cites      []string `json:"cites"`
		} `json:"thoughts"`
	}
	plainQuestions struct {
		Questions []struct {
			Question string   `json:"question"`
			Priority *float64 `json:"priority"`
			Why      string   `json:"why"`
			Parent   string   `json:"parent"`
		} `json:"questions"`
		Ranked []struct {
			ID       string   `json:"id"`
			Priority *float64 `json:"priority"`
		} `json:"ranked"`
	}
)

// inForm reads text into a form, and reports whether it has it.
func inForm(text string, form any) bool {
	return strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), form) == nil
}

// thoughtsInForm reads thoughts in the form that was asked for.
func thoughtsInForm(text string) (list []heard, ok bool) {
	var f plainThoughts
	if !inForm(text, &f) || len(f.Thoughts) == 0 {
		return nil, false
	}
	list = make([]heard, 0, len(f.Thoughts))
	for _, t := range f.Thoughts {
		if strings.TrimSpace(t.Thought) == "" || t.Confidence == nil {
			return nil, false
		}
		h := heard{Text: t.Thought, Kind: t.Type, Confidence: scaled(*t.Confidence), Cites: t.Cites}
		if t.Importance != nil {
			h.Importance = scaled(*t.Importance)
		}
		list = append(list, h)
	}
	return list, true
}

// questionsInForm reads questions and new priorities in the form that was asked for.
func questionsInForm(text string) (list []asked, ranks []ranking, ok bool) {
	var f plainQuestions
	if !inForm(text, &f) || f.Questions == nil {
		return nil, nil, false
	}
	for _, q := range f.Questions {
		if strings.TrimSpace(q.Question) == "" || q.Priority == nil {
			return nil, nil, false
		}
		list = append(list, asked{Text: q.Question, Why: q.Why, Priority: ranked(*q.Priority), Parent: q.Parent})
	}
	for _, r := range f.Ranked {
		if r.Priority != nil {
			ranks = append(ranks, ranking{strings.ToLower(strings.TrimSpace(r.ID)), ranked(*r.Priority)})
		}
	}
	return list, ranks, true
}
