package encryption

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"
)

// FuzzOpen checks that any configuration is either refused, or has keys that read what they
// have written. KMS plugins are left out: the configuration says how long they are waited for.
func FuzzOpen(f *testing.F) {
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"
	const key = "keys: [{name: key1, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]"
	for _, text := range []string{
		head + "- resources: [secrets]\n  providers: [{aescbc: {" + key + "}}, {identity: {}}]\n",
		head + "- resources: ['*.*']\n  providers: [{secretbox: {" + key + "}}]\n",
		head + "- resources: [configmaps, widgets.example.com]\n  providers: [{aesgcm: {" + key + "}}]\n",
		head + "- resources: ['*.']\n  providers: [{identity: {}}]\n",
		"{}", "a: &a [b]\nc: [*a, *a]",
	} {
		f.Add([]byte(text))
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(bytes.ToLower(data), []byte("kms")) {
			return
		}
		path := filepath.Join(t.TempDir(), "encryption.yaml")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := Open(ended, path, "")
		if err != nil {
			return
		}
		defer keys.Close()
		transformer, at := keys.For(schema.GroupResource{Resource: "secrets"}), value.DefaultContext("/registry/secrets/a/b")
		stored, err := transformer.TransformToStorage(t.Context(), []byte("plain"), at)
		if err != nil {
			return // a provider that only reads
		}
		if plain, _, err := transformer.TransformFromStorage(t.Context(), stored, at); err != nil || string(plain) != "plain" {
			t.Errorf("%q is read as %q: %v", stored, plain, err)
		}
	})
}
