package auth

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
)

// A server without tokens serves its own user. Where the system tells the user of the other end of a local
// connection, another user needs the secret of the server.

// A peer is the user at the other end of a connection.
type peer int

// Users that are no user ID.
const (
	unknownPeer peer = -1 // the system does not tell
	gonePeer    peer = -2 // the connection has ended, so its user is not known any more
)

type peerKey struct{}

// WithPeer returns a context with the user at the other end of a connection, for [net/http.Server.ConnContext].
func WithPeer(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, sync.OnceValue(func() peer {
		local, err1 := netip.ParseAddrPort(conn.LocalAddr().String())
		remote, err2 := netip.ParseAddrPort(conn.RemoteAddr().String())
		if err1 != nil || err2 != nil || !remote.Addr().Unmap().IsLoopback() {
			return unknownPeer
		}
		return lookupPeer(local, remote)
	}))
}

// isOtherUser reports whether the request is of another user of the machine. The superuser reads everything anyway.
func isOtherUser(r *http.Request, own int) bool {
	user, ok := r.Context().Value(peerKey{}).(func() peer)
	if !ok {
		return false
	}
	switch p := user(); p {
	case unknownPeer, 0, peer(own):
		return false
	}
	return true
}

// findPeer returns the owner of the remote end of a connection in tables in the format of /proc/net/tcp. A table that
// lacks the local end of the connection tells nothing.
func findPeer(local, remote netip.AddrPort, tables ...io.Reader) peer {
	known, found := false, gonePeer
	for _, table := range tables {
		lines := bufio.NewScanner(table)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			if len(fields) < 10 {
				continue
			}
			here, there := parseSocket(fields[1]), parseSocket(fields[2])
			switch {
			case here == unmapped(local) && there == unmapped(remote):
				known = true
			case here == unmapped(remote) && there == unmapped(local) && fields[9] != "0": // without inode, it has ended
				if uid, err := strconv.Atoi(fields[7]); err == nil {
					found = peer(uid)
				}
			}
		}
	}
	if !known {
		return unknownPeer
	}
	return found
}

func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// parseSocket parses an address such as 0100007F:2238: words of four bytes in the order of the machine, and a port.
func parseSocket(text string) netip.AddrPort {
	host, port, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil || len(host) != 8 && len(host) != 32 {
		return netip.AddrPort{}
	}
	var bytes []byte
	for ; host != ""; host = host[8:] {
		word, err := strconv.ParseUint(host[:8], 16, 32)
		if err != nil {
			return netip.AddrPort{}
		}
		bytes = binary.NativeEndian.AppendUint32(bytes, uint32(word))
	}
	a, _ := netip.AddrFromSlice(bytes)
	return netip.AddrPortFrom(a.Unmap(), uint16(n))
}
