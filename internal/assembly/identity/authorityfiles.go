package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/durable"
)

// The names of the authorities' files in the data directory, without extension.
const (
	caFile         = "ca"
	frontProxyFile = "front-proxy-ca"
)

// pki returns the directory of the keys in a data directory.
func pki(dataDir string) string { return filepath.Join(dataDir, "pki") }

// authorityFiles are the files of an authority in the data directory.
type authorityFiles struct{ cert, key string }

func authorityIn(dataDir, name string) authorityFiles {
	return authorityFiles{cert: filepath.Join(pki(dataDir), name+".crt"), key: filepath.Join(pki(dataDir), name+".key")}
}

// keep returns the authority, and creates it if there is none.
func (f authorityFiles) keep(name string) (*auth.Authority, error) {
	authority, err := f.read()
	if err != nil || authority != nil {
		return authority, err
	}
	if authority, err = newAuthority(name); err != nil {
		return nil, err
	}
	return authority, f.write(authority)
}

// read returns the authority; nil if there is none.
func (f authorityFiles) read() (*auth.Authority, error) {
	cert, err := os.ReadFile(f.cert)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority: %w", err)
	}
	key, err := os.ReadFile(f.key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority's key: %w", err)
	}
	authority, err := auth.LoadAuthority(cert, key, clock.Real().Now())
	if err != nil {
		return nil, fmt.Errorf("the certificate authority in %s and %s cannot be used (without both files, a new one is made): %w", f.cert, f.key, err)
	}
	return authority, nil
}

// write stores the authority.
func (f authorityFiles) write(authority *auth.Authority) error {
	key, err := authority.KeyPEM()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.cert), 0o700); err != nil {
		return fmt.Errorf("making the directory of the certificate authority: %w", err)
	}
	// The certificate comes last: without it, the next start creates both again.
	if err := durable.WriteFile(f.key, key, 0o600); err != nil {
		return fmt.Errorf("writing the certificate authority's key: %w", err)
	}
	if err := durable.WriteFile(f.cert, authority.CertPEM(), 0o644); err != nil { // a certificate is public
		return fmt.Errorf("writing the certificate authority: %w", err)
	}
	return nil
}
