package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/app"

	"ponder"
)

// An unpaidService service has no budget to continue work.
type unpaidService struct{ *testServer }

func (unpaidService) Resume(context.Context, ponder.ThreadID, string, func() error) error {
	return app.Errorf(app.OverBudget, "", "nobody pays for that")
}

func (unpaidService) Used(_ context.Context, owner string, _ bool, _ ponder.GroupBy, _ time.Time) ([]ponder.UsageRow, error) {
	return []ponder.UsageRow{{Key: "slow", Calls: 1, Money: 2}, {Key: "embed", Calls: 3, Money: 4}, {Key: "slow", Calls: 5, Money: 6}}, nil
}

// A refused resume sends no command.
func TestResumeIsPaidForFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		id := h.startSession(1)
		path := "/api/thinking/" + string(id)
		if code := h.postJSON("", path+"/pause", "", nil); code != http.StatusOK {
			t.Fatal(code)
		}
		synctest.Wait()
		before, err := h.store.Thread(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		h.testAPI = &testAPI{h.store, New(t.Context(), Config{Store: h.store, Service: unpaidService{h}, Requests: &memoryRequests{}, Guard: guardOf(), Logger: slog.New(slog.DiscardHandler)})}
		if code := h.postJSON("", path+"/resume", "", nil); code != http.StatusPaymentRequired {
			t.Errorf("resumed: %d", code)
		}
		after, err := h.store.Thread(t.Context(), id)
		if err != nil || after.Head != before.Head || after.Status != ponder.Paused {
			t.Errorf("it is %s with %d events, and was with %d: %v", after.Status, after.Head, before.Head, err)
		}
	})
}

// The Accountant reports the usage, one row for each key.
func TestUsageIsThatOfTheOwner(t *testing.T) {
	var keys []string
	d := &testAPI{nil, New(t.Context(), Config{Store: unlistedStore{}, Service: unpaidService{}, Guard: guardOf(), Logger: slog.New(slog.DiscardHandler)})}
	for _, r := range d.readUsage(t, "mine", "by=role").Rows {
		keys = append(keys, r.Key)
		if r.Key == "slow" && (r.Calls != 6 || r.Micros != 8) {
			t.Errorf("%+v", r)
		}
	}
	if got := strings.Join(keys, " "); got != "embed slow" {
		t.Error(got)
	}
}

// unlistedStore rejects List.
type unlistedStore struct{ ponder.Store }

func (unlistedStore) List(context.Context, ponder.Filter) ([]ponder.Info, error) {
	return nil, errors.New("all threads are listed")
}
