package proxyserver

import (
	"strings"
	"testing"
)

// FuzzReadSocks reads what a client may send.
func FuzzReadSocks(f *testing.F) {
	for _, seed := range []string{"\x05\x01\x00\x05\x01\x00\x01\x0a\x60\x00\x01\x00\x50", "\x05\x01\x00\x05\x01\x00\x03\x03web\x00\x50", "\x05\x00", "\x05\x01\x02", "\x04\x01", "\x05\x01\x00\x05\x02\x00\x04", "\x05\x01\x02\x01\x03pod\x06secret\x05\x01\x00\x01\x0a\x60\x00\x01\x00\x50"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		for _, password := range []string{"", "secret"} {
			var answered strings.Builder
			host, port, code, ok := readSocks(struct {
				*strings.Reader
				*strings.Builder
			}{strings.NewReader(sent), &answered}, password)
			if ok && code == socksSucceeded && (host == "" || port < 0 || port > 65535) || !ok && code != 0 {
				t.Errorf("%q: %q, %d, %d, %v", sent, host, port, code, ok)
			}
			if ok && password != "" && !strings.Contains(sent, password) {
				t.Errorf("%q is let in without the password", sent)
			}
		}
	})
}
