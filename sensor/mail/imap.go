package mail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"ponder/internal/limitio"
	"ponder/internal/netaddr"
	"ponder/sensor"
)

// Limits of the protocol.
const (
	maxAnswer     = 32 << 20 // bytes per look
	maxCandidates = 500      // messages per folder whose date is requested
)

type server struct {
	options Options
	host    string
	address string // with the port
}

// A position is the position in a folder. UIDs are valid only for one UIDVALIDITY.
type position struct {
	Validity uint32 `json:"validity"`
	Next     uint32 `json:"next"`            // first unread UID
	Floor    int64  `json:"floor,omitempty"` // Unix seconds; older messages are not reported
}

func newServer(o Options) (*server, error) {
	port := "993"
	if o.StartTLS || o.Plain {
		port = "143"
	}
	s := &server{options: o, address: o.Server}
	host, _, err := net.SplitHostPort(o.Server)
	if err != nil {
		host = strings.Trim(o.Server, "[]")
		s.address = net.JoinHostPort(host, port)
	}
	s.host = host
	switch {
	case o.User == "":
		return nil, errors.New("mail: user missing; set the user of the account")
	case o.Password == "":
		return nil, fmt.Errorf("mail: password of %s missing; put it into the variable named by password_env", o.User)
	case o.Plain && !netaddr.IsLoopback(host):
		return nil, fmt.Errorf("mail: %s is not on this machine; use an encrypted connection", host)
	case len(o.Folders) > maxFolders:
		return nil, fmt.Errorf("mail: %d folders are too many; set at most %d", len(o.Folders), maxFolders)
	}
	if len(o.Folders) == 0 {
		s.options.Folders = []string{imapInbox}
	}
	return s, nil
}

const imapInbox = "INBOX"

func (s *server) readNew(ctx context.Context, now time.Time, c *cursor) ([]rawMessage, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, sensor.LookTimeout)
	defer cancel()
	client, err := s.connect(ctx)
	if err != nil {
		return nil, false, s.wrapError(ctx, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = client.Close() }) // unblocks pending reads
	defer stop()
	defer func() { _ = client.Close() }() // every response has arrived
	if err := s.login(client); err != nil {
		return nil, false, s.wrapError(ctx, err)
	}
	if c.Boxes == nil {
		c.Boxes = map[string]position{}
	}
	var found []rawMessage
	moved := false
	for _, folder := range s.options.Folders {
		f := folderReader{client: client, name: folder, now: now, room: sensor.MaxLook - len(found)}
		at, err := f.readFolder(c.Boxes[folder])
		if err != nil {
			return nil, false, s.wrapError(ctx, fmt.Errorf("folder %s: %w", folder, err))
		}
		moved = moved || at != c.Boxes[folder]
		c.Boxes[folder] = at
		found = append(found, f.found...)
	}
	_ = client.Logout() // the response is not needed
	return found, moved, nil
}

func (s *server) connect(ctx context.Context) (*imapclient.Client, error) {
	dial := s.options.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	conn = &limitedConn{conn, limitio.Reader{R: conn, Left: maxAnswer, Err: io.ErrUnexpectedEOF}}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	client, err := s.startSession(ctx, conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return client, nil
}

func (s *server) startSession(ctx context.Context, conn net.Conn) (*imapclient.Client, error) {
	config := &tls.Config{}
	if s.options.TLS != nil {
		config = s.options.TLS.Clone()
	}
	config.ServerName = cmp.Or(config.ServerName, s.host)
	switch {
	case s.options.StartTLS:
		return imapclient.NewStartTLS(conn, &imapclient.Options{TLSConfig: config})
	case s.options.Plain:
		client := imapclient.New(conn, nil)
		return client, client.WaitGreeting()
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	client := imapclient.New(secure, nil)
	return client, client.WaitGreeting()
}

var errRefused = errors.New("refused")

func (s *server) login(client *imapclient.Client) error {
	if client.State() != imap.ConnStateNotAuthenticated { // already authenticated
		return nil
	}
	err := client.Login(s.options.User, s.options.Password).Wait()
	var no *imap.Error
	if errors.As(err, &no) && no.Type != imap.StatusResponseTypeBye {
		return errRefused
	}
	return err
}

// wrapError returns err as one line. It hides the password, which a server may quote.
func (s *server) wrapError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("read mail of %s: %w", s.address, ctx.Err())
	case errors.Is(err, errRefused):
		return fmt.Errorf("mail: %s rejects the password of %s; correct the variable named by password_env", s.host, s.options.User)
	}
	said := strings.ReplaceAll(err.Error(), s.options.Password, "(password)")
	return errors.New(sensor.Line("read mail of "+s.address+": "+said, 300))
}

type folderReader struct {
	client *imapclient.Client
	name   string
	now    time.Time
	room   int // remaining messages
	found  []rawMessage
}

