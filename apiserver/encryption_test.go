package apiserver_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kms/pkg/service"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/apiserver/internal/encryption"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/store"
)

const (
	keyA = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=" // 32 bytes
	keyB = "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI="
)

// encryptionFile writes an EncryptionConfiguration for a list of resources.
func encryptionFile(t *testing.T, resources string, providers ...string) string {
	t.Helper()
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [" + resources + "]\n  providers:\n"
	for _, provider := range providers {
		text += "  - " + provider + "\n"
	}
	path := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// withKeys returns an option of start for a server on s that encrypts as the file says.
func withKeys(t *testing.T, s store.Store, path string) func(*apiserver.Options) {
	t.Helper()
	keys, err := encryption.Open(t.Context(), path, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(keys.Close)
	return func(o *apiserver.Options) { o.Store, o.Encryption = unclosed{s}, keys }
}

// unclosed is a store that several servers use in turn.
type unclosed struct{ store.Store }

func (unclosed) Close() error { return nil }

func secretsOf(t *testing.T, h *harness) interface {
	Create(context.Context, *corev1.Secret, metav1.CreateOptions) (*corev1.Secret, error)
	Update(context.Context, *corev1.Secret, metav1.UpdateOptions) (*corev1.Secret, error)
	Get(context.Context, string, metav1.GetOptions) (*corev1.Secret, error)
	List(context.Context, metav1.ListOptions) (*corev1.SecretList, error)
} {
	t.Helper()
	client, err := kubernetes.NewForConfig(h.server.Config("tester", auth.GroupMasters))
	if err != nil {
		t.Fatal(err)
	}
	return client.CoreV1().Secrets("default")
}

func createSecret(t *testing.T, h *harness, name string) *corev1.Secret {
	t.Helper()
	created, err := secretsOf(t, h).Create(h.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"password": "open sesame"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// createNodePort makes the server store the allocated node ports.
func createNodePort(t *testing.T, h *harness) {
	t.Helper()
	client, err := kubernetes.NewForConfig(h.server.Config("tester", auth.GroupMasters))
	if err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := client.CoreV1().Services("default").Create(h.ctx, service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func rawValue(t *testing.T, s store.Store, key string) []byte {
	t.Helper()
	kv, err := s.Get(t.Context(), key, 0)
	if err != nil {
		t.Fatal(err)
	}
	return kv.Value
}

// upstreamTransformer returns the transformer that kube-apiserver has for a resource's values
// under the configuration.
func upstreamTransformer(t *testing.T, path string, resource schema.GroupResource) value.Transformer {
	t.Helper()
	config, err := encryptionconfig.LoadEncryptionConfig(t.Context(), path, false, "upstream")
	if err != nil {
		t.Fatal(err)
	}
	return encryptionconfig.StaticTransformers(config.Transformers).TransformerForResource(resource)
}

// TestEncryptedValues checks the stored values of each provider: their prefix, that the
// transformer of a kube-apiserver with the configuration opens them under their own key only,
// and that the server reads a value that this transformer has written.
func TestEncryptedValues(t *testing.T) {
	t.Parallel()
	kms := startKMS(t)
	for name, provider := range map[string]string{
		"k8s:enc:aescbc:v1:key1:":    "aescbc: {keys: [{name: key1, secret: " + keyA + "}]}",
		"k8s:enc:aesgcm:v1:key1:":    "aesgcm: {keys: [{name: key1, secret: " + keyA + "}]}",
		"k8s:enc:secretbox:v1:key1:": "secretbox: {keys: [{name: key1, secret: " + keyA + "}]}",
		"k8s:enc:kms:v2:plugin:":     "kms: {apiVersion: v2, name: plugin, endpoint: 'unix://" + kms + "', timeout: 3s}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := store.NewMemory()
			path := encryptionFile(t, "'*.*'", provider)
			h := start(t, withKeys(t, s, path))
			createSecret(t, h, "a")
			createNodePort(t, h)
			const key = "/registry/secrets/default/a"
			raw := rawValue(t, s, key)
			if !bytes.HasPrefix(raw, []byte(name)) || bytes.Contains(raw, []byte("sesame")) {
				t.Errorf("stored is %.60q", raw)
			}
			for _, other := range []string{"/registry/namespaces/default", "/registry/ranges/servicenodeports"} {
				if raw := rawValue(t, s, other); !bytes.HasPrefix(raw, []byte(name)) {
					t.Errorf("%s is %.60q", other, raw)
				}
			}
			upstream := upstreamTransformer(t, path, schema.GroupResource{Resource: "secrets"})
			plain, stale, err := upstream.TransformFromStorage(t.Context(), raw, value.DefaultContext(key))
			if err != nil || stale || !bytes.HasPrefix(plain, []byte("k8s\x00")) {
				t.Fatalf("upstream reads %.20q, stale %t, %v", plain, stale, err)
			}
			if _, _, err := upstream.TransformFromStorage(t.Context(), raw, value.DefaultContext(key+"b")); err == nil && !strings.Contains(name, "aescbc") && !strings.Contains(name, "secretbox") {
				t.Error("the value opens under another key")
			}
			const moved = "/registry/secrets/default/b"
			written := `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"b","namespace":"default","uid":"u"},"data":{"password":"b3BlbiBzZXNhbWU="},"type":"Opaque"}`
			sealed, err := upstream.TransformToStorage(t.Context(), []byte(written), value.DefaultContext(moved))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Put(t.Context(), moved, sealed, 0); err != nil {
				t.Fatal(err)
			}
			got, err := secretsOf(t, h).Get(h.ctx, "b", metav1.GetOptions{})
			if err != nil || string(got.Data["password"]) != "open sesame" {
				t.Errorf("read %v, %v", got, err)
			}
		})
	}
}

// TestEncryptionChanges follows a store through three configurations: plain, key A with
// identity, and key B without A. An update without changes encrypts a plain value, and one
// with the current key writes nothing. A value that no key opens is an error of upstream's
// text.
func TestEncryptionChanges(t *testing.T) {
	t.Parallel()
	s := store.NewMemory()
	const key = "/registry/secrets/default/a"
	h := start(t, func(o *apiserver.Options) { o.Store = unclosed{s} })
	createSecret(t, h, "a")
	if raw := rawValue(t, s, key); !bytes.HasPrefix(raw, []byte("k8s\x00")) {
		t.Errorf("stored is %.40q", raw)
	}
	h.server.Close()

	h = start(t, withKeys(t, s, encryptionFile(t, "secrets", "aesgcm: {keys: [{name: a, secret: "+keyA+"}]}", "identity: {}")))
	same, err := secretsOf(t, h).Get(h.ctx, "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rewritten, err := secretsOf(t, h).Update(h.ctx, same, metav1.UpdateOptions{})
	if err != nil || rewritten.ResourceVersion == same.ResourceVersion {
		t.Errorf("the update did not write: %v", err)
	}
	if raw := rawValue(t, s, key); !bytes.HasPrefix(raw, []byte("k8s:enc:aesgcm:v1:a:")) {
		t.Errorf("stored is %.40q", raw)
	}
	again, err := secretsOf(t, h).Update(h.ctx, rewritten, metav1.UpdateOptions{})
	if err != nil || again.ResourceVersion != rewritten.ResourceVersion {
		t.Errorf("the second update wrote: %v", err)
	}
	h.server.Close()

	h = start(t, withKeys(t, s, encryptionFile(t, "secrets", "secretbox: {keys: [{name: b, secret: "+keyB+"}]}")))
	_, err = secretsOf(t, h).Get(h.ctx, "a", metav1.GetOptions{})
	if err == nil || err.Error() != "Internal error occurred: no matching prefix found" {
		t.Errorf("reading a value of another key: %v", err)
	}
	_, err = secretsOf(t, h).List(h.ctx, metav1.ListOptions{})
	if err == nil || !strings.Contains(err.Error(), `unable to transform key "/registry/secrets/default/a": no matching prefix found`) {
		t.Errorf("listing a value of another key: %v", err)
	}
	h.server.Close()

	h = start(t, func(o *apiserver.Options) { o.Store = unclosed{s} })
	_, err = secretsOf(t, h).Get(h.ctx, "a", metav1.GetOptions{})
	if err == nil || err.Error() != "Internal error occurred: identity transformer tried to read encrypted data" {
		t.Errorf("reading an encrypted value without a configuration: %v", err)
	}
}

// TestBadEncryptionConfigs checks that the error names the file and what is wrong.
func TestBadEncryptionConfigs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ provider, want string }{
		"short key": {"aescbc: {keys: [{name: a, secret: YQ==}]}", "resources[0].providers[0].aescbc.keys[0].secret"},
		"unknown":   {"rot13: {}", "rot13"},
		"no plugin": {"kms: {apiVersion: v2, name: absent, endpoint: 'unix:///nowhere/kms.sock', timeout: 1s}", "kms-provider-0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := encryptionFile(t, "secrets", test.provider)
			_, err := encryption.Open(t.Context(), path, "test")
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want one of %s with %q", err, path, test.want)
			}
		})
	}
}

// startKMS serves the KMS v2 API on a unix socket, and returns its path.
func startKMS(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kms") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	server := service.NewGRPCService(path, 5*time.Second, reversing{})
	done := make(chan error, 1)
	go func() { done <- server.ListenAndServe() }()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	return path
}

// reversing is a KMS plugin that encrypts by reversing.
type reversing struct{}

func reversed(data []byte) []byte {
	out := make([]byte, len(data))
	for i, b := range data {
		out[len(data)-1-i] = b
	}
	return out
}

func (reversing) Status(context.Context) (*service.StatusResponse, error) {
	return &service.StatusResponse{Version: "v2", Healthz: "ok", KeyID: "k"}, nil
}

func (reversing) Encrypt(_ context.Context, _ string, data []byte) (*service.EncryptResponse, error) {
	return &service.EncryptResponse{Ciphertext: reversed(data), KeyID: "k"}, nil
}

func (reversing) Decrypt(_ context.Context, _ string, req *service.DecryptRequest) ([]byte, error) {
	return reversed(req.Ciphertext), nil
}
