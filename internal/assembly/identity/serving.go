package identity

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"minikcm.dev/minikcm/internal/auth"
)

// Files names the PEM files of the serving certificate and of the keys of tokens. An empty name means that the
// file is not configured.
type Files struct {
	// CertFile has the certificate, then its intermediate authorities and, so that clients with the cluster's
	// kubeconfigs trust it, the root authority.
	CertFile, KeyFile string
	// SigningKeyFile has the private key that signs tokens.
	SigningKeyFile string
	// KeyFiles have the keys that verify tokens: public or private keys, or certificates. Without
	// them, the signing key verifies tokens.
	KeyFiles []string
}

// Check returns an error for files that cannot be used.
func (f Files) Check() error { return new(Identity).readFiles(f) }

// readFiles reads the files. It is called after the identity's own keys have been made, because a configured
// signing key replaces TokenKey.
func (i *Identity) readFiles(f Files) error {
	if err := i.readCertificate(f); err != nil {
		return err
	}
	return i.readTokenKeys(f)
}

func (i *Identity) readCertificate(f Files) error {
	switch {
	case f.CertFile == "" && f.KeyFile == "":
		return nil
	case f.CertFile == "" || f.KeyFile == "":
		return errors.New("--tls-cert-file and --tls-private-key-file must be given together")
	}
	pair, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
	if err != nil {
		return fmt.Errorf("the serving certificate in %s and its key in %s cannot be used: %w", f.CertFile, f.KeyFile, err)
	}
	if i.trustedServing, err = os.ReadFile(f.CertFile); err != nil {
		return fmt.Errorf("reading the serving certificate: %w", err)
	}
	i.Certificate = &pair
	return nil
}

func (i *Identity) readTokenKeys(f Files) error {
	i.Signing = i.TokenKey
	if f.SigningKeyFile != "" {
		data, err := os.ReadFile(f.SigningKeyFile)
		if err != nil {
			return fmt.Errorf("reading --service-account-signing-key-file: %w", err)
		}
		if i.Signing, err = auth.LoadTokenKey(data); err != nil {
			return fmt.Errorf("--service-account-signing-key-file %s: %w", f.SigningKeyFile, err)
		}
	}
	for _, file := range f.KeyFiles {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading --service-account-key-file: %w", err)
		}
		keys, err := auth.LoadPublicTokenKeys(data)
		if err != nil {
			return fmt.Errorf("--service-account-key-file %s: %w", file, err)
		}
		i.Trusted = append(i.Trusted, keys...)
	}
	return nil
}
