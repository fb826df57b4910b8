package compat

import (
	"context"
	"strings"

	"ponder/llm"
)

// A Whole is an answer that is sent at once.
type Whole struct {
	End
	Thinking  string
	Calls     []llm.ToolCall
	Citations []Citation
}

// Whole waits until a work has ended. A failure of the work is a [Fault], which counts as
// an answer.
func (d *Desk) Whole(ctx context.Context, w Work, answered func()) (out Whole, err error) {
	var thinking strings.Builder
	out.End, err = d.Wait(ctx, w, func(p Part) error {
		thinking.WriteString(p.Thinking())
		out.Citations = append(out.Citations, p.Citations...)
		if p.Kind == Call {
			out.Calls = append(out.Calls, *p.Call)
		}
		return nil
	}, nil, nil)
	if err != nil {
		return out, err
	}
	if fault := out.Fault(); fault != nil {
		answered()
		return out, fault
	}
	out.Thinking = strings.TrimSpace(thinking.String())
	return out, nil
}
