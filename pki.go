package minikcm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/clock"
)

// caName is the common name of the cluster's certificate authority, as kubeadm has
// it.
const caName = "kubernetes"

// loadAuthority returns the cluster's certificate authority: that of the data
// directory, made if it has none yet, or a new one for an ephemeral cluster.
func loadAuthority(dataDir string) (*auth.Authority, error) {
	// Certificates are for other programs, which live in the machine's time.
	now := clock.Real().Now()
	if dataDir == "" {
		return auth.NewAuthority(caName, now)
	}
	dir := filepath.Join(dataDir, "pki")
	certPath, keyPath := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	cert, err := os.ReadFile(certPath)
	if errors.Is(err, fs.ErrNotExist) {
		return createAuthority(dir, certPath, keyPath)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority: %w", err)
	}
	key, err := os.ReadFile(keyPath)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority's key: %w", err)
	}
	authority, err := auth.LoadAuthority(cert, key, now)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return authority, nil
}

func createAuthority(dir, certPath, keyPath string) (*auth.Authority, error) {
	authority, err := auth.NewAuthority(caName, clock.Real().Now())
	if err != nil {
		return nil, err
	}
	key, err := authority.KeyPEM()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the certificate authority: %w", err)
	}
	// The certificate comes last: without it, the key is made anew.
	if err := os.WriteFile(keyPath, key, 0o600); err != nil {
		return nil, fmt.Errorf("writing the certificate authority's key: %w", err)
	}
	if err := os.WriteFile(certPath, authority.CertPEM(), 0o644); err != nil { //nolint:gosec // a certificate is public
		return nil, fmt.Errorf("writing the certificate authority: %w", err)
	}
	return authority, nil
}
