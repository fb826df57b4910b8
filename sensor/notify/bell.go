package notify

import (
	"context"
	"fmt"
	"io/fs"
	"os"
)

// Bell returns the channel "bell", which rings the terminal with this path.
func Bell(terminal string) Channel {
	return Channel{Name: "bell", Send: func(context.Context, Message) error {
		f, err := os.OpenFile(terminal, os.O_WRONLY|bellFlags, 0)
		if err != nil {
			return fmt.Errorf("ring the bell: %w", err)
		}
		info, err := f.Stat()
		switch {
		case err != nil:
		case info.Mode()&fs.ModeCharDevice == 0:
			err = fmt.Errorf("%s is not a terminal", terminal)
		default:
			_, err = f.WriteString("\a")
		}
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return fmt.Errorf("ring the bell: %w", err)
		}
		return nil
	}}
}
