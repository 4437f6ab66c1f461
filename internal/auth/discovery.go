package auth

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
)

// The paths of the documents with which clients verify tokens (Kubernetes
// documentation, "ServiceAccount token issuer discovery").
const (
	ConfigurationPath = "/.well-known/openid-configuration"
	KeySetPath        = "/openid/v1/jwks"
)

// Configuration returns the OpenID provider configuration, with the URL of the keys on
// host.
func (t *Tokens) Configuration(host string) ([]byte, error) {
	var algorithms []string
	for _, key := range t.trusted() {
		algorithms = append(algorithms, key.method.Alg())
	}
	slices.Sort(algorithms)
	return json.Marshal(struct {
		Issuer        string   `json:"issuer"`
		KeySet        string   `json:"jwks_uri"`
		ResponseTypes []string `json:"response_types_supported"`
		SubjectTypes  []string `json:"subject_types_supported"`
		Algorithms    []string `json:"id_token_signing_alg_values_supported"`
	}{t.issuers()[0], "https://" + host + KeySetPath, []string{"id_token"}, []string{"public"}, slices.Compact(algorithms)})
}

// jsonWebKey is a public key (RFC 7517; RFC 7518, 6.2 and 6.3).
type jsonWebKey struct {
	Use       string `json:"use"`
	Type      string `json:"kty"`
	ID        string `json:"kid"`
	Algorithm string `json:"alg"`
	Curve     string `json:"crv,omitempty"`
	X         string `json:"x,omitempty"`
	Y         string `json:"y,omitempty"`
	Modulus   string `json:"n,omitempty"`
	Exponent  string `json:"e,omitempty"`
}

// KeySet returns the JSON Web Key Set with the public keys.
func (t *Tokens) KeySet() ([]byte, error) {
	keys := []jsonWebKey{}
	for _, trusted := range t.trusted() {
		key, err := trusted.jsonWebKey()
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return json.Marshal(struct {
		Keys []jsonWebKey `json:"keys"`
	}{keys})
}

func (k *PublicTokenKey) jsonWebKey() (jsonWebKey, error) {
	encode := base64.RawURLEncoding.EncodeToString
	key := jsonWebKey{Use: "sig", ID: k.id, Algorithm: k.method.Alg()}
	switch public := k.public.(type) {
	case *ecdsa.PublicKey:
		point, err := public.Bytes() // 4, X, Y
		if err != nil {
			return key, fmt.Errorf("encoding the public key of service account tokens: %w", err)
		}
		half := (len(point) - 1) / 2
		key.Type, key.Curve = "EC", public.Curve.Params().Name
		key.X, key.Y = encode(point[1:1+half]), encode(point[1+half:])
	case *rsa.PublicKey:
		key.Type, key.Modulus, key.Exponent = "RSA", encode(public.N.Bytes()), encode(big.NewInt(int64(public.E)).Bytes())
	default:
		return key, fmt.Errorf("the public key of service account tokens is a %T", public)
	}
	return key, nil
}
