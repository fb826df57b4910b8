package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/placement"
)

// A serving is a server of this machine, as other commands find it: in serve.json of the
// folder for state, or, if another server has that, in serve-PID.json.
type LocalServer struct {
	ID       string    `json:"id"`       // a name of its own, which it says in every answer
	Address  string    `json:"address"`  // to ask, such as http://127.0.0.1:8744
	PID      int       `json:"pid"`      // of the process
	Database string    `json:"database"` // its absolute path
	Since    time.Time `json:"since"`

	Host  string `json:"host"` // these tell whether the process still runs: see [placement.Gone]
	Boot  string `json:"boot,omitempty"`
	Start string `json:"start,omitempty"`
}

// gone reports whether the process has certainly ended.
func (s LocalServer) Gone() bool {
	return placement.Gone(placement.Self(), ponder.Node{ID: "nod_serve", Host: s.Host, Boot: s.Boot, PID: s.PID, Start: s.Start})
}

// servings returns the servers whose processes run, as far as that is known.
func LocalServers(a *app.App) (list []LocalServer) {
	dir, err := a.Settings.StateDir()
	if err != nil {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(dir, "serve*.json")) // of a bad pattern, none
	for _, file := range files {
		if s, err := ReadServing(file); err == nil && !s.Gone() {
			list = append(list, s)
		}
	}
	return list
}

func ReadServing(file string) (s LocalServer, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}

// serverHeader is the header in which a server says its name, so that a command which
// finds its file is sure whom it asks.
const serverHeader = "Ponder-Server"

// named has a server say its name in every answer.
func named(id string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(serverHeader, id)
		next.ServeHTTP(w, r)
	})
}

// announce writes where the server of a name is to be found, and returns what takes that
// away.
func announce(a *app.App, id, address string) (undo func(), err error) {
	dir, err := a.Settings.StateDir()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "serve.json")
	if other, err := ReadServing(file); err == nil && !other.Gone() {
		file = filepath.Join(dir, fmt.Sprintf("serve-%d.json", os.Getpid()))
	}
	self := placement.Self()
	js, err := json.MarshalIndent(LocalServer{
		ID: id, Address: address, PID: self.PID, Database: a.DatabasePath(), Since: time.Now(), Host: self.Host, Boot: self.Boot, Start: self.Start,
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := app.WriteWhole(file, append(js, '\n')); err != nil {
		return nil, err
	}
	return func() {
		if s, err := ReadServing(file); err == nil && s.PID == self.PID {
			os.Remove(file)
		}
	}, nil
}

const probeTime = 2 * time.Second // to say that it is there

const GiveTime = 20 * time.Second // to find what a thread is thought about with

// direct leads to servers of this machine, past any proxy.
var Direct = &http.Transport{MaxIdleConnsPerHost: 2, IdleConnTimeout: idleTime}

// reach returns the address that the server is reached by from this machine.
func (s LocalServer) Reach() string {
	u, err := url.Parse(s.Address)
	if err != nil {
		return s.Address
	}
	at, err := netip.ParseAddrPort(u.Host)
	if err != nil || !at.Addr().IsUnspecified() {
		return s.Address
	}
	u.Host = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
	return u.String()
}

// answers reports whether the server is there, and says that it is this one: by the name
// that it has put down in its file.
func (s LocalServer) Answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Reach()+"/healthz", nil)
	if err != nil || s.ID == "" {
		return false
	}
	resp, err := Direct.RoundTrip(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.Header.Get(serverHeader) == s.ID
}
