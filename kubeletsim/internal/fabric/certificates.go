package fabric

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
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/routes"
)

// Certificate returns the certificate that a router presents for a host at a port: the one in the first Secret that has one, or else one
// that no client trusts.
func (f *Fabric) Certificate(ctx context.Context, of routes.Router, host string, port int32) (*tls.Certificate, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	secrets := f.cluster.Routes.Certificates(of, host, port)
	f.mu.Unlock()
	for _, name := range secrets {
		secret, err := f.opts.Informers.Secrets().Lister().Secrets(name.Namespace).Get(name.Name)
		if err != nil {
			continue // the Ingress may come before its Secret
		}
		if pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]); err == nil {
			return &pair, nil
		}
	}
	return f.fallback()
}

// selfSigned makes a certificate that is valid on any clock, and kept in memory.
func selfSigned() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the key of the default certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "minikcm default certificate"}, DNSNames: []string{"ingress.local"},
		NotBefore: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2149, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making the default certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
