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
	"ponder/internal/fileio"
	"ponder/internal/placement"
)

// A LocalServer describes a server of this machine to other commands. It is stored in serve.json
// in the state directory, or in serve-PID.json if another server has that file.
type LocalServer struct {
	ID       string    `json:"id"`       // unique; sent in every response
	Address  string    `json:"address"`  // URL, such as http://127.0.0.1:8744
	PID      int       `json:"pid"`      // process ID
	Database string    `json:"database"` // absolute path
	Since    time.Time `json:"since"`

	Host  string `json:"host"` // host, boot and start identify the process, see [placement.IsProcessGone]
	Boot  string `json:"boot,omitempty"`
	Start string `json:"start,omitempty"`
}

// Gone reports whether the process has certainly ended.
func (s LocalServer) Gone() bool {
	return placement.IsProcessGone(placement.CurrentNode(), ponder.Node{ID: "nod_serve", Host: s.Host, Boot: s.Boot, PID: s.PID, Start: s.Start})
}

// LocalServers returns the servers that may be running.
func LocalServers(a *app.App) (list []LocalServer) {
	dir, err := a.Settings.StateDir()
	if err != nil {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(dir, "serve*.json")) // a bad pattern gives none
	for _, file := range files {
		if s, err := ReadLocalServer(file); err == nil && !s.Gone() {
			list = append(list, s)
		}
	}
	return list
}

func ReadLocalServer(file string) (s LocalServer, err error) {
	text, err := fileio.ReadFile(file, 1<<16)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}

// serverIDHeader is the response header with the server's ID, by which a command verifies the server
// that it found.
const serverIDHeader = "Ponder-Server"

// withServerID sends the ID in every response.
func withServerID(id string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(serverIDHeader, id)
		next.ServeHTTP(w, r)
	})
}

// writeServerFile writes the file of a server and returns a function that removes it.
func writeServerFile(a *app.App, id, address string) (undo func(), err error) {
	dir, err := a.Settings.StateDir()
	if err == nil {
		err = fileio.MakeStateDir(dir)
	}
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "serve.json")
	if other, err := ReadLocalServer(file); err == nil && !other.Gone() {
		file = filepath.Join(dir, fmt.Sprintf("serve-%d.json", os.Getpid()))
	}
	self := placement.CurrentNode()
	js, err := json.MarshalIndent(LocalServer{
		ID: id, Address: address, PID: self.PID, Database: a.DatabasePath(), Since: time.Now(), Host: self.Host, Boot: self.Boot, Start: self.Start,
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := fileio.WriteState(file, append(js, '\n')); err != nil {
		return nil, err
	}
	return func() {
		if s, err := ReadLocalServer(file); err == nil && s.PID == self.PID {
			os.Remove(file)
		}
	}, nil
}

const probeTime = 2 * time.Second // for a health check

const StartTimeout = 20 * time.Second // to select sources and models for a thread

// Direct connects to servers of this machine without a proxy.
var Direct = &http.Transport{MaxIdleConnsPerHost: 2, IdleConnTimeout: idleTime}

// LocalURL returns the address of the server for this machine.
func (s LocalServer) LocalURL() string {
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

// IsResponding reports whether the server responds with the ID in its file.
func (s LocalServer) IsResponding(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.LocalURL()+"/healthz", nil)
	if err != nil || s.ID == "" {
		return false
	}
	resp, err := Direct.RoundTrip(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.Header.Get(serverIDHeader) == s.ID
}
