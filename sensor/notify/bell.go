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
		info, err := os.Stat(terminal)
		if err == nil && info.Mode()&fs.ModeCharDevice == 0 {
			err = fmt.Errorf("%s is not a terminal", terminal)
		}
		if err != nil {
			return fmt.Errorf("ring the bell: %w", err)
		}
		f, err := os.OpenFile(terminal, os.O_WRONLY|noControl, 0)
		if err != nil {
			return fmt.Errorf("ring the bell: %w", err)
		}
		_, err = f.WriteString("\a")
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return fmt.Errorf("ring the bell: %w", err)
		}
		return nil
	}}
}
