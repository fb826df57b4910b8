package main

import (
	"fmt"
	"strconv"

	"ponder"
)

// An eventFlag is a [pflag.Value]: the number of an event, which is at least so much.
type eventFlag struct {
	seq   *ponder.Seq
	least ponder.Seq
}

func (f eventFlag) String() string {
	if f.seq == nil {
		return "0" // a zero value, which pflag makes to know a default
	}
	return strconv.FormatInt(int64(*f.seq), 10)
}

func (eventFlag) Type() string { return "number" }

// Set implements [pflag.Value].
func (f eventFlag) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ponder.Seq(n) < f.least {
		return fmt.Errorf("it is no number of an event, from %d", f.least)
	}
	*f.seq = ponder.Seq(n)
	return nil
}
