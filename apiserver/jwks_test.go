package apiserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// verifyWith verifies a token's signature with a published public key.
func verifyWith(t *testing.T, published map[string]string, token string) {
	t.Helper()
	point := []byte{4}
	for _, name := range []string{"x", "y"} {
		part, err := base64.RawURLEncoding.DecodeString(published[name])
		if err != nil {
			t.Fatal(err)
		}
		point = append(point, part...)
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jwt.NewParser(jwt.WithoutClaimsValidation()).Parse(token, func(*jwt.Token) (any, error) { return key, nil })
	if err != nil || parsed.Header["kid"] != published["kid"] {
		t.Errorf("the token's header is %v: %v", parsed, err)
	}
}
