package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ponder/internal/fileio"
	"ponder/sensor"
)

// Limits of a Maildir.
const (
	maxEntries = 300_000 // per folder
	maxKnown   = 3000    // read names in the cursor
)

// A maildir is a Maildir. File names are stable up to the colon before the flags. The file time is
// the arrival.
type maildir struct{ dir string }

type file struct {
	path string // relative to the Maildir
	hash string // of name
	name string // without flags
	time time.Time
}

func (m maildir) readNew(ctx context.Context, now time.Time, c *cursor) ([]rawMessage, bool, error) {
	root, err := os.OpenRoot(m.dir)
	if err != nil {
		return nil, false, fmt.Errorf("open the folder of mail: %w", err)
	}
	defer root.Close()
	if c.Floor == 0 {
		c.Floor = now.Add(-firstLook).Unix()
	}
	files, err := listMessages(ctx, root, earliestTime(now, c.Floor))
	if err != nil {
		return nil, false, fmt.Errorf("read mail of %s: %w", m.dir, err)
	}
	known := make(map[string]bool, len(c.Known))
	for _, k := range c.Known {
		known[k] = true
	}
	var found []rawMessage
	for _, f := range files {
		if known[f.hash] || len(found) == sensor.MaxLook {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, false, fmt.Errorf("read mail of %s: %w", m.dir, err)
		}
		r, err := readMessage(root, f)
		if errors.Is(err, fs.ErrNotExist) { // moved from new to cur; the next look finds it
			continue
		}
		if err != nil { // unreadable: report once
			r = rawMessage{key: "maildir:" + f.name, date: f.time, head: []byte("Subject: (mail that cannot be read)\r\n")}
		}
		r.source = filepath.Join(m.dir, f.path)
		known[f.hash] = true
		found = append(found, r)
	}
	if len(found) > 0 {
		c.storeKnown(files, known)
	}
	return found, len(found) > 0, nil
}

// storeKnown stores the most recent read names.
func (c *cursor) storeKnown(files []file, known map[string]bool) {
	c.Known = nil
	for i, f := range slices.Backward(files) {
		if len(c.Known) == maxKnown {
			c.Floor = max(c.Floor, files[i].time.Unix()+1)
			break
		}
		if known[f.hash] {
			c.Known = append(c.Known, f.hash)
		}
	}
	slices.Sort(c.Known)
}

// listMessages returns the messages since a time, oldest first.
func listMessages(ctx context.Context, root *os.Root, since time.Time) ([]file, error) {
	var files []file
	folders := 0
	for _, folder := range []string{"new", "cur"} {
		d, err := root.Open(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		folders++
		files, err = listFolder(ctx, d, folder, since, files)
		if err = errors.Join(err, d.Close()); err != nil {
			return nil, err
		}
	}
	if folders == 0 {
		return nil, errors.New("no folder new or cur; set the path of a Maildir")
	}
	slices.SortStableFunc(files, func(a, b file) int { return cmp.Or(a.time.Compare(b.time), strings.Compare(a.name, b.name)) })
	return slices.CompactFunc(files, func(a, b file) bool { return a.name == b.name }), nil
}

func listFolder(ctx context.Context, d *os.File, folder string, since time.Time, files []file) ([]file, error) {
	for n := 0; n < maxEntries; {
		entries, err := d.ReadDir(1000)
		for _, e := range entries {
			if n++; !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			info, err := e.Info()
			if err != nil || info.ModTime().Before(since) {
				continue // gone, or too old
			}
			name, _, _ := strings.Cut(e.Name(), ":")
			files = append(files, file{path: folder + "/" + e.Name(), name: name, hash: shortHash(name), time: info.ModTime()})
		}
		switch {
		case errors.Is(err, io.EOF):
			return files, nil
		case err != nil:
			return files, err
		case ctx.Err() != nil:
			return files, ctx.Err()
		}
	}
	return files, nil
}

// readMessage reads the start of a message.
func readMessage(root *os.Root, f file) (rawMessage, error) {
	r := rawMessage{key: "maildir:" + f.name, date: f.time}
	_, flags, _ := strings.Cut(f.path, ":2,")
	r.flagged = strings.Contains(flags, "F")
	in, err := fileio.OpenIn(root, f.path)
	if err != nil {
		return r, err
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, maxHead+maxBody))
	r.head, r.body = splitHeader(b)
	return r, err
}

// splitHeader splits a message at the end of its header.
func splitHeader(b []byte) (head, body []byte) {
	for at := 0; at < len(b); {
		end := at
		for end < len(b) && b[end] != '\n' {
			end++
		}
		end = min(end+1, len(b))
		if line := strings.TrimRight(string(b[at:end]), "\r\n"); line == "" {
			return b[:min(at, maxHead)], b[end:min(len(b), end+maxBody)]
		}
		at = end
	}
	return b[:min(len(b), maxHead)], nil
}
