package netaddr

import "testing"

func TestIsPublicURL(t *testing.T) {
	for address, want := range map[string]bool{
		"https://pictures.example/cat.png":  true,
		"http://pictures.example:8080/":     true,
		"https://pictures.example./cat.png": true,
		"https://8.8.8.8/cat.png":           true,
		"https://[2606:4700::1111]/cat.png": true,
		"http://127.0.0.1:8744/sim":         false,
		"http://127.1/":                     false,
		"http://2130706433/":                false,
		"http://0x7f.0.0.1/":                false,
		"http://0177.0.0.0x1/":              false,
		"http://1.2.3.0x7f000001/":          false,
		"http://0.0.0.0/":                   false,
		"http://10.1.2.3/":                  false,
		"http://172.16.0.1/":                false,
		"http://192.168.1.5/":               false,
		"http://169.254.169.254/latest/":    false,
		"http://100.64.0.1/":                false,
		"http://198.18.0.1/":                false,
		"http://224.0.0.1/":                 false,
		"http://255.255.255.255/":           false,
		"http://[::1]/":                     false,
		"http://[::]/":                      false,
		"http://[::ffff:127.0.0.1]/":        false,
		"http://[fe80::1%25eth0]/":          false,
		"http://[fd00::1]/":                 false,
		"http://[64:ff9b::7f00:1]/":         false,
		"http://[2002:7f00:1::]/":           false,
		"http://localhost/":                 false,
		"http://LOCALHOST./":                false,
		"http://a.localhost/":               false,
		"http://printer.local/":             false,
		"http://metadata.google.internal/":  false,
		"http://box.lan/":                   false,
		"http://router.home.arpa/":          false,
		"http://intranet/":                  false,
		"http://user:pass@desk.example/":    false,
		"http://１２７.0.0.1/":                 false,
		"http:///etc/passwd":                false,
		"file:///etc/passwd":                false,
		"https://":                          false,
		"":                                  false,
	} {
		if IsPublicURL(address) != want {
			t.Errorf("%q: %v", address, !want)
		}
	}
}

func FuzzIsPublicURL(f *testing.F) {
	f.Add("https://pictures.example/cat.png")
	f.Fuzz(func(_ *testing.T, address string) { IsPublicURL(address) })
}
