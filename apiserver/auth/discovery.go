package auth

import (
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// Where the documents are by which others can check tokens (Kubernetes documentation,
// "ServiceAccount token issuer discovery").
const (
	ConfigurationPath = "/.well-known/openid-configuration"
	KeySetPath        = "/openid/v1/jwks"
)

// signingAlgorithm is that of every token.
const signingAlgorithm = "ES256"

// Configuration is the OpenID provider configuration, whose keys are to be had from
// host.
func (k *TokenKey) Configuration(host string) ([]byte, error) {
	return json.Marshal(struct {
		Issuer        string   `json:"issuer"`
		KeySet        string   `json:"jwks_uri"`
		ResponseTypes []string `json:"response_types_supported"`
		SubjectTypes  []string `json:"subject_types_supported"`
		Algorithms    []string `json:"id_token_signing_alg_values_supported"`
	}{DefaultIssuer, "https://" + host + KeySetPath, []string{"id_token"}, []string{"public"}, []string{signingAlgorithm}})
}

// jsonWebKey is a public key on a curve (RFC 7517, RFC 7518 6.2.1).
type jsonWebKey struct {
	Use       string `json:"use"`
	Type      string `json:"kty"`
	ID        string `json:"kid"`
	Curve     string `json:"crv"`
	Algorithm string `json:"alg"`
	X         string `json:"x"`
	Y         string `json:"y"`
}

// KeySet is the JSON Web Key Set of the public key.
func (k *TokenKey) KeySet() ([]byte, error) {
	public, ok := k.key.Public().(*ecdsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("the public key is a %T", k.key.Public())
	}
	point, err := public.Bytes() // 4, X, Y
	if err != nil {
		return nil, fmt.Errorf("encoding the public key of service account tokens: %w", err)
	}
	half := (len(point) - 1) / 2
	return json.Marshal(struct {
		Keys []jsonWebKey `json:"keys"`
	}{[]jsonWebKey{{
		Use: "sig", Type: "EC", ID: k.id, Curve: "P-256", Algorithm: signingAlgorithm,
		X: base64.RawURLEncoding.EncodeToString(point[1 : 1+half]), Y: base64.RawURLEncoding.EncodeToString(point[1+half:]),
	}}})
}
