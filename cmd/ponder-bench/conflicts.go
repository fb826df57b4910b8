package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/knowledge/claim"
)

// A contestedQuestion question has documents that agree, conflict or mislead (RAMDocs), and lists of right
// and planted wrong answers.
type contestedQuestion struct {
	Question  string                  `json:"question"`
	Documents []struct{ Text string } `json:"documents"`
	Gold      []string                `json:"gold_answers"`
	Wrong     []string                `json:"wrong_answers"`
}

func (q contestedQuestion) documentQuotes() (list []claim.Quote) {
	for i, d := range q.Documents {
		list = append(list, claim.Quote{ID: fmt.Sprintf("e%d", i+1), Text: d.Text, Voice: fmt.Sprint(i)})
	}
	return list
}

// measureConflicts measures recall and precision of detected conflicts: among questions with wrong
// answers, those with a conflict between the right and a wrong answer; and among all reported
// conflicts, those of this kind. It uses only the documents.
func measureConflicts(context.Context) ([]figure, error) {
	path, err := requireData("claims", "ramdocs-first-100.jsonl")
	if err != nil {
		return nil, err
	}
	var asked, found, shown, right, quiet, loud float64
	var took time.Duration
	err = eachLine(path, func(line []byte) error {
		var q contestedQuestion
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		began := time.Now()
		list := claim.ConflictsAbout(q.Question, q.documentQuotes())
		took += time.Since(began)
		good := 0
		for _, c := range list {
			if q.hasConflict(c) {
				good++
			}
		}
		shown, right = shown+float64(len(list)), right+float64(good)
		if len(q.Wrong) > 0 {
			asked++
			found += float64(min(1, good))
		} else {
			quiet++
			loud += float64(min(1, len(list)))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []figure{
		{Name: "recall: conflicts shown, of questions with wrong answers", Value: found / asked},
		{Name: "precision: shown conflicts with both answers", Value: right / max(1, shown), Goal: 0.9, Minimum: true},
		{Name: "conflicts shown", Value: shown},
		{Name: "false alarms: conflicts in questions without wrong answers", Value: loud / quiet},
		{Name: "time of a question", Value: took.Seconds() * 1000 / (asked + quiet), Unit: "ms"},
	}, nil
}

// hasConflict reports whether a conflict opposes the right and a wrong answer.
func (q contestedQuestion) hasConflict(c ponder.Conflict) bool {
	side := func(answers []string) int {
		return slices.IndexFunc(c.Sides, func(s ponder.Side) bool {
			return slices.ContainsFunc(answers, func(a string) bool { return sameAnswer(s.Value, a) })
		})
	}
	gold, wrong := side(q.Gold), side(q.Wrong)
	return gold >= 0 && wrong >= 0 && gold != wrong
}

// sameAnswer reports whether one answer contains all words of the other.
func sameAnswer(a, b string) bool {
	x, y := answerWords(a), answerWords(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	return len(x) > 0 && !slices.ContainsFunc(x, func(w string) bool { return !slices.Contains(y, w) })
}

func answerWords(s string) []string {
	s = strings.NewReplacer(",", "", ".", "", "-language", "").Replace(strings.ToLower(s))
	return slices.DeleteFunc(strings.Fields(s), func(w string) bool { return w == "the" || w == "people" || w == "about" })
}
