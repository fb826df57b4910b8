package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ponder"
	"ponder/internal/place"
)

// A serving is a server of this machine, as other commands find it: in serve.json of the
// folder for state, or, if another server has that, in serve-PID.json.
type serving struct {
	Address  string    `json:"address"`  // to ask, such as http://127.0.0.1:8744
	PID      int       `json:"pid"`      // of the process
	Database string    `json:"database"` // its absolute path
	Since    time.Time `json:"since"`

	Host  string `json:"host"` // these tell whether the process still runs: see [place.Gone]
	Boot  string `json:"boot,omitempty"`
	Start string `json:"start,omitempty"`
}

// gone reports whether the process has certainly ended.
func (s serving) gone() bool {
	return place.Gone(place.Self(), ponder.Node{ID: "nod_serve", Host: s.Host, Boot: s.Boot, PID: s.PID, Start: s.Start})
}

// servings returns the servers whose processes run, as far as that is known.
func (a *app) servings() (list []serving) {
	dir, err := a.cfg.StateDir()
	if err != nil {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(dir, "serve*.json")) // of a bad pattern, none
	for _, file := range files {
		if s, err := readServing(file); err == nil && !s.gone() {
			list = append(list, s)
		}
	}
	return list
}

func readServing(file string) (s serving, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}

// served returns the server of the command's database, if one runs.
func (a *app) served() (serving, bool) {
	db := a.databasePath()
	for _, s := range a.servings() {
		if s.Database == db && db != "" {
			return s, true
		}
	}
	return serving{}, false
}

// databasePath returns the path of the database, the same from wherever it is named; or
// "" if there is none.
func (a *app) databasePath() string {
	db, err := filepath.Abs(a.cfg.DB)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(db); err == nil {
		return real
	}
	return db
}

// announce writes where the server is to be found, and returns what takes that away.
func (a *app) announce(address string) (undo func(), err error) {
	dir, err := a.cfg.StateDir()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "serve.json")
	if other, err := readServing(file); err == nil && !other.gone() {
		file = filepath.Join(dir, fmt.Sprintf("serve-%d.json", os.Getpid()))
	}
	self := place.Self()
	js, err := json.MarshalIndent(serving{
		Address: address, PID: self.PID, Database: a.databasePath(), Since: time.Now(), Host: self.Host, Boot: self.Boot, Start: self.Start,
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := writeWhole(file, append(js, '\n')); err != nil {
		return nil, err
	}
	return func() {
		if s, err := readServing(file); err == nil && s.PID == self.PID {
			os.Remove(file)
		}
	}, nil
}
