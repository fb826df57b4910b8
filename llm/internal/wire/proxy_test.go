package wire

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A socksServer is a SOCKS5 server (RFC 1928 and 1929) that connects all names to one address.
type socksServer struct {
	to      string
	secret  string      // user:password, or ""
	targets chan string // as the client named them
}

// serve accepts connections until l is closed.
func (s *socksServer) serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			if err := s.connect(c); err != nil {
				s.targets <- "error: " + err.Error()
			}
		}()
	}
}

func (s *socksServer) connect(c net.Conn) error {
	in := bufio.NewReader(c)
	head := make([]byte, 2)
	if _, err := io.ReadFull(in, head); err != nil {
		return err
	}
	if _, err := in.Discard(int(head[1])); err != nil { // methods
		return err
	}
	method := byte(0)
	if s.secret != "" {
		method = 2
	}
	if _, err := c.Write([]byte{5, method}); err != nil {
		return err
	}
	if s.secret != "" {
		if _, err := in.Discard(1); err != nil {
			return err
		}
		user, err := readCounted(in)
		if err != nil {
			return err
		}
		password, err := readCounted(in)
		if err != nil {
			return err
		}
		if user+":"+password != s.secret {
			_, err := c.Write([]byte{1, 1})
			return err
		}
		if _, err := c.Write([]byte{1, 0}); err != nil {
			return err
		}
	}
	ask := make([]byte, 4)
	if _, err := io.ReadFull(in, ask); err != nil {
		return err
	}
	if ask[1] != 1 || ask[3] != 3 { // CONNECT to a name
		return fmt.Errorf("command %d, address type %d", ask[1], ask[3])
	}
	name, err := readCounted(in)
	if err != nil {
		return err
	}
	port := make([]byte, 2)
	if _, err := io.ReadFull(in, port); err != nil {
		return err
	}
	out, err := net.Dial("tcp", s.to)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		return err
	}
	s.targets <- fmt.Sprintf("%s:%d", name, int(port[0])<<8|int(port[1]))
	go io.Copy(out, in) //nolint:errcheck // ends with the connection
	_, _ = io.Copy(c, out)
	return nil
}

// readCounted reads a text with its length before it.
func readCounted(in *bufio.Reader) (string, error) {
	n, err := in.ReadByte()
	if err != nil {
		return "", err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(in, text)
	return string(text), err
}

// socksChild has the URL that a child process requests.
const socksChild = "PONDER_TEST_SOCKS_URL"

// Requests reach a server behind a SOCKS5 proxy, which resolves its name.
func TestSOCKSProxy(t *testing.T) {
	if url := os.Getenv(socksChild); url != "" { // the proxy is read once in a process
		resp, err := HTTP().Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		fmt.Printf("answer %s %v\n", body, err)
		return
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host, " ", strings.Repeat("x", 100_000)) }))
	defer server.Close()
	for _, tt := range []struct{ secret, used, want string }{{"", "", "model.invalid:8000"}, {"ada:pass", "ada:pass@", "model.invalid:8000"}, {"ada:pass", "ada:wrong@", ""}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &socksServer{to: server.Listener.Addr().String(), secret: tt.secret, targets: make(chan string, 10)}
		go s.serve(l)
		cmd := exec.Command(os.Args[0], "-test.run=^TestSOCKSProxy$")
		cmd.Env = append(os.Environ(), "ALL_PROXY=socks5h://"+tt.used+l.Addr().String(), socksChild+"=http://model.invalid:8000/v1/models", "HTTP_PROXY=", "http_proxy=", "NO_PROXY=", "no_proxy=")
		out, err := cmd.CombinedOutput()
		l.Close()
		if answered := strings.Contains(string(out), "answer model.invalid:8000 x"); answered != (tt.want != "") || (err == nil) != (tt.want != "") {
			t.Errorf("%q with %q: %v, %.300s", tt.used, tt.secret, err, out)
		}
		if tt.want == "" {
			continue
		}
		if got := <-s.targets; got != tt.want {
			t.Errorf("connected to %s, want %s", got, tt.want)
		}
	}
}
