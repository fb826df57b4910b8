// Ponder thinks about hard questions for as long as it is given.
//
// This package is the program: main.go and run.go start it, root.go lists the
// commands, and each command has a file of its own. app.go opens what a command
// needs, models.go and mind.go put the parts of Ponder together; nothing else
// does. show.go and its neighbours show a session that goes on, report.go one
// that has ended. failure.go says what becomes of an error: one line, and an exit
// code.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
