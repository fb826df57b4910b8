package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/textkit"
	"ponder/llm"
)

type entry struct {
	item        map[string]any
	turn        ponder.Seq      // of its or the answered message; zero: added
	answer      bool            // an output item
	otherThread ponder.ThreadID // thread of its response, if another
}

func (e entry) id() string {
	id, _ := e.item["id"].(string)
	return id
}

// listEntries returns the items in order, to the turn of until; zero: all.
func (a *api) listEntries(ctx context.Context, owner string, info ponder.Info, until ponder.Seq) (list []entry, err error) {
	notes, gone, err := a.readRecords(ctx, info.ID)
	if err != nil {
		return nil, err
	}
	for ev, err := range a.desk.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", info.ID, err)
		}
		if until > 0 && ev.Seq > until {
			break
		}
		var more []entry
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			more, err = a.turnEntries(ctx, owner, info, ev, notes)
		case ponder.Observation:
			more, err = a.noteEntries(ctx, owner, b)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return slices.DeleteFunc(list, func(e entry) bool { return gone[e.id()] }), nil
}

// readRecords returns notes by cause, and removed items.
func (a *api) readRecords(ctx context.Context, id ponder.ThreadID) (notes map[string]requestRecord, gone map[string]bool, err error) {
	notes, gone = make(map[string]requestRecord), make(map[string]bool)
	for ev, err := range a.desk.Store.Events(ctx, id, 0) {
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", id, err)
		}
		b, ok := ev.Body.(ponder.Observation)
		if !ok {
			continue
		}
		switch b.Sensor {
		case recordSensor:
			var n requestRecord
			if json.Unmarshal([]byte(b.Content), &n) == nil {
				notes[ev.Cause] = n
			}
		case itemGone:
			var item string
			if json.Unmarshal([]byte(b.Content), &item) == nil {
				gone[item] = true
			}
		}
	}
	return notes, gone, nil
}

// turnEntries returns a message and its output.
func (a *api) turnEntries(ctx context.Context, owner string, info ponder.Info, ev ponder.Event, notes map[string]requestRecord) ([]entry, error) {
	j := job{owner: owner, work: compat.Job{Thread: info.ID, Kind: compat.Chat, After: ev.Seq - 1, Message: ev.ID, Started: ev.Time}}
	b, _ := ev.Body.(ponder.UserMessage)
	input, err := json.Marshal(b.Content)
	if err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}
	j.record = requestRecord{Input: input, Store: true}
	if n, ok := notes[j.noteCause("note")]; ok && !ev.Erased {
		j.record = n
	}
	list, err := a.itemsOf(ctx, j)
	for i := range list {
		list[i].turn = ev.Seq
	}
	if ev.Erased {
		list = slices.DeleteFunc(list, func(e entry) bool { return !e.answer })
	}
	return list, err
}

// noteEntries returns the items of an observation.
func (a *api) noteEntries(ctx context.Context, owner string, b ponder.Observation) (list []entry, err error) {
	switch b.Sensor {
	case itemsNoted:
		var items []map[string]any
		if json.Unmarshal([]byte(b.Content), &items) != nil {
			return nil, nil //nolint:nilerr // it was erased
		}
		for _, it := range items {
			list = append(list, entry{item: it})
		}
	case workNoted:
		var id string
		if json.Unmarshal([]byte(b.Content), &id) != nil {
			return nil, nil //nolint:nilerr // likewise
		}
		j, err := a.findJob(ctx, owner, id)
		if err != nil {
			if a.isMissing(err) {
				return nil, nil
			}
			return nil, err
		}
		list, err = a.itemsOf(ctx, j)
		for i := range list {
			list[i].otherThread = j.work.Thread
		}
		return list, err
	}
	return list, nil
}

// itemsOf returns the input and, after the end, the output.
func (a *api) itemsOf(ctx context.Context, j job) (list []entry, err error) {
	for _, it := range inputItems(j) {
		list = append(list, entry{item: it})
	}
	res, err := a.currentResponse(ctx, j)
	if err != nil {
		return nil, err
	}
	if res.Status == inProgress || res.Status == queued {
		return list, nil
	}
	js, err := json.Marshal(res.Output)
	if err != nil {
		return nil, fmt.Errorf("read an answer: %w", err)
	}
	var output []map[string]any
	if err := json.Unmarshal(js, &output); err != nil {
		return nil, fmt.Errorf("read an answer: %w", err)
	}
	for _, it := range output {
		list = append(list, entry{item: it, answer: true})
	}
	return list, nil
}

// messagesOf parses items that follow before.
func messagesOf(js json.RawMessage, before []llm.Message) ([]llm.Message, error) {
	items, err := itemsOf(js)
	if err != nil {
		return nil, err
	}
	r := reader{ask: &compat.Request{Messages: before}, names: make(map[string]string)}
	for i, it := range items {
		if err := r.addItem(fmt.Sprintf("items[%d]", i), it); err != nil {
			return nil, err
		}
	}
	return r.ask.Messages, nil
}

