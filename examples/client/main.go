// Command client starts a session of a running "ponder serve" and prints its thoughts and
// its answer: go run ./examples/client "Why do large projects run late?"
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"ponder"
	"ponder/client"
)

func main() {
	ctx := context.Background()
	c := client.New("http://127.0.0.1:8744", os.Getenv("PONDER_TOKEN"))
	s, err := c.Start(ctx, client.Question{Question: strings.Join(os.Args[1:], " "), Minutes: 1})
	if err != nil {
		log.Fatal(err)
	}
	for u, err := range c.Watch(ctx, s.ID, 0) {
		if err != nil {
			log.Fatal(err)
		}
		if u.Event == nil {
			continue
		}
		switch b := u.Event.Body.(type) {
		case ponder.Thought:
			fmt.Println("-", b.Content)
		case ponder.RunFinished:
			fmt.Println(b.Answer)
		}
	}
}
