package serviceaccounttoken

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func tokenSecret(uid string, data map[string][]byte) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", Annotations: map[string]string{corev1.ServiceAccountNameKey: "sa"}},
		Type:       corev1.SecretTypeServiceAccountToken, Data: data,
	}
	if uid != "" {
		secret.Annotations[corev1.ServiceAccountUIDKey] = uid
	}
	return secret
}

func TestLackingAndFilled(t *testing.T) {
	ca := []byte("CA")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "sa", UID: "1"}}
	whole := map[string][]byte{"ca.crt": ca, "namespace": []byte("ns"), "token": []byte("new")}
	for name, test := range map[string]struct {
		data map[string][]byte
		ca   []byte
		want Wants
		then map[string][]byte
	}{
		"empty":             {nil, ca, Wants{true, true, true}, whole},
		"whole":             {whole, ca, Wants{}, whole},
		"another CA":        {map[string][]byte{"ca.crt": []byte("old"), "namespace": []byte("ns"), "token": []byte("t")}, ca, Wants{CA: true}, map[string][]byte{"ca.crt": ca, "namespace": []byte("ns"), "token": []byte("t")}},
		"no CA is known":    {map[string][]byte{"ca.crt": []byte("old")}, nil, Wants{Namespace: true, Token: true}, map[string][]byte{"ca.crt": []byte("old"), "namespace": []byte("ns"), "token": []byte("new")}},
		"another's token":   {map[string][]byte{"token": []byte("t"), "x": []byte("y")}, ca, Wants{CA: true, Namespace: true}, map[string][]byte{"ca.crt": ca, "namespace": []byte("ns"), "token": []byte("t"), "x": []byte("y")}},
		"another namespace": {map[string][]byte{"namespace": []byte("other"), "token": []byte("t"), "ca.crt": ca}, ca, Wants{}, map[string][]byte{"namespace": []byte("other"), "token": []byte("t"), "ca.crt": ca}},
	} {
		t.Run(name, func(t *testing.T) {
			secret := tokenSecret("", test.data)
			got := Lacking(secret, test.ca)
			if got != test.want || got.Any() != (test.want != Wants{}) {
				t.Errorf("it lacks %+v", got)
			}
			before := secret.DeepCopy()
			filled := Filled(secret, account, got, test.ca, "new")
			if diff := cmp.Diff(test.then, filled.Data); diff != "" {
				t.Error(diff)
			}
			if filled.Annotations[corev1.ServiceAccountUIDKey] != "1" {
				t.Errorf("annotations %v", filled.Annotations)
			}
			if diff := cmp.Diff(before, secret); diff != "" {
				t.Errorf("the cache's secret was changed: %s", diff)
			}
		})
	}
}

func TestBelongs(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "sa", UID: "1"}}
	opaque := tokenSecret("1", nil)
	opaque.Type = corev1.SecretTypeOpaque
	others := tokenSecret("1", nil)
	others.Annotations[corev1.ServiceAccountNameKey] = "other"
	for name, test := range map[string]struct {
		secret *corev1.Secret
		want   bool
	}{
		"not filled": {tokenSecret("", nil), true}, "filled": {tokenSecret("1", nil), true},
		"of an earlier account": {tokenSecret("0", nil), false}, "of another type": {opaque, false}, "another's": {others, false},
	} {
		if got := Belongs(test.secret, account); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWithout(t *testing.T) {
	account := &corev1.ServiceAccount{Secrets: []corev1.ObjectReference{{Name: "a"}, {Name: "b"}}}
	if got := Without(account, "c"); got != nil {
		t.Errorf("got %v", got)
	}
	got := Without(account, "a")
	if diff := cmp.Diff([]corev1.ObjectReference{{Name: "b"}}, got.Secrets); diff != "" || len(account.Secrets) != 2 {
		t.Error(diff)
	}
}
