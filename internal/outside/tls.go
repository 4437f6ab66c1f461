package outside

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
			return e.routerCertificate(hello.Context(), path, hello.ServerName)
		},
	})
}

// routerCertificate returns the certificate of the router at the end of a path for a name: of the first Secret that has one, or else one that
// no client trusts.
func (e *entrance) routerCertificate(ctx context.Context, path *reach.Path, name string) (*tls.Certificate, error) {
	secrets, err := e.kubelets.Certificates(ctx, path, name)
	if err != nil {
		return nil, err
	}
	for _, secret := range secrets {
		object, err := e.secrets.Secrets(secret.Namespace).Get(ctx, secret.Name, metav1.GetOptions{})
		if err != nil {
			continue // the Ingress may come before its Secret
		}
		pair, err := tls.X509KeyPair(object.Data[corev1.TLSCertKey], object.Data[corev1.TLSPrivateKeyKey])
		if err == nil {
			return &pair, nil
		}
	}
	return e.fallback.get()
}

// fallbackCertificate is made on first use, and kept in memory.
type fallbackCertificate struct {
	once sync.Once
	made tls.Certificate
	err  error
}

func (d *fallbackCertificate) get() (*tls.Certificate, error) {
	d.once.Do(func() { d.made, d.err = selfSigned() })
	return &d.made, d.err
}

// selfSigned makes a certificate that is valid on any clock.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("generating the key of the default certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "minikcm default certificate"}, DNSNames: []string{"ingress.local"},
		NotBefore: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2149, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making the default certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
