package openai

import (
	"context"
	"net/http"
	"strconv"

	"ponder/internal/compat"
)

// maxChoices limits n. Each choice is a separate run.
const maxChoices = 16

// choices are the jobs of a request with n.
type choices []startedChoice

type startedChoice struct {
	compat.Job
	answered func()
}

func (list choices) markAnswered() {
	for _, one := range list {
		one.answered()
	}
}

// choiceState is the state of a stream of several choices.
type choiceState struct {
	index  int
	more   bool // choices follow
	failed bool // the stream has ended
	sum    *usage
}

func (s *choiceState) choice() *choiceState { return s }

type choiceEncoder interface {
	compat.Encoder
	choice() *choiceState
}

// beginChoices starts n runs of ask, nil for one. Several choices continue no conversation.
func (a *api) beginChoices(r *http.Request, body []byte, ask compat.Request, n *int) (list choices, err error) {
	count := 1
	if n != nil {
		count = *n
	}
	switch {
	case count < 1 || count > maxChoices:
		return nil, compat.InvalidField("n", "n: expected 1 to %d", maxChoices)
	case count > 1 && ask.Model.Kind != compat.Chat:
		return nil, compat.InvalidField("n", "n: %s gives one answer; omit n, or set it to 1", ask.Model.Name)
	}
	ask.Standalone = ask.Standalone || count > 1
	key := r.Header.Get("Idempotency-Key")
	for i := range count {
		if ask.Choice = i; i > 0 {
			body = strconv.AppendInt(body[:len(body):len(body)], int64(i), 10)
			if key != "" {
				ask.Key = key + "#" + strconv.Itoa(i)
			}
		}
		job, answered, err := a.desk.BeginOnce(r, body, ask)
		if err != nil {
			return nil, err
		}
		list = append(list, startedChoice{job, answered})
	}
	return list, nil
}

// awaitChoices calls each with the answers, in order.
func (a *api) awaitChoices(ctx context.Context, list choices, each func(i int, end compat.FullAnswer)) error {
	for i, one := range list {
		end, err := a.desk.WaitAnswer(ctx, one.Job, one.answered)
		if err != nil {
			return err
		}
		each(i, end)
	}
	return nil
}

// streamChoices streams one choice after the other. It calls start before each.
func (a *api) streamChoices(r *http.Request, list choices, t choiceEncoder, start func()) error {
	if err := a.desk.AwaitStart(r.Context(), &list[0].Job, false, list[0].answered); err != nil {
		return err
	}
	state := t.choice()
	for i, one := range list {
		state.index, state.more = i, i+1 < len(list)
		start()
		if !a.desk.EncodeJob(r.Context(), one.Job, false, t) {
			return nil
		}
		if one.answered(); state.failed {
			return nil
		}
	}
	return nil
}
