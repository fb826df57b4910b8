package session

import "regexp"

// WithoutFigures returns the text of an end reason without the figures of a budget.
func WithoutFigures(reason string) string {
	reason = budgetFigure.ReplaceAllString(reason, "$1 reached")
	return budgetCount.ReplaceAllString(reason, "limit of ${1}s reached")
}

var (
	budgetFigure = regexp.MustCompile(`^(time limit|budget) of \S+ reached(?:; answered from [\d,]+ thoughts?)?`)
	budgetCount  = regexp.MustCompile(`^limit of [\d,]* ?(call|token)s? reached(?:; answered from [\d,]+ thoughts?)?`)
)
