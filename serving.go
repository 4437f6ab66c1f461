package minikcm

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"minikcm.dev/minikcm/internal/auth"
)

// ServingCertificate names the files, in PEM, of the certificate that the API server serves
// HTTPS with.
type ServingCertificate struct {
	// CertFile has the certificate, followed by its intermediate authorities and, if clients
	// are to trust it by the cluster's kubeconfigs, the root authority.
	CertFile string
	KeyFile  string
}

// read returns the certificate, and its file for clients to trust; nil if there is none.
func (s ServingCertificate) read() (*tls.Certificate, []byte, error) {
	switch {
	case s == (ServingCertificate{}):
		return nil, nil, nil
	case s.CertFile == "" || s.KeyFile == "":
		return nil, nil, errors.New("--tls-cert-file and --tls-private-key-file must be given together")
	}
	pair, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
	if err != nil {
		return nil, nil, fmt.Errorf("the serving certificate in %s and its key in %s cannot be used: %w", s.CertFile, s.KeyFile, err)
	}
	data, err := os.ReadFile(s.CertFile)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the serving certificate: %w", err)
	}
	return &pair, data, nil
}

// ServiceAccountTokens configures the tokens of service accounts as kube-apiserver's flags do.
// The zero value means the cluster's own key and auth.DefaultIssuer.
type ServiceAccountTokens struct {
	// SigningKeyFile has the private key, in PEM, that signs tokens (--service-account-signing-key-file).
	SigningKeyFile string
	// KeyFiles have the keys, in PEM, that verify tokens: public or private keys, or
	// certificates (--service-account-key-file). Empty means the signing key.
	KeyFiles []string
	// Issuers are the accepted issuers of bound tokens, of which the first issues the new ones
	// (--service-account-issuer).
	Issuers []string
	// Audiences are the API server's own (--api-audiences); empty means Issuers.
	Audiences []string
}

// read returns the keys of the files; nil for a file that is not configured.
func (t ServiceAccountTokens) read() (signing *auth.TokenKey, trusted []*auth.PublicTokenKey, err error) {
	if t.SigningKeyFile != "" {
		data, err := os.ReadFile(t.SigningKeyFile)
		if err != nil {
			return nil, nil, fmt.Errorf("reading --service-account-signing-key-file: %w", err)
		}
		if signing, err = auth.LoadTokenKey(data); err != nil {
			return nil, nil, fmt.Errorf("--service-account-signing-key-file %s: %w", t.SigningKeyFile, err)
		}
	}
	for _, file := range t.KeyFiles {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, fmt.Errorf("reading --service-account-key-file: %w", err)
		}
		keys, err := auth.LoadPublicTokenKeys(data)
		if err != nil {
			return nil, nil, fmt.Errorf("--service-account-key-file %s: %w", file, err)
		}
		trusted = append(trusted, keys...)
	}
	return signing, trusted, nil
}

// readServing reads the files of the serving certificate and of the keys of tokens. It comes
// after the identity, whose token key a configured one replaces.
func (c *Cluster) readServing() (err error) {
	if c.certificate, c.trustedServing, err = c.opts.API.Certificate.read(); err != nil {
		return err
	}
	c.signingKey, c.trustedTokenKeys, err = c.opts.Security.ServiceAccountTokens.read()
	if c.signingKey == nil {
		c.signingKey = c.tokenKey
	}
	return err
}

// clusterCAs returns the authorities, in PEM, by which clients know the API server.
func (c *Cluster) clusterCAs() []byte {
	return append(append([]byte{}, c.authority.CertPEM()...), c.trustedServing...)
}
