// Package searchtest is a search server that behaves like Exa, Brave, Tavily and
// SearXNG, for tests and for trying things without a network or a key. It finds
// pages it is given and answers in each API's published form; told to, it
// misbehaves as servers do.
//
// A [Server] is an http.Handler. Each API is below a path of its own, /exa, /brave,
// /tavily and /searxng, and at the root as well, as they are when they are by
// themselves. Pages without an address of their own are served below /pages/, so
// that what was found can be read.
//
// server.go takes requests, shapes.go has the forms, faults.go what can go wrong,
// and pages.go reads and ranks pages.
package searchtest

import "time"

// The APIs.
const (
	Exa     = "exa"
	Brave   = "brave"
	Tavily  = "tavily"
	SearXNG = "searxng"
)

// Options say how a server behaves. The zero value behaves well.
type Options struct {
	// Keys are the keys that APIs ask for. One without takes any, but not none.
	Keys map[string]string

	// Faults are what goes wrong with the first, the second and each further
	// request of an API. Those after the last are answered. A query that has
	// "fault:" and the name of one in it goes wrong, too.
	Faults map[string][]Fault
}

// A Fault is a way to misbehave.
type Fault string

// The faults.
const (
	None     Fault = ""
	Limited  Fault = "429"      // too many requests, come back in a second
	Error    Fault = "500"      // and a page instead of JSON
	Busy     Fault = "503"      // without a word
	Denied   Fault = "401"      // and the key in the message
	Hang     Fault = "hang"     // until the request is given up
	Garbage  Fault = "garbage"  // not JSON
	Half     Fault = "half"     // the connection ends in the middle
	Huge     Fault = "huge"     // an answer without end
	Redirect Fault = "redirect" // to another host
	Odd      Fault = "odd"      // JSON of other types
	Nothing  Fault = "nothing"  // no results
	Hostile  Fault = "hostile"  // results that are out to harm
)

// A Page is what can be found.
type Page struct {
	URL       string // its address; "" for one that the server gives it
	Name      string // below /pages/
	Title     string
	Author    string
	Text      string
	Published time.Time
	Raw       []byte // what is served below /pages/; Text if nil
	Type      string // media type of Raw
}

// A Request is one that a server got.
type Request struct {
	API, Method, Path, Query string
	Key                      string
	Body                     string // of a POST, or the parameters
	At                       time.Time
}
