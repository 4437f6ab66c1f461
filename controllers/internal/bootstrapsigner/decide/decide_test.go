package decide

import (
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cluster-bootstrap/token/jws"
)

func token(name string, change ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: "bootstrap.kubernetes.io/token", Data: map[string][]byte{
		"token-id": []byte("abcdef"), "token-secret": []byte("0123456789abcdef"), "usage-bootstrap-signing": []byte("true"),
	}}
	for i := 0; i < len(change); i += 2 {
		s.Data[change[i]] = []byte(change[i+1])
	}
	return s
}

func TestSignatures(t *testing.T) {
	now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	const key, name = "jws-kubeconfig-abcdef", "bootstrap-token-abcdef"
	signature, err := jws.ComputeDetachedSignature("config", "abcdef", "0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	other := token(name)
	other.Type = corev1.SecretTypeOpaque
	for what, test := range map[string]struct {
		data    map[string]string
		tokens  []*corev1.Secret
		signed  bool
		changed bool
	}{
		"new":              {map[string]string{"kubeconfig": "config", "x": "y"}, []*corev1.Secret{token(name)}, true, true},
		"nothing to do":    {map[string]string{"kubeconfig": "config", key: signature}, []*corev1.Secret{token(name)}, true, false},
		"wrong signature":  {map[string]string{"kubeconfig": "config", key: "x"}, []*corev1.Secret{token(name)}, true, true},
		"no token":         {map[string]string{"kubeconfig": "config", key: signature}, nil, false, true},
		"no kubeconfig":    {map[string]string{"x": "y"}, []*corev1.Secret{token(name)}, false, false},
		"no tokens at all": {map[string]string{"kubeconfig": "config"}, nil, false, false},
		"another type":     {map[string]string{"kubeconfig": "config"}, []*corev1.Secret{other}, false, false},
		"another name":     {map[string]string{"kubeconfig": "config"}, []*corev1.Secret{token("bootstrap-token-abcdee")}, false, false},
		"no name":          {map[string]string{"kubeconfig": "config"}, []*corev1.Secret{token("abcdef")}, false, false},
		"no secret":        {map[string]string{"kubeconfig": "config"}, []*corev1.Secret{token(name, "token-secret", "")}, false, false},
		"not for signing":  {map[string]string{"kubeconfig": "config"}, []*corev1.Secret{token(name, "usage-bootstrap-signing", "false")}, false, false},
		"expired":          {map[string]string{"kubeconfig": "config", key: signature}, []*corev1.Secret{token(name, "expiration", "2026-01-05T00:00:00Z")}, false, true},
		"not expired":      {map[string]string{"kubeconfig": "config"}, []*corev1.Secret{token(name, "expiration", "2026-01-05T00:00:01Z")}, true, true},
		"unreadable time":  {map[string]string{"kubeconfig": "config"}, []*corev1.Secret{token(name, "expiration", "soon")}, false, false},
	} {
		before := maps.Clone(test.data)
		data, changed, err := Signatures(&corev1.ConfigMap{Data: test.data}, test.tokens, now)
		if err != nil || changed != test.changed || data[key] == signature != test.signed || data["x"] != test.data["x"] {
			t.Errorf("%s: %v, %v, %v", what, data, changed, err)
		}
		if !test.signed && slices.Contains(slices.Collect(maps.Keys(data)), key) {
			t.Errorf("%s: a signature is left", what)
		}
		if !maps.Equal(before, test.data) {
			t.Errorf("%s: the argument has changed", what)
		}
	}
}
