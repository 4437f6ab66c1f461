package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
)

// TokenKey signs the tokens of service accounts, and checks them.
type TokenKey struct {
	key *ecdsa.PrivateKey
	// id names the key in tokens and in the key set: the hash of the public key in
	// DER, as upstream makes it.
	id string
}

// NewTokenKey makes a new key.
func NewTokenKey() (*TokenKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the key of service account tokens: %w", err)
	}
	return newTokenKey(key)
}

func newTokenKey(key *ecdsa.PrivateKey) (*TokenKey, error) {
	if key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("the key of service account tokens is on the curve %s, not P-256", key.Curve.Params().Name)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("encoding the public key of service account tokens: %w", err)
	}
	sum := sha256.Sum256(der)
	return &TokenKey{key: key, id: base64.RawURLEncoding.EncodeToString(sum[:])}, nil
}

// LoadTokenKey reads a key that PEM wrote earlier.
func LoadTokenKey(data []byte) (*TokenKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("reading the key of service account tokens: there is no PEM block")
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading the key of service account tokens: %w", err)
	}
	return newTokenKey(key)
}

// PEM is the private key in PEM.
func (k *TokenKey) PEM() ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(k.key)
	if err != nil {
		return nil, fmt.Errorf("encoding the key of service account tokens: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