// prependItems prepends items. It skips invalid ones, such as results of removed calls.
func (r *reader) prependItems(list []entry) error {
	earlier := reader{ask: &compat.Request{}, names: make(map[string]string)}
	for _, e := range list {
		js, err := json.Marshal(e.item)
		if err != nil {
			return fmt.Errorf("read an item: %w", err)
		}
		var it item
		if json.Unmarshal(js, &it) == nil {
			_ = earlier.addItem("item", it)
		}
	}
	r.ask.Messages = append(earlier.ask.Messages, r.ask.Messages...)
	r.ask.System = strings.TrimSpace(r.ask.System + "\n\n" + earlier.ask.System)
	r.mergeTools(earlier)
	return nil
}

func (a *api) setConversation(ctx context.Context, r *reader, id string) error {
	ask := r.ask
	info, err := a.findConversation(ctx, ask.Owner, id)
	if err != nil {
		return err
	}
	list, err := a.listEntries(ctx, ask.Owner, info, 0)
	if err != nil {
		return err
	}
	ask.Thread = info.ID
	return r.prependItems(list)
}

func replyPage(w http.ResponseWriter, r *http.Request, list []map[string]any) error {
	list, limit, err := selectPage(r.URL.Query(), list)
	if err != nil {
		return err
	}
	return compat.Reply(w, http.StatusOK, pageOf(list, limit))
}

func (a *api) listItems(w http.ResponseWriter, r *http.Request, info ponder.Info) error {
	entries, err := a.listEntries(r.Context(), info.Owner, info, 0)
	if err != nil {
		return err
	}
	list := make([]map[string]any, 0, len(entries))
	for _, e := range entries {
		list = append(list, e.item)
	}
	return replyPage(w, r, list)
}

func (a *api) addItems(w http.ResponseWriter, r *http.Request, info ponder.Info) error {
	var in conversationInput
	if err := in.readInput(r); err != nil {
		return err
	}
	if len(in.Items) == 0 {
		return compat.InvalidField("items", "items: expected at least one")
	}
	if err := a.desk.StoreRecord(r.Context(), info.ID, ponder.NewID("items"), itemsNoted, in.Items); err != nil {
		return err
	}
	return compat.Reply(w, http.StatusOK, pageOf(in.Items, len(in.Items)))
}

func (a *api) findEntry(r *http.Request, owner string) (ponder.Info, entry, error) {
	info, err := a.findConversation(r.Context(), owner, r.PathValue("id"))
	if err != nil {
		return info, entry{}, err
	}
	list, err := a.listEntries(r.Context(), owner, info, 0)
	if err != nil {
		return info, entry{}, err
	}
	i := slices.IndexFunc(list, func(e entry) bool { return e.id() == r.PathValue("item") })
	if i < 0 {
		return info, entry{}, &compat.APIError{Status: http.StatusNotFound, Detail: "Item with id '" + textkit.Prefix(r.PathValue("item"), maxQuoted) + "' not found."}
	}
	return info, list[i], nil
}

func (a *api) getItem(w http.ResponseWriter, r *http.Request, owner string) error {
	_, e, err := a.findEntry(r, owner)
	if err != nil {
		return err
	}
	return compat.Reply(w, http.StatusOK, e.item)
}

// removeItem hides an item and erases its text.
func (a *api) removeItem(w http.ResponseWriter, r *http.Request, owner string) error {
	info, e, err := a.findEntry(r, owner)
	if err != nil {
		return err
	}
	if err := a.desk.StoreRecord(r.Context(), info.ID, "gone-"+e.id(), itemGone, e.id()); err != nil {
		return err
	}
	if e.turn > 0 && e.item["type"] == "message" {
		if err := a.eraseEntry(r.Context(), info.ID, e); err != nil {
			return err
		}
	}
	return a.replyConversation(w, r, info.ID)
}

func (a *api) eraseEntry(ctx context.Context, id ponder.ThreadID, e entry) error {
	seqs := []ponder.Seq{}
	if !e.answer {
		seqs = append(seqs, e.turn)
	}
	for ev, err := range a.desk.Store.Events(ctx, id, e.turn) {
		if err != nil {
			return fmt.Errorf("read %s: %w", id, err)
		}
		if _, next := ev.Body.(ponder.UserMessage); next {
			break
		}
		switch b := ev.Body.(type) {
		case ponder.AssistantMessage, ponder.CallFinished:
			if e.answer {
				seqs = append(seqs, ev.Seq)
			}
		case ponder.Observation:
			if !e.answer && b.Sensor == recordSensor && ev.Cause == "note-"+prefix+strings.TrimPrefix(string(id), "thr_")+fmt.Sprintf("-%d", e.turn) {
				seqs = append(seqs, ev.Seq)
			}
		}
	}
	if err := a.desk.Store.Erase(ctx, id, seqs...); err != nil {
		return fmt.Errorf("erase an item: %w", err)
	}
	return nil
}
