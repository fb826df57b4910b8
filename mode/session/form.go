package session

import (
	"encoding/json"
	"strings"
)

// A plainAnswer is what models mostly answer: JSON in the form that was asked for.
// It is read at once; all else is read with patience, by objects and records.
type (
	plainAnswer struct {
		Thoughts  []plainThought  `json:"thoughts"`
		Questions []plainQuestion `json:"questions"`
		Ranked    []plainRank     `json:"ranked"`
		Settled   bool            `json:"settled"`
	}
	plainThought struct {
		Thought    string   `json:"thought"`
		Type       string   `json:"type"`
		Confidence *float64 `json:"confidence"`
		Importance *float64 `json:"importance"`
		Cites      []string `json:"cites"`
	}
	plainQuestion struct {
		Question string   `json:"question"`
		Priority *float64 `json:"priority"`
		Why      string   `json:"why"`
		Parent   string   `json:"parent"`
	}
	plainRank struct {
		ID       string   `json:"id"`
		Priority *float64 `json:"priority"`
	}
)

// inForm reads an answer, and reports whether it has the form.
func inForm(text string) (plainAnswer, bool) {
	if !strings.HasPrefix(text, "{") {
		return plainAnswer{}, false
	}
	if f, ok := readPlain(text); ok {
		return f, true
	}
	f := plainAnswer{}
	return f, json.Unmarshal([]byte(text), &f) == nil
}

// thoughts returns the thoughts of an answer, and reports whether they are there
// and whole.
func (f *plainAnswer) thoughts() (list []heard, ok bool) {
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
	return list, len(list) > 0
}

// questions returns the questions of an answer, and reports whether there is a
// list for them and they are whole.
func (f *plainAnswer) questions() (list []asked, ok bool) {
	list = make([]asked, 0, len(f.Questions))
	for _, q := range f.Questions {
		if strings.TrimSpace(q.Question) == "" || q.Priority == nil {
			return nil, false
		}
		list = append(list, asked{Text: q.Question, Why: q.Why, Priority: ranked(*q.Priority), Parent: q.Parent})
	}
	return list, f.Questions != nil
}

// ranks returns the new priorities of an answer.
func (f *plainAnswer) ranks() (list []ranking) {
	list = make([]ranking, 0, len(f.Ranked))
	for _, r := range f.Ranked {
		if r.Priority != nil {
			list = append(list, ranking{strings.ToLower(strings.TrimSpace(r.ID)), ranked(*r.Priority)})
		}
	}
	return list
}
