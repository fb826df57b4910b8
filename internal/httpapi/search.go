package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/textkit"
)

func (a *api) registerSearch() {
	search := a.newOperation(auth.Read, http.MethodGet, "/api/search", "search-threads", "Search the texts of conversations, sessions and research", tagThreads, http.StatusUnprocessableEntity)
	search.Description = "All words must be in the same text, in any order and case. The search begins with the newest thread and takes at most three seconds."
	huma.Register(a.huma, search, a.searchThreads)
	fork := a.newOperation(auth.Think, http.MethodPost, "/api/threads/{id}/fork", "fork-conversation", "Copy the beginning of a conversation, such as before a message to edit", tagThreads, http.StatusNotFound, http.StatusConflict, http.StatusBadRequest)
	fork.DefaultStatus = http.StatusCreated
	huma.Register(a.huma, fork, a.forkConversation)
}

const (
	searchTime    = 3 * time.Second
	searchThreads = 2000
	snippetBytes  = 240
)

type searchInput struct {
	Text  string `query:"q" required:"true" minLength:"1" maxLength:"500" doc:"search words"`
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"maximum number of items"`
}

// A FoundText is a text of a thread with the search words. A title has no seq.
type FoundText struct {
	Thread  ponder.ThreadID `json:"thread_id"`
	Kind    ponder.Kind     `json:"kind"`
	Title   string          `json:"title"`
	Seq     ponder.Seq      `json:"seq,omitempty"`
	Type    string          `json:"type" doc:"type of the event, or title"`
	At      time.Time       `json:"at"`
	Snippet string          `json:"snippet"`
}

type searchOutput struct {
	Body struct {
		Success  bool        `json:"success"`
		Query    string      `json:"query"`
		Count    int         `json:"hit_count"`
		Hits     []FoundText `json:"hits" nullable:"false"`
		Complete bool        `json:"complete" doc:"all threads were searched"`
	}
}

func (a *api) searchThreads(ctx context.Context, in *searchInput) (*searchOutput, error) {
	out := &searchOutput{}
	b := &out.Body
	b.Success, b.Query, b.Hits, b.Complete = true, in.Text, []FoundText{}, true
	words := strings.Fields(strings.ToLower(in.Text))
	if len(words) == 0 {
		return out, nil
	}
	infos, err := a.Store.List(ctx, ponder.Filter{Owner: auth.CallerOf(ctx).Owner, Without: ponder.KindExchange, Limit: searchThreads})
	if err != nil {
		return nil, a.apiError(err)
	}
	begun := time.Now()
	for _, info := range infos {
		if len(b.Hits) >= in.Limit || time.Since(begun) > searchTime {
			b.Complete = false
			break
		}
		hit, ok, err := a.searchThread(ctx, info, words)
		if err != nil && !isGone(err) {
			return nil, a.apiError(err)
		}
		if ok {
			b.Hits = append(b.Hits, hit)
		}
	}
	b.Count = len(b.Hits)
	return out, nil
}

// searchThread returns the first text of a thread with all words: its title, or a visible event.
func (a *api) searchThread(ctx context.Context, info ponder.Info, words []string) (FoundText, bool, error) {
	hit := FoundText{Thread: info.ID, Kind: info.Kind, Title: info.Title, Type: "title", At: info.Updated, Snippet: info.Title}
	if hasWords(info.Title, words) {
		return hit, true, nil
	}
	for ev, err := range a.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return hit, false, err
		}
		if text := searchableText(ev); text != "" && hasWords(text, words) {
			hit.Seq, hit.Type, hit.At, hit.Snippet = ev.Seq, string(ev.Body.Type()), ev.Time, snippetOf(text, words[0])
			return hit, true, nil
		}
	}
	return hit, false, nil
}

// searchableText returns the text of a visible event of the user or a model, or "".
func searchableText(ev ponder.Event) string {
	if ev.Internal {
		return ""
	}
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		return b.Content
	case ponder.AssistantMessage:
		return b.Content
	case ponder.RunStarted:
		return b.Input
	case ponder.Thought:
		return b.Content
	case ponder.Synthesis:
		return b.Content
	case ponder.Finding:
		return b.Content
	}
	return ""
}

func hasWords(text string, words []string) bool {
	text = strings.ToLower(text)
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// snippetOf returns a line of text around a word.
func snippetOf(text, word string) string {
	line := textkit.OneLine(text)
	at := max(0, strings.Index(strings.ToLower(line), word)-snippetBytes/3)
	at = min(at, len(line)) // lower case may have another length
	for at > 0 && at < len(line) && !utf8.RuneStart(line[at]) {
		at--
	}
	short := textkit.TruncateBytes(line[at:], snippetBytes)
	if at > 0 {
		short = "…" + short
	}
	return short
}

type forkConversation struct {
	ThreadPath
	OnceKey
	Body struct {
		At    int64  `json:"at" minimum:"0" doc:"copy events up to this seq; 0: all" example:"12"`
		Title string `json:"title,omitempty" maxLength:"200" doc:"title in lists; default: that of the original"`
	}
}

func (a *api) forkConversation(ctx context.Context, in *forkConversation) (*oneThread, error) {
	info, err := a.ownedConversation(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	owner, route := info.Owner, "fork "+string(info.ID)
	id := in.threadID(owner, route)
	if err := a.checkKeyUnused(ctx, in.Key, id); err != nil {
		return nil, err
	}
	title := in.Body.Title
	if strings.TrimSpace(title) == "" {
		title = info.Title
	}
	_, err = a.runOnce(ctx, onceID{owner, route, in.Key}, bodyDigest(in.Body), func() (string, error) {
		return string(id), a.Service.Fork(ctx, owner, info.ID, id, Fork{At: ponder.Seq(in.Body.At), Title: title, Paused: true})
	})
	if err != nil {
		return nil, a.apiError(err)
	}
	return a.getThread(ctx, &ThreadPath{string(id)})
}
