package minikcm

import (
	"context"
	"path/filepath"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
)

// caName is the common name of the cluster's certificate authority, as in kubeadm.
const caName = "kubernetes"

// Identity lets a cluster replace another one without its clients noticing: it holds the
// keys that sign certificates and tokens, and the last resource version.
type Identity struct {
	authority *auth.Authority
	tokenKey  *auth.TokenKey
	// frontProxy is the authority that servers of other APIs know the API server by.
	frontProxy *auth.Authority
	// revision is the last revision of the store; 0 if it is unknown.
	revision int64
}

// Identity returns the cluster's identity, for Options.Security.Identity of a cluster that replaces
// it. After Close it also has the last resource version: the new cluster's are later, so watches
// that clients resume there end with 410 (Expired), and informers list again.
func (c *Cluster) Identity() *Identity {
	return &Identity{authority: c.authority, tokenKey: c.tokenKey, frontProxy: c.frontProxy, revision: c.lastRevision.Load()}
}

// revisionGap separates the revisions of a cluster from its replacement's revisions. It exceeds the
// number of revisions that are written after Close reads the last one.
const revisionGap = 1_000_000

// revisionBump returns by how much to raise the revisions of a store with this identity.
func (i *Identity) revisionBump() uint64 {
	if i == nil || i.revision <= 0 {
		return 0
	}
	return uint64(i.revision) + revisionGap
}

// readIdentity reads the identity from the options or the data directory. It leaves parts that
// neither has nil, for completeIdentity.
func (c *Cluster) readIdentity() (err error) {
	if given := c.opts.Security.Identity; given != nil {
		c.authority, c.tokenKey = given.authority, given.tokenKey
		return nil
	}
	if c.opts.Storage.DataDir != "" {
		c.authority, err = authorityIn(c.opts.Storage.DataDir).read()
	}
	return err
}

// completeIdentity creates the missing parts of the identity, or takes the identity in the external
// etcd. It comes after openStore, which finds a damaged data directory before anything is written
// to it.
func (c *Cluster) completeIdentity(ctx context.Context) (err error) {
	if err := c.completeFrontProxy(ctx); err != nil {
		return err
	}
	if c.sharesStore() {
		return c.shareIdentity(ctx)
	}
	if c.authority == nil {
		if c.authority, err = createAuthority(c.opts.Storage.DataDir); err != nil {
			return err
		}
	}
	if c.tokenKey == nil {
		c.tokenKey, err = tokenKeyIn(c.opts.Storage.DataDir)
	}
	return err
}

// authorityIn returns the files of the certificate authority in a data directory.
func authorityIn(dataDir string) authorityFiles {
	dir := filepath.Join(dataDir, "pki")
	return authorityFiles{cert: filepath.Join(dir, "ca.crt"), key: filepath.Join(dir, "ca.key")}
}

// createAuthority creates a certificate authority and stores it in the data directory, if
// there is one. Its validity is in real time, because other programs check it.
func createAuthority(dataDir string) (*auth.Authority, error) {
	authority, err := auth.NewAuthority(caName, clock.Real().Now())
	if err != nil || dataDir == "" {
		return authority, err
	}
	return authority, authorityIn(dataDir).write(authority)
}
