package llm

import "time"

// limitError returns an error if a model is rate-limited now, for requests with ReportLimit.
func (g *Gate) limitError(model string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, a := g.breakers[model].checkAdmission(time.Now())
	if a.refusal != nil || a.suspect || a.wait <= 0 {
		return nil
	}
	return &Error{Class: RateLimited, Model: model, Message: "not sent: the rate limit of the model is still reached", RetryAfter: a.wait, Unsent: true}
}
