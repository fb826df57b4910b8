package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
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

	file string // that describes it

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
			s.file = file
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

// tokenFile returns the file with the secret of a server, beside its description.
func tokenFile(file string) string { return strings.TrimSuffix(file, ".json") + ".token" }

// Token returns PONDER_TOKEN, or the secret that a server without tokens leaves to its own user.
func (s LocalServer) Token() string {
	if token := os.Getenv(config.ServeToken); token != "" {
		return token
	}
	text, err := fileio.ReadFile(tokenFile(s.file), 1<<10)
	if err != nil { // a server with tokens, or of another user
		return ""
	}
	return strings.TrimSpace(string(text))
}

// writeSecret writes a file that only the user can read.
func writeSecret(file, secret string) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".ponder-*") // has mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // already renamed on success
	_, err = tmp.WriteString(secret + "\n")
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
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

// writeServerFile writes the file of a server and the file of its secret, unless it is empty. It returns a
// function that removes them.
func writeServerFile(a *app.App, id, address, secret string) (undo func(), err error) {
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
	if secret != "" {
		if err := writeSecret(tokenFile(file), secret); err != nil {
			return nil, err
		}
	}
	return func() {
		if s, err := ReadLocalServer(file); err == nil && s.PID == self.PID {
			os.Remove(file)
			os.Remove(tokenFile(file))
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
