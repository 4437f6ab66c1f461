package minikcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/store"
)

const (
	// frontProxyCAName is the common name of the authority of front proxies, as in kubeadm.
	frontProxyCAName = "front-proxy-ca"
	// frontProxyUser is the common name of the client certificate that the API server shows to
	// the servers of other APIs.
	frontProxyUser = "front-proxy-client"
	// sharedFrontProxyKey is the key of the authority in an external etcd; see
	// sharedIdentityKey.
	sharedFrontProxyKey = "/minikcm/front-proxy"
)

// completeFrontProxy sets the authority of the client certificate that the API server shows to
// servers of other APIs. It is not the authority of client certificates: those servers accept
// any user name in the headers of a request with a certificate of the front proxy's authority.
// It is kept where the identity is kept.
func (c *Cluster) completeFrontProxy(ctx context.Context) (err error) {
	if given := c.opts.Security.Identity; given != nil && given.frontProxy != nil {
		c.frontProxy = given.frontProxy
		return nil
	}
	if c.sharesStore() {
		c.frontProxy, err = c.shareFrontProxy(ctx)
		return err
	}
	if c.opts.Storage.DataDir == "" {
		c.frontProxy, err = newFrontProxyCA()
		return err
	}
	dir := filepath.Join(c.opts.Storage.DataDir, "pki")
	files := authorityFiles{cert: filepath.Join(dir, "front-proxy-ca.crt"), key: filepath.Join(dir, "front-proxy-ca.key")}
	if c.frontProxy, err = files.read(); err != nil || c.frontProxy != nil {
		return err
	}
	if c.frontProxy, err = newFrontProxyCA(); err != nil {
		return err
	}
	return files.write(c.frontProxy)
}

func newFrontProxyCA() (*auth.Authority, error) {
	return auth.NewAuthority(frontProxyCAName, clock.Real().Now())
}

// sharedFrontProxy is the value of sharedFrontProxyKey, in PEM.
type sharedFrontProxy struct {
	Cert []byte `json:"cert"`
	Key  []byte `json:"key"`
}

// shareFrontProxy returns the authority in the external etcd. The first process stores a new
// one.
func (c *Cluster) shareFrontProxy(ctx context.Context) (*auth.Authority, error) {
	stored, err := c.store.Get(ctx, sharedFrontProxyKey, 0)
	if errors.Is(err, store.ErrNotFound) {
		stored, err = c.offerFrontProxy(ctx)
	}
	var shared sharedFrontProxy
	if err == nil {
		err = json.Unmarshal(stored.Value, &shared)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the front proxy's authority that the processes on this etcd share: %w", err)
	}
	authority, err := auth.LoadAuthority(shared.Cert, shared.Key, clock.Real().Now())
	if err != nil {
		return nil, fmt.Errorf("the key %s in etcd cannot be used (if it is deleted while no process runs, the next one makes a new authority): %w", sharedFrontProxyKey, err)
	}
	return authority, nil
}

// offerFrontProxy stores a new authority, unless another process has stored one, and returns
// the stored one.
func (c *Cluster) offerFrontProxy(ctx context.Context) (*store.KeyValue, error) {
	authority, err := newFrontProxyCA()
	if err != nil {
		return nil, err
	}
	key, err := authority.KeyPEM()
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(sharedFrontProxy{Cert: authority.CertPEM(), Key: key})
	if err != nil {
		return nil, fmt.Errorf("encoding the front proxy's authority: %w", err)
	}
	return c.offer(ctx, sharedFrontProxyKey, value)
}
