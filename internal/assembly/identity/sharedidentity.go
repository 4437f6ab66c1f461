package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/store"
)

// sharedIdentityKey is the key in an external etcd under which the processes on it keep
// their common identity. It is outside of /registry/, so that no API serves it. Access to
// it is access to the cluster, as is access to the Secrets beside it.
const sharedIdentityKey = "/minikcm/identity"

// sharedIdentity is the value of sharedIdentityKey, all in PEM. It is one value, so that
// no process can combine the certificate of one with the key of another.
type sharedIdentity struct {
	CACert []byte `json:"caCert"`
	CAKey  []byte `json:"caKey"`
	// TokenKey signs the tokens of service accounts.
	TokenKey []byte `json:"tokenKey"`
}

// shareIdentity returns the authority and the token key in the external etcd. The first process
// stores its own, which are new unless they are given: the put succeeds only if the key does not
// exist, and the other processes read what was stored. Given keys that differ from the stored ones
// are an error.
func shareIdentity(ctx context.Context, shared store.Store, given *Keys) (*auth.Authority, *auth.TokenKey, error) {
	stored, err := shared.Get(ctx, sharedIdentityKey, 0)
	if errors.Is(err, store.ErrNotFound) {
		stored, err = offerIdentity(ctx, shared, given)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the identity that the processes on this etcd share: %w", err)
	}
	authority, key, err := decodeIdentity(stored.Value)
	if err != nil {
		return nil, nil, fmt.Errorf("the key %s in etcd cannot be used (if it is deleted while no process runs, the next one makes new keys, which no earlier kubeconfig or token fits): %w", sharedIdentityKey, err)
	}
	if given != nil {
		if same, err := sameIdentity(given, authority, key); err != nil || !same {
			return nil, nil, errors.Join(err, fmt.Errorf("the given identity is not the one that the processes on this etcd share (key %s): omit it, or use the identity of a cluster on this etcd", sharedIdentityKey))
		}
	}
	return authority, key, nil
}

// offerIdentity stores the identity of this process, unless another process has stored one, and
// returns the stored one.
func offerIdentity(ctx context.Context, shared store.Store, given *Keys) (*store.KeyValue, error) {
	own := &Identity{}
	if given != nil {
		own.Keys = *given
	}
	if err := own.complete(); err != nil {
		return nil, err
	}
	value, err := encodeIdentity(own.Authority, own.TokenKey)
	if err != nil {
		return nil, err
	}
	return offer(ctx, shared, sharedIdentityKey, value)
}

// offer stores a value under a key, unless another process has stored one, and returns the stored one.
func offer(ctx context.Context, shared store.Store, key string, value []byte) (*store.KeyValue, error) {
	revision, err := shared.Put(ctx, key, value, 0)
	if lost := (*store.ConflictError)(nil); errors.As(err, &lost) && lost.Current != nil {
		return lost.Current, nil
	}
	if err != nil {
		return nil, err
	}
	return &store.KeyValue{Key: key, Value: value, ModRevision: revision, CreateRevision: revision}, nil
}

func encodeIdentity(authority *auth.Authority, key *auth.TokenKey) ([]byte, error) {
	var all sharedIdentity
	var err error
	all.CACert = authority.CertPEM()
	if all.CAKey, err = authority.KeyPEM(); err != nil {
		return nil, err
	}
	if all.TokenKey, err = key.PEM(); err != nil {
		return nil, err
	}
	value, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encoding the shared identity: %w", err)
	}
	return value, nil
}

func decodeIdentity(value []byte) (*auth.Authority, *auth.TokenKey, error) {
	var shared sharedIdentity
	if err := json.Unmarshal(value, &shared); err != nil {
		return nil, nil, fmt.Errorf("decoding the shared identity: %w", err)
	}
	authority, err := auth.LoadAuthority(shared.CACert, shared.CAKey, clock.Real().Now())
	if err != nil {
		return nil, nil, err
	}
	key, err := auth.LoadTokenKey(shared.TokenKey)
	if err != nil {
		return nil, nil, err
	}
	return authority, key, nil
}

// sameIdentity compares the certificate and the token key; a certificate's key is unique.
func sameIdentity(given *Keys, authority *auth.Authority, key *auth.TokenKey) (bool, error) {
	ours, err := given.TokenKey.PEM()
	if err != nil {
		return false, err
	}
	theirs, err := key.PEM()
	if err != nil {
		return false, err
	}
	return bytes.Equal(given.Authority.CertPEM(), authority.CertPEM()) && bytes.Equal(ours, theirs), nil
}
