package outside

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestBind(t *testing.T) {
	t.Parallel()
	failing := &net.OpError{Op: "listen", Err: syscall.EADDRNOTAVAIL}
	for name, tt := range map[string]struct {
		port    int32
		movable bool
		errs    map[int32]error
		want    string // the ports that are tried, and the beginning of the reason
	}{
		"free":                      {port: 80, want: "[80]"},
		"taken":                     {port: 1, errs: map[int32]error{1: syscall.EADDRINUSE}, want: "[1] nothing: 127.9.9.9:1 of this machine is taken"},
		"taken, movable":            {port: 1, movable: true, errs: map[int32]error{1: syscall.EADDRINUSE}, want: "[1 0] 127.9.9.9:1 of this machine is taken"},
		"privileged":                {port: 80, movable: true, errs: map[int32]error{80: syscall.EACCES}, want: "[80 8080] 127.9.9.9:80 needs privileges"},
		"privileged and taken":      {port: 80, movable: true, errs: map[int32]error{80: syscall.EACCES, 8080: syscall.EADDRINUSE}, want: "[80 8080 0] 127.9.9.9:80 needs privileges"},
		"privileged, not movable":   {port: 80, errs: map[int32]error{80: syscall.EACCES}, want: "[80] nothing: 127.9.9.9:80 needs privileges"},
		"no such address, movable":  {port: 80, movable: true, errs: map[int32]error{80: failing, 0: failing}, want: "[80 0] nothing: it cannot be opened: "},
		"forbidden above the limit": {port: 8080, movable: true, errs: map[int32]error{8080: syscall.EACCES}, want: "[8080 0] it cannot be opened: "},
	} {
		var tried []int32
		open := func(port int32) (socket, error) {
			tried = append(tried, port)
			if err := tt.errs[port]; err != nil {
				return nil, err
			}
			return &net.TCPListener{}, nil
		}
		listener, why := bind(open, "127.9.9.9", tt.port, corev1.ProtocolTCP, tt.movable)
		got := fmt.Sprint(tried)
		if listener == nil {
			got += " nothing:"
		}
		if why != nil {
			got += " " + why.Error()
		}
		if got != tt.want && (tt.want == "[80]" || !strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
