package httpapi

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/auth"
	"ponder/mode/session"
)

// maxSamples is the number of earlier runs behind an estimate.
const maxSamples = 20

type estimateInput struct {
	Body struct {
		Kind  ponder.Kind `json:"kind" enum:"session,research" doc:"kind of the work" example:"session"`
		Model string      `json:"model_id,omitempty" maxLength:"200" doc:"provider/model; default: any"`
		Limits
	}
}

// A Range is where half of the earlier runs lie.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

type estimateOutput struct {
	Body struct {
		Success bool   `json:"success"`
		Samples int    `json:"samples" doc:"earlier runs behind the estimate"`
		Calls   *Range `json:"calls,omitempty"`
		Tokens  *Range `json:"tokens,omitempty"`
		USD     *Range `json:"cost_usd,omitempty" doc:"absent without priced runs"`
		Note    string `json:"note" doc:"the estimate in words"`
	}
}

// A pace is the use of an earlier run in a second of thinking.
type pace struct{ calls, tokens, usd float64 }

const defaultMinutes = 5

// estimateCost scales earlier runs of the same kind to the requested time, within the requested limits.
func (a *api) estimateCost(ctx context.Context, in *estimateInput) (*estimateOutput, error) {
	b := in.Body
	paces, priced, err := a.earlierPaces(ctx, b.Kind, b.Model)
	if err != nil {
		return nil, err
	}
	out := &estimateOutput{}
	out.Body.Success, out.Body.Samples = true, len(paces)
	if len(paces) == 0 {
		out.Body.Note = "There is no earlier work like this on this server. Your limits bound the cost."
		return out, nil
	}
	seconds := time.Duration(defaultMinutes * float64(time.Minute)).Seconds()
	if b.Minutes != nil {
		seconds = *b.Minutes * 60
	}
	usd := math.Inf(1)
	if b.USD != nil {
		usd = *b.USD
	}
	out.Body.Calls = rangeOf(paces, func(p pace) float64 { return math.Ceil(capped(p.calls*seconds, float64(b.Calls))) })
	out.Body.Tokens = rangeOf(paces, func(p pace) float64 { return math.Ceil(capped(p.tokens*seconds, float64(b.Tokens))) })
	out.Body.Note = fmt.Sprintf("Half of %d earlier runs used %.0f to %.0f tokens in this time.", len(paces), out.Body.Tokens.Low, out.Body.Tokens.High)
	if priced {
		out.Body.USD = rangeOf(paces, func(p pace) float64 { return min(p.usd*seconds, usd) })
		out.Body.Note = fmt.Sprintf("Half of %d earlier runs cost $%.4f to $%.4f in this time.", len(paces), out.Body.USD.Low, out.Body.USD.High)
	}
	return out, nil
}

// capped returns n, or most if that is set and lower.
func capped(n, most float64) float64 {
	if most > 0 {
		return min(n, most)
	}
	return n
}

// rangeOf returns the middle half of the values.
func rangeOf(list []pace, value func(pace) float64) *Range {
	values := make([]float64, len(list))
	for i, p := range list {
		values[i] = value(p)
	}
	slices.Sort(values)
	n := len(values)
	return &Range{values[n/4], values[min(n-1, n*3/4)]}
}

// earlierPaces returns the paces of the newest ended runs of the caller, and whether all are priced.
func (a *api) earlierPaces(ctx context.Context, kind ponder.Kind, model string) (list []pace, priced bool, err error) {
	infos, err := a.Store.List(ctx, ponder.Filter{Kind: kind, Owner: auth.CallerOf(ctx).Owner, Limit: 5 * maxSamples})
	if err != nil {
		return nil, false, a.apiError(err)
	}
	priced = true
	for _, info := range infos {
		if len(list) == maxSamples {
			break
		}
		if !info.Status.Ended() || model != "" && !strings.Contains(info.Model, model) {
			continue
		}
		err := a.withCalibrated(ctx, info, func(v session.View) {
			s := v.Session
			if u, seconds := s.Usage, thinkingSeconds(s); u.Calls > 0 && seconds > 0 {
				list = append(list, pace{float64(u.Calls) / seconds, float64(u.Total) / seconds, u.USD / seconds})
				priced = priced && u.Unpriced == 0
			}
		})
		if err != nil && !isMissing(err) {
			return nil, false, err
		}
	}
	return list, priced && len(list) > 0, nil
}

// thinkingSeconds returns the thinking time, or the time until the end of a session that was imported.
func thinkingSeconds(s session.Session) float64 {
	if s.Progress.Elapsed > 0 || s.Started == nil || s.Completed == nil {
		return s.Progress.Elapsed
	}
	return s.Completed.Sub(*s.Started).Seconds()
}
