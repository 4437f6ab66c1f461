package outside

import (
	"crypto/tls"
	"net"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/secure"
)

// routerTLS is a connection to a router that expects TLS, with the certificate that its objects state for the client's name.
func (e *entrance) routerTLS(conn net.Conn, path *reach.Path) net.Conn {
	return tls.Server(conn, &tls.Config{
		NextProtos: secure.NextProtos(),
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			defer inflight.Begin(e.ledger, inflight.Request).End()
			return e.kubelets.RouterCertificate(hello.Context(), path, hello.ServerName)
		},
	})
}
