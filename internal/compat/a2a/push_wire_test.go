package a2a

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/app"
	"ponder/internal/compat/protocoltest"
)

// memoryRecords is a [RecordStore].
type memoryRecords struct {
	mu   sync.Mutex
	list map[string]app.Record
}

func (m *memoryRecords) Put(_ context.Context, kind, owner, id string, record []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list[kind+owner+"\n"+id] = app.Record{Owner: owner, ID: id, JSON: record}
	return nil
}

func (m *memoryRecords) Drop(_ context.Context, kind, owner, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.list, kind+owner+"\n"+id)
	return nil
}

func (m *memoryRecords) Records(_ context.Context, kind, owner string) (list []app.Record, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, r := range m.list {
		if strings.HasPrefix(key, kind) && (owner == "" || r.Owner == owner) {
			list = append(list, r)
		}
	}
	return list, nil
}

// TestPushReplaced checks that a client can replace the address and the token of a push notification.
func TestPushReplaced(t *testing.T) {
	posted := make(chan string, 10)
	client := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		posted <- req.URL.Host + " " + req.Header.Get("A2A-Notification-Token")
		return httptest.NewRecorder().Result(), nil
	})}
	inBubble(t, protocoltest.Options{}, func(t *testing.T, r *rig) {
		r.server.Client = client
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.server.Run(ctx) }()
		synctest.Wait()
		one := r.task(t, "SendMessage", r.message("/session minutes=1 How deep is the sea?", "", `,"configuration":{"returnImmediately":true}`))
		for _, config := range []string{`"url":"https://old.example/","token":"t1"`, `"url":"https://new.example/","token":"t2"`} {
			if out := r.call(t, protocoltest.Mine, "CreateTaskPushNotificationConfig", `{"taskId":"`+one.ID+`","id":"c",`+config+`}`); out.Error != nil {
				t.Fatalf("%+v", out.Error)
			}
			synctest.Wait()
		}
		time.Sleep(5 * time.Minute)
		if got := <-posted; got != "new.example t2" || len(posted) != 0 {
			t.Errorf("posted to %s, and %d more", got, len(posted))
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestPush checks that the end of a task is posted, with retries, and that private addresses are refused.
func TestPush(t *testing.T) {
	var mu sync.Mutex
	var posted []*http.Request
	var bodies []string
	fails := 1
	client := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		b := make([]byte, req.ContentLength)
		_, _ = req.Body.Read(b)
		posted, bodies = append(posted, req), append(bodies, string(b))
		w := httptest.NewRecorder()
		if fails--; fails >= 0 {
			w.WriteHeader(http.StatusBadGateway)
		}
		return w.Result(), nil
	})}
	inBubble(t, protocoltest.Options{}, func(t *testing.T, r *rig) {
		r.server.Client = client
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.server.Run(ctx) }()
		synctest.Wait()
		config := `,"configuration":{"returnImmediately":true,"taskPushNotificationConfig":{"url":"https://desk.example/hook","token":"t1","authentication":{"scheme":"Bearer","credentials":"c1"}}}`
		one := r.task(t, "SendMessage", r.message("/session minutes=1 How deep is the sea?", "", config))
		out := r.call(t, protocoltest.Mine, "ListTaskPushNotificationConfigs", `{"taskId":"`+one.ID+`"}`)
		if s := string(out.Result); !strings.Contains(s, "desk.example") || strings.Contains(s, "c1") {
			t.Errorf("listed %s", s)
		}
		if out := r.call(t, protocoltest.Hers, "ListTaskPushNotificationConfigs", `{"taskId":"`+one.ID+`"}`); out.Error == nil {
			t.Errorf("listed for another owner: %s", out.Result)
		}
		for _, address := range []string{"http://desk.example/", "ftp://x", "https://a:b@desk.example/", "https://", strings.Repeat("h", 3000)} {
			if out := r.call(t, protocoltest.Mine, "CreateTaskPushNotificationConfig", `{"taskId":"`+one.ID+`","url":"`+address+`"}`); out.Error == nil {
				t.Errorf("%.40s: accepted", address)
			}
		}
		time.Sleep(5 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if len(posted) != 2 || posted[1].Header.Get("A2A-Notification-Token") != "t1" || posted[1].Header.Get("Authorization") != "Bearer c1" {
			t.Fatalf("posted %d times", len(posted))
		}
		var body struct{ Task taskReply }
		if err := json.Unmarshal([]byte(bodies[1]), &body); err != nil || body.Task.ID != one.ID || body.Task.Status.State != "TASK_STATE_COMPLETED" || body.Task.answer() == "" {
			t.Errorf("posted %s: %v", bodies[1], err)
		}
		if list, _ := r.server.Records.Records(ctx, pushKind, ""); len(list) != 0 {
			t.Errorf("kept %d", len(list))
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
