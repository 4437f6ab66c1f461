package apiserver_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"

	"minikcm.dev/minikcm/apiserver"
)

// A server on all addresses of a family is reached, with a valid certificate, at the address
// that it reports and at the machine's addresses, and has no socket of the other family.
func TestListenOnAllAddresses(t *testing.T) {
	ca := must(authority())(t)
	roots := x509.NewCertPool()
	roots.AddCert(ca.Certificate)
	for bind, want := range map[string]string{"0.0.0.0": "127.0.0.1", "::": "::1", "127.0.0.1": "127.0.0.1", "": "127.0.0.1"} {
		h := start(t)
		listener, err := h.server.Listen(h.ctx, apiserver.ListenOptions{Address: bind, Authority: ca})
		if err != nil {
			if bind == "::" {
				t.Logf("this machine has no IPv6: %v", err)
				continue
			}
			t.Fatal(err)
		}
		t.Cleanup(listener.Close)
		host, port, err := net.SplitHostPort(listener.Address())
		if err != nil || host != want {
			t.Errorf("%q: the address is %s (%v), want %s", bind, listener.Address(), err, want)
		}
		hosts := []string{host}
		if bind == "0.0.0.0" {
			hosts = append(hosts, machineAddresses(t)...)
		}
		for _, host := range hosts {
			conn, err := tls.Dial("tcp", net.JoinHostPort(host, port), &tls.Config{RootCAs: roots})
			if err != nil {
				t.Errorf("%q: at %s: %v", bind, host, err)
				continue
			}
			_ = conn.Close()
		}
		if bind == "0.0.0.0" {
			if conn, err := net.Dial("tcp6", net.JoinHostPort("::1", port)); err == nil {
				_ = conn.Close()
				t.Errorf("%q: IPv6 is open", bind)
			}
		}
	}
}

// machineAddresses returns the IPv4 addresses of the machine's interfaces.
func machineAddresses(t *testing.T) []string {
	t.Helper()
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for _, i := range interfaces {
		if ip, _, err := net.ParseCIDR(i.String()); err == nil && ip.To4() != nil {
			addresses = append(addresses, ip.String())
		}
	}
	return addresses
}
