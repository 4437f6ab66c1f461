package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestKubeconfigPath(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	standard := filepath.Join(home, ".minikcm", "kubeconfig")
	expect := func(when, dataDir, want string) {
		t.Helper()
		if got, err := freeKubeconfigPath(t.Context(), dataDir); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", when, got, err, want)
		}
	}
	expect("nothing is there", "", standard)
	expect("with a data directory", "data", filepath.Join("data", "kubeconfig"))

	if err := os.MkdirAll(filepath.Dir(standard), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(standard, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("garbage")
	expect("garbage is there", "", standard)

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	write(fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: minikcm,
contexts: [{name: minikcm, context: {cluster: minikcm, user: minikcm}}], users: [{name: minikcm, user: {}}],
clusters: [{name: minikcm, cluster: {server: "https://%s"}}]}`, listener.Addr()))
	expect("another cluster runs", "", fmt.Sprintf("%s-%d", standard, os.Getpid()))
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	expect("another cluster has run", "", standard)

	t.Setenv("HOME", "")
	if path, err := freeKubeconfigPath(t.Context(), ""); err == nil {
		t.Errorf("without a home directory: %s", path)
	}
}
