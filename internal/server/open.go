package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"ponder/internal/app"
	"ponder/internal/limitio"
	"ponder/internal/process"
	"ponder/internal/textkit"
)

// FindServer returns the server of a's database on this machine.
func FindServer(ctx context.Context, a *app.App) (LocalServer, error) {
	db, others := a.DatabasePath(), []string(nil)
	for _, s := range LocalServers(a) {
		if s.Database == db && s.IsResponding(ctx) {
			return s, nil
		}
		others = append(others, s.Database)
	}
	const remedy = "start one with `ponder serve --open`"
	if len(others) > 0 {
		return LocalServer{}, app.NotReadyf("no server runs for %s, but one for %s: %s, or name that database with --db", db, textkit.OneLine(others[0]), remedy)
	}
	return LocalServer{}, app.NotReadyf("no server runs for %s: %s", db, remedy)
}

// ownServer returns the server of this process.
func ownServer(a *app.App) (LocalServer, bool) {
	for _, s := range LocalServers(a) {
		if s.PID == os.Getpid() {
			return s, true
		}
	}
	return LocalServer{}, false
}

const maxCodeAnswer = 4 << 10

// PageAddress returns the address of the page. With the token of the user it contains a code, with which
// a browser signs in once, within two minutes.
func (s LocalServer) PageAddress(ctx context.Context) string {
	page := s.LocalURL() + "/"
	code, err := s.newCode(ctx)
	if err != nil || code == "" {
		return page // the page asks for a token
	}
	return page + "#/sign-in/" + url.PathEscape(code)
}

// newCode asks the server for a code. It is empty if the server refuses.
func (s LocalServer) newCode(ctx context.Context) (string, error) {
	token := s.Token()
	if token == "" {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.LocalURL()+"/api/sign-in/codes", nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := Direct.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := limitio.ReadAll(resp.Body, maxCodeAnswer)
	if err != nil || resp.StatusCode != http.StatusCreated {
		return "", err
	}
	var answer struct{ Code string }
	err = json.Unmarshal(text, &answer)
	return answer.Code, err
}

// ErrNoBrowser reports a machine that cannot show a page.
var ErrNoBrowser = errors.New("this machine has no display or no browser")

// An OpenResult is the result of an attempt to open the page.
type OpenResult struct {
	Address string `json:"address"`
	Opened  bool   `json:"opened"`
}

// OpenPage opens the page of a server in the user's browser, unless show is false.
func (s LocalServer) OpenPage(ctx context.Context, show bool) (p OpenResult) {
	p.Address = s.PageAddress(ctx)
	p.Opened = show && openBrowser(ctx, p.Address) == nil
	return p
}

// Text describes the result for users.
func (p OpenResult) Text() string {
	if p.Opened {
		return "opened " + p.Address
	}
	u, err := url.Parse(p.Address)
	if err != nil {
		return p.Address
	}
	return p.Address + "\nOpen this address in a browser of this machine within two minutes. From another machine, first\n" +
		"forward the port: ssh -L " + u.Port() + ":" + u.Host + " USER@THIS-MACHINE"
}

// openOwnPage opens the page of the server of this process.
func (s *Server) openOwnPage(ctx context.Context) (p OpenResult, ok bool) {
	own, ok := ownServer(s.App)
	if ok {
		p = own.OpenPage(ctx, true)
	}
	return p, ok
}

// browserTime is the time in which a program that opens addresses reports a failure.
const browserTime = 3 * time.Second

// openBrowser opens an address with the program of the desktop.
func openBrowser(ctx context.Context, address string) error {
	for _, argv := range browserPrograms(runtime.GOOS, os.Getenv) {
		if _, err := exec.LookPath(argv[0]); err != nil {
			continue
		}
		if err := startBrowser(ctx, append(argv, address)); err == nil {
			return nil
		}
	}
	return ErrNoBrowser
}

// browserPrograms returns the programs that open an address, best first. Without a display there is none,
// except a browser that the user names.
func browserPrograms(system string, env func(string) string) (list [][]string) {
	for name := range strings.SplitSeq(env("BROWSER"), string(os.PathListSeparator)) {
		if argv := strings.Fields(strings.ReplaceAll(name, "%s", "")); len(argv) > 0 {
			list = append(list, argv)
		}
	}
	switch system {
	case "darwin":
		return append(list, []string{"open"})
	case "windows":
		return append(list, []string{"rundll32", "url.dll,FileProtocolHandler"})
	}
	if env("WSL_DISTRO_NAME") != "" {
		list = append(list, []string{"wslview"}, []string{"explorer.exe"})
	}
	if env("DISPLAY") != "" || env("WAYLAND_DISPLAY") != "" {
		list = append(list, []string{"xdg-open"}, []string{"gio", "open"}, []string{"x-www-browser"})
	}
	return list
}

// browserVariables are the variables that programs of a desktop need.
var browserVariables = []string{
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "DESKTOP_SESSION",
	"DBUS_SESSION_BUS_ADDRESS", "BROWSER", "USER", "LOGNAME", "WSL_DISTRO_NAME", "WSL_INTEROP", "SystemRoot", "APPDATA", "LOCALAPPDATA", "USERPROFILE",
}

// startBrowser starts a program. It returns an error if the program fails soon. A browser may run on.
func startBrowser(ctx context.Context, argv []string) error {
	cmd := process.Spec{Command: argv, Env: browserVariables}.Cmd(context.WithoutCancel(ctx))
	if err := process.Start(cmd); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(browserTime):
	case <-ctx.Done():
	}
	return nil
}
