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

// TokenKey signs the tokens of service accounts.
type TokenKey struct {
	key crypto.Signer
	PublicTokenKey
}

// PublicTokenKey verifies the tokens that a TokenKey signs.
type PublicTokenKey struct {
	public crypto.PublicKey
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
	public, err := newPublicTokenKey(key.Public())
	if err != nil {
		return nil, err
	}
	return &TokenKey{key: key, PublicTokenKey: *public}, nil
}

func newPublicTokenKey(public crypto.PublicKey) (*PublicTokenKey, error) {
	method, err := methodOf(public)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("encoding the public key of service account tokens: %w", err)
	}
	sum := sha256.Sum256(der)
	return &PublicTokenKey{public: public, method: method, id: base64.RawURLEncoding.EncodeToString(sum[:])}, nil
}

// methodOf returns the signing method of a key, as upstream.
func methodOf(public crypto.PublicKey) (jwt.SigningMethod, error) {
	switch key := public.(type) {
	case *rsa.PublicKey:
		return jwt.SigningMethodRS256, nil
	case *ecdsa.PublicKey:
		switch key.Curve {
		case elliptic.P256():
			return jwt.SigningMethodES256, nil
		case elliptic.P384():
			return jwt.SigningMethodES384, nil
		case elliptic.P521():
			return jwt.SigningMethodES512, nil
		}
	}
	return nil, fmt.Errorf("the key of service account tokens is a %T: it must be of RSA, or of ECDSA on P-256, P-384 or P-521", public)
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

// PEM returns the private key in PEM, in the formats that every flag of kube-apiserver for
// such keys reads: SEC 1 for ECDSA and PKCS #1 for RSA. --service-account-key-file does not
// read ECDSA keys in PKCS #8.
func (k *TokenKey) PEM() ([]byte, error) {
	switch key := k.key.(type) {
	case *rsa.PrivateKey:
		return pem.EncodeToMemory(&pem.Block{Type: keyutil.RSAPrivateKeyBlockType, Bytes: x509.MarshalPKCS1PrivateKey(key)}), nil
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return nil, fmt.Errorf("encoding the key of service account tokens: %w", err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: keyutil.ECPrivateKeyBlockType, Bytes: der}), nil
	}
	return nil, fmt.Errorf("encoding the key of service account tokens: a %T cannot be encoded", k.key)
}

// PublicPEM returns the public key in PEM.
func (k *PublicTokenKey) PublicPEM() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(k.public)
	if err != nil {
		return nil, fmt.Errorf("encoding the public key of service account tokens: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: der}), nil
}

// LoadPublicTokenKeys reads the keys in PEM: public or private keys, or certificates.
func LoadPublicTokenKeys(data []byte) ([]*PublicTokenKey, error) {
	read, err := keyutil.ParsePublicKeysPEM(data)
	if err != nil {
		return nil, fmt.Errorf("reading the public keys of service account tokens: %w", err)
	}
	keys := make([]*PublicTokenKey, len(read))
	for i, public := range read {
		if keys[i], err = newPublicTokenKey(public); err != nil {
			return nil, err
		}
	}
	return keys, nil
}
