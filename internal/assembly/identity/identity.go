package identity

import (
	"context"
	"crypto/tls"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/store"
)

// caName is the common name of the cluster's certificate authority, as in kubeadm.
const caName = "kubernetes"

// Keys sign the certificates and the tokens of a cluster.
type Keys struct {
	Authority *auth.Authority
	TokenKey  *auth.TokenKey
	// FrontProxy is the authority that servers of other APIs know the API server by.
	FrontProxy *auth.Authority
}

// Options say where the identity of a cluster comes from.
type Options struct {
	// Given are the keys of an earlier cluster; nil: none.
	Given *Keys
	// DataDir keeps the keys; empty: they are lost when the cluster ends.
	DataDir string
	// Shared is the store of several processes, which have one identity; nil: there are no others.
	Shared store.Store
	Files  Files
}

// Identity is the identity of a cluster.
type Identity struct {
	Keys
	// Signing signs tokens: the key of Files, or TokenKey. Trusted verify them; none: Signing does.
	Signing *auth.TokenKey
	Trusted []*auth.PublicTokenKey
	// Certificate is the serving certificate of Files; nil: Authority issues one.
	Certificate *tls.Certificate
	// trustedServing is the file of Certificate.
	trustedServing []byte
}

// Check returns an error if a data directory has authorities that cannot be used. It comes before the
// store, which changes the directory when it starts.
func Check(dataDir string) error {
	if dataDir == "" {
		return nil
	}
	for _, files := range []authorityFiles{authorityIn(dataDir, caFile), authorityIn(dataDir, frontProxyFile)} {
		if _, err := files.read(); err != nil {
			return err
		}
	}
	return nil
}

// Establish returns the identity of a cluster. It comes after the store, which finds a damaged data
// directory before anything is written to it.
func Establish(ctx context.Context, o Options) (*Identity, error) {
	i := &Identity{}
	var err error
	if o.Given != nil {
		i.Keys = *o.Given
	}
	switch {
	case o.Shared != nil:
		err = i.share(ctx, o)
	case o.Given == nil && o.DataDir != "":
		err = i.keep(o.DataDir)
	}
	if err == nil {
		err = i.complete()
	}
	if err == nil {
		err = i.readFiles(o.Files)
	}
	if err != nil {
		return nil, err
	}
	return i, nil
}

// keep sets the keys to the ones in the data directory, in which missing ones are created.
func (i *Identity) keep(dataDir string) (err error) {
	if i.Authority, err = authorityIn(dataDir, caFile).keep(caName); err != nil {
		return err
	}
	if i.FrontProxy, err = authorityIn(dataDir, frontProxyFile).keep(frontProxyCAName); err != nil {
		return err
	}
	i.TokenKey, err = tokenKeyIn(pki(dataDir))
	return err
}

// share sets the keys to the ones in the etcd that processes share.
func (i *Identity) share(ctx context.Context, o Options) (err error) {
	if i.FrontProxy == nil {
		if i.FrontProxy, err = shareFrontProxy(ctx, o.Shared); err != nil {
			return err
		}
	}
	i.Authority, i.TokenKey, err = shareIdentity(ctx, o.Shared, o.Given)
	return err
}

// complete makes the keys that are missing.
func (i *Identity) complete() (err error) {
	if i.Authority == nil {
		if i.Authority, err = newAuthority(caName); err != nil {
			return err
		}
	}
	if i.FrontProxy == nil {
		if i.FrontProxy, err = newAuthority(frontProxyCAName); err != nil {
			return err
		}
	}
	if i.TokenKey == nil {
		i.TokenKey, err = auth.NewTokenKey()
	}
	return err
}

// newAuthority makes an authority. Its validity is in real time, because other programs check it.
func newAuthority(name string) (*auth.Authority, error) {
	return auth.NewAuthority(name, clock.Real().Now())
}

// ServerCAs returns the authorities, in PEM, by which clients know the API server.
func (i *Identity) ServerCAs() []byte {
	return append(append([]byte{}, i.Authority.CertPEM()...), i.trustedServing...)
}