// readFolder reads new messages and returns the next position.
func (f *folderReader) readFolder(at position) (position, error) {
	data, err := f.client.Select(f.name, &imap.SelectOptions{ReadOnly: true}).Wait()
	if err != nil {
		return at, err
	}
	if at.Validity != data.UIDValidity || at.Next == 0 {
		at = position{Validity: data.UIDValidity, Next: 1, Floor: f.now.Add(-firstLook).Unix()}
	}
	end := uint32(data.UIDNext)
	if f.room <= 0 || end != 0 && at.Next >= end {
		return at, nil
	}
	uids, err := f.newUIDs(at)
	if err != nil {
		return at, err
	}
	next := end // if all are read
	if len(uids) > 0 {
		next = max(end, uint32(uids[len(uids)-1])+1)
	}
	if len(uids) > maxCandidates {
		uids = uids[:maxCandidates]
		next = uint32(uids[len(uids)-1]) + 1
	}
	wanted, err := f.arrivedSince(uids, earliestTime(f.now, at.Floor))
	if err != nil {
		return at, err
	}
	if len(wanted) > f.room {
		wanted = wanted[:f.room]
		next = uint32(wanted[len(wanted)-1].UID) + 1
	}
	if at.Next = max(at.Next, next); len(wanted) == 0 {
		return at, nil
	}
	return at, f.fetchMessages(wanted, at.Validity)
}

// newUIDs returns the UIDs of new messages in order, at most one more than maxCandidates.
func (f *folderReader) newUIDs(at position) ([]imap.UID, error) {
	found, err := f.client.UIDSearch(&imap.SearchCriteria{
		UID:   []imap.UIDSet{{{Start: imap.UID(at.Next), Stop: 0}}},
		Since: earliestTime(f.now, at.Floor).Add(-24 * time.Hour), // servers compare days in their own zone
	}, nil).Wait()
	if err != nil {
		return nil, err
	}
	set, _ := found.All.(imap.UIDSet) // other types mean no result
	ranges := slices.Clone(set)
	slices.SortStableFunc(ranges, func(a, b imap.UIDRange) int { return cmp.Compare(a.Start, b.Start) })
	var uids []imap.UID
	for _, r := range ranges {
		for uid := uint64(max(r.Start, imap.UID(at.Next))); uid <= uint64(r.Stop) && len(uids) <= maxCandidates; uid++ {
			uids = append(uids, imap.UID(uid))
		}
	}
	return uids, nil
}

func (f *folderReader) arrivedSince(uids []imap.UID, since time.Time) ([]*imapclient.FetchMessageBuffer, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	all, err := f.client.Fetch(imap.UIDSetNum(uids...), &imap.FetchOptions{UID: true, Flags: true, InternalDate: true}).Collect()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(m *imapclient.FetchMessageBuffer) bool {
		return m.UID == 0 || m.InternalDate.Before(since)
	})
	slices.SortFunc(all, func(a, b *imapclient.FetchMessageBuffer) int { return cmp.Compare(a.UID, b.UID) })
	return all, nil
}

// fetchMessages reads the start of the messages.
func (f *folderReader) fetchMessages(wanted []*imapclient.FetchMessageBuffer, validity uint32) error {
	var uids imap.UIDSet
	about := map[imap.UID]*imapclient.FetchMessageBuffer{}
	for _, m := range wanted {
		uids.AddNum(m.UID)
		about[m.UID] = m
	}
	parts := []*imap.FetchItemBodySection{
		{Specifier: imap.PartSpecifierHeader, Peek: true, Partial: &imap.SectionPartial{Size: maxHead}},
		{Specifier: imap.PartSpecifierText, Peek: true, Partial: &imap.SectionPartial{Size: maxBody}},
	}
	messages, err := f.client.Fetch(uids, &imap.FetchOptions{UID: true, BodySection: parts}).Collect()
	if err != nil {
		return err
	}
	slices.SortFunc(messages, func(a, b *imapclient.FetchMessageBuffer) int { return cmp.Compare(a.UID, b.UID) })
	for _, m := range messages {
		meta := about[m.UID]
		if meta == nil {
			continue
		}
		r := rawMessage{
			key: fmt.Sprintf("imap:%s/%d.%d", f.name, validity, m.UID), folder: f.name,
			date: meta.InternalDate, flagged: slices.Contains(meta.Flags, imap.FlagFlagged),
			head: bodySection(m, imap.PartSpecifierHeader, maxHead), body: bodySection(m, imap.PartSpecifierText, maxBody),
		}
		r.source = r.key
		f.found = append(f.found, r)
	}
	return nil
}

// bodySection returns a part of a message, truncated to maxBytes.
func bodySection(m *imapclient.FetchMessageBuffer, part imap.PartSpecifier, maxBytes int) []byte {
	for _, s := range m.BodySection {
		if s.Section != nil && s.Section.Specifier == part && len(s.Section.Part) == 0 {
			return bytes.Clone(s.Bytes[:min(len(s.Bytes), maxBytes)])
		}
	}
	return nil
}

// A limitedConn limits the bytes to read.
type limitedConn struct {
	net.Conn
	in limitio.Reader
}

func (c *limitedConn) Read(p []byte) (int, error) { return c.in.Read(p) }
