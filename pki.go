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

// Identity is what a cluster needs to take the place of another one before the eyes of
// its clients: what certificates and tokens are signed with, and the resource versions
// that have been given.
type Identity struct {
	authority *auth.Authority
	tokenKey  *auth.TokenKey
	// revision is the last of the store; 0 if it is not known.
	revision int64
}

// Identity returns the cluster's identity, for Options.Identity of a cluster that takes its
// place. Of a closed cluster it has the last resource version, too: those of the new
// cluster are later, and watches that clients resume there end with 410 (Expired), upon
// which informers list anew.
func (c *Cluster) Identity() *Identity {
	return &Identity{authority: c.authority, tokenKey: c.tokenKey, revision: c.lastRevision.Load()}
}

// revisionGap is the distance between the revisions of a cluster and of the one that takes
// its place. It makes up for revisions that Close gives after the last that it sees.
const revisionGap = 1_000_000

// revisionBump is by how much the revisions of a store with this identity are raised.
func (i *Identity) revisionBump() uint64 {
	if i == nil || i.revision <= 0 {
		return 0
	}
	return uint64(i.revision) + revisionGap
}

// readIdentity returns the identity that was given, or that the data directory holds;
// parts that are nil are made by completeIdentity.
func (c *Cluster) readIdentity() (err error) {
	if given := c.opts.Identity; given != nil {
		c.authority, c.tokenKey = given.authority, given.tokenKey
		return nil
	}
	c.authority, err = readAuthority(c.opts.DataDir)
	return err
}

// completeIdentity makes what the identity lacks. It is called when it is known that the
// data directory is good.
func (c *Cluster) completeIdentity() (err error) {
	if c.authority == nil {
		if c.authority, err = createAuthority(c.opts.DataDir); err != nil {
			return err
		}
	}
	if c.tokenKey == nil {
		c.tokenKey, err = tokenKey(c.opts.DataDir)
	}
	return err
}

// readAuthority returns the certificate authority that the data directory holds; nil
// if there is none yet.
func readAuthority(dataDir string) (*auth.Authority, error) {
	if dataDir == "" {
		return nil, nil
	}
	certPath, keyPath := authorityPaths(dataDir)
	cert, err := os.ReadFile(certPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority: %w", err)
	}
	key, err := os.ReadFile(keyPath)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority's key: %w", err)
	}
	authority, err := auth.LoadAuthority(cert, key, clock.Real().Now())
	if err != nil {
		return nil, fmt.Errorf("the certificate authority in %s cannot be used (without both files, a new one is made): %w", filepath.Dir(certPath), err)
	}
	return authority, nil
}

func authorityPaths(dataDir string) (cert, key string) {
	dir := filepath.Join(dataDir, "pki")
	return filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
}

// createAuthority makes a certificate authority, and keeps it if there is a data
// directory. Certificates are for other programs, which live in the machine's time.
func createAuthority(dataDir string) (*auth.Authority, error) {
	authority, err := auth.NewAuthority(caName, clock.Real().Now())
	if err != nil || dataDir == "" {
		return authority, err
	}
	certPath, keyPath := authorityPaths(dataDir)
	key, err := authority.KeyPEM()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(certPath), 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the certificate authority: %w", err)
	}
	// The certificate comes last: without it, the key is made anew.
	if err := os.WriteFile(keyPath, key, 0o600); err != nil {
		return nil, fmt.Errorf("writing the certificate authority's key: %w", err)
	}
	if err := os.WriteFile(certPath, authority.CertPEM(), 0o644); err != nil { // a certificate is public
		return nil, fmt.Errorf("writing the certificate authority: %w", err)
	}
	return authority, nil
}

// tokenKey returns the key that signs service accounts' tokens: the one in the data
// directory, which is made if it is not there, or else a new one.
func tokenKey(dataDir string) (*auth.TokenKey, error) {
	if dataDir == "" {
		return auth.NewTokenKey()
	}
	path := filepath.Join(dataDir, "pki", "sa.key")
	data, err := os.ReadFile(path)
	if err == nil {
		key, err := auth.LoadTokenKey(data)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be used (without it, a new key is made): %w", path, err)
		}
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the key of service account tokens: %w", err)
	}
	key, err := auth.NewTokenKey()
	if err != nil {
		return nil, err
	}
	if data, err = key.PEM(); err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return nil, fmt.Errorf("writing the key of service account tokens: %w", err)
	}
	return key, nil
}
