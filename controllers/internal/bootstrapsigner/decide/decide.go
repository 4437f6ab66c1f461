package decide

import (
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/cluster-bootstrap/token/jws"
	"k8s.io/cluster-bootstrap/util/secrets"
)

// Signatures returns the data of the ConfigMap cluster-info with a signature of its
// kubeconfig for each of the secrets that is a bootstrap token for signing, and no other
// signatures. changed is false if it already is so, or if there is no kubeconfig to sign.
func Signatures(info *corev1.ConfigMap, tokens []*corev1.Secret, now time.Time) (data map[string]string, changed bool, err error) {
	kubeconfig, ok := info.Data[bootstrapapi.KubeConfigKey]
	if !ok {
		return info.Data, false, nil
	}
	data = maps.Clone(info.Data)
	maps.DeleteFunc(data, func(key, _ string) bool { return strings.HasPrefix(key, bootstrapapi.JWSSignatureKeyPrefix) })
	for _, token := range tokens {
		id, secret, ok := signing(token, now)
		if !ok {
			continue
		}
		signature, err := jws.ComputeDetachedSignature(kubeconfig, id, secret)
		if err != nil {
			return nil, false, fmt.Errorf("signing with the bootstrap token %s: %w", id, err)
		}
		data[bootstrapapi.JWSSignatureKeyPrefix+id] = signature
	}
	return data, !maps.Equal(data, info.Data), nil
}

// signing returns the ID and the secret of a token that is valid and signs.
func signing(token *corev1.Secret, now time.Time) (id, secret string, ok bool) {
	named, ok := secrets.ParseName(token.Name)
	id, secret = secrets.GetData(token, bootstrapapi.BootstrapTokenIDKey), secrets.GetData(token, bootstrapapi.BootstrapTokenSecretKey)
	ok = ok && token.Type == bootstrapapi.SecretTypeBootstrapToken && id == named && secret != "" &&
		!secrets.HasExpired(token, now) && secrets.GetData(token, bootstrapapi.BootstrapTokenUsageSigningKey) == "true"
	return id, secret, ok
}
