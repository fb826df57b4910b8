package httpapi

import (
	"context"
	"strings"

	"ponder"
)

// A workOn asks for work on a thread. Asking twice is as asking once, with a key or
// without.
type workOn struct {
	ThreadPath
	OnceKey
	Body *struct {
		Model string `json:"model,omitempty" maxLength:"200" doc:"go on with this provider/model"`
	}
}

// workOnThread has what is left to do on a thread done here. It is for whoever has made or
// changed a thread beside the server, on the same database.
func (a *api) workOnThread(ctx context.Context, in *workOn) (*told, error) {
	info, err := a.owned(ctx, in.ID)
	switch {
	case err != nil:
		return nil, err
	case info.Status.Ended():
		return nil, wrongState("it is %s: nothing is left to do", info.Status)
	case info.Status == ponder.Paused:
		return nil, wrongState("it is paused: resume it first")
	case info.Held && info.Kind != ponder.KindConversation: // in which a message may just have come
		return toldOf(info.ID, "it is being worked on already"), nil
	}
	model := ""
	if in.Body != nil {
		model = strings.TrimSpace(in.Body.Model)
	}
	if err := a.Service.Go(ctx, info.ID, model); err != nil {
		return nil, a.failed(inConversation(err))
	}
	return toldOf(info.ID, "it is worked on"), nil
}
