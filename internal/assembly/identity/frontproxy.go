package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/store"
)

const (
	// frontProxyCAName is the common name of the authority of front proxies, as in kubeadm. It is not the
	// authority of client certificates: servers of other APIs accept any user name in the headers of a
	// request with a certificate of the front proxy's authority.
	frontProxyCAName = "front-proxy-ca"
	// FrontProxyUser is the common name of the client certificate that the API server shows to
	// the servers of other APIs.
	FrontProxyUser = "front-proxy-client"
	// sharedFrontProxyKey is the key of the authority in an external etcd; see
	// sharedIdentityKey.
	sharedFrontProxyKey = "/minikcm/front-proxy"
)

// sharedFrontProxy is the value of sharedFrontProxyKey, in PEM.
type sharedFrontProxy struct {
	Cert []byte `json:"cert"`
	Key  []byte `json:"key"`
}

// shareFrontProxy returns the authority in the external etcd. The first process stores a new
// one.
func shareFrontProxy(ctx context.Context, shared store.Store) (*auth.Authority, error) {
	stored, err := shared.Get(ctx, sharedFrontProxyKey, 0)
	if errors.Is(err, store.ErrNotFound) {
		stored, err = offerFrontProxy(ctx, shared)
	}
	var pair sharedFrontProxy
	if err == nil {
		err = json.Unmarshal(stored.Value, &pair)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the front proxy's authority that the processes on this etcd share: %w", err)
	}
	authority, err := auth.LoadAuthority(pair.Cert, pair.Key, clock.Real().Now())
	if err != nil {
		return nil, fmt.Errorf("the key %s in etcd cannot be used (if it is deleted while no process runs, the next one makes a new authority): %w", sharedFrontProxyKey, err)
	}
	return authority, nil
}

// offerFrontProxy stores a new authority, unless another process has stored one, and returns
// the stored one.
func offerFrontProxy(ctx context.Context, shared store.Store) (*store.KeyValue, error) {
	authority, err := newAuthority(frontProxyCAName)
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
	return offer(ctx, shared, sharedFrontProxyKey, value)
}
