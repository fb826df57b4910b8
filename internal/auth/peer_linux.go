package auth

import (
	"io"
	"net/netip"
	"os"
)

// lookupPeer returns the user of the remote end of a local connection.
func lookupPeer(local, remote netip.AddrPort) peer {
	var tables []io.Reader
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		if f, err := os.Open(name); err == nil {
			defer f.Close()
			tables = append(tables, f)
		}
	}
	return findPeer(local, remote, tables...)
}
