package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"

	"github.com/golang-jwt/jwt/v5"
	"k8s.io/client-go/util/keyutil"
)

// TokenKey signs and verifies the tokens of service accounts.
type TokenKey struct {
	key    crypto.Signer
	method jwt.SigningMethod
	// id identifies the key in tokens and in the key set: the hash of the public key in
	// DER, as upstream.
	id string
}

// NewTokenKey generates a key.
func NewTokenKey() (*TokenKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the key of service account tokens: %w", err)
	}
	return newTokenKey(key)
}

func newTokenKey(key crypto.Signer) (*TokenKey, error) {
	method, err := methodOf(key)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("encoding the public key of service account tokens: %w", err)
	}
	sum := sha256.Sum256(der)
	return &TokenKey{key: key, method: method, id: base64.RawURLEncoding.EncodeToString(sum[:])}, nil
}

// methodOf returns the signing method of a key, as upstream.
func methodOf(key crypto.Signer) (jwt.SigningMethod, error) {
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return jwt.SigningMethodRS256, nil
	case *ecdsa.PrivateKey:
		switch key.Curve {
		case elliptic.P256():
			return jwt.SigningMethodES256, nil
		case elliptic.P384():
			return jwt.SigningMethodES384, nil
		case elliptic.P521():
			return jwt.SigningMethodES512, nil
		}
	}
	return nil, fmt.Errorf("the key of service account tokens is a %T: it must be of RSA, or of ECDSA on P-256, P-384 or P-521", key)
}

// LoadTokenKey reads a private key in PEM, as written by PEM or by kubeadm.
func LoadTokenKey(data []byte) (*TokenKey, error) {
	read, err := keyutil.ParsePrivateKeyPEM(data)
	if err != nil {
		return nil, fmt.Errorf("reading the key of service account tokens: %w", err)
	}
	key, ok := read.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("reading the key of service account tokens: a %T cannot sign", read)
	}
	return newTokenKey(key)
}

// PEM returns the private key in PEM.
func (k *TokenKey) PEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.key)
	if err != nil {
		return nil, fmt.Errorf("encoding the key of service account tokens: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
