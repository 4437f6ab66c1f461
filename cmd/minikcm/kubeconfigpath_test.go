package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestKubeconfigPath(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	standard := filepath.Join(home, ".minikcm", "kubeconfig")
	expect := func(when, dataDir, want string) {
		t.Helper()
		if got, err := freeKubeconfigPath(t.Context(), dataDir, ""); err != nil || got != want {
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
	if path, err := freeKubeconfigPath(t.Context(), "", ""); err == nil {
		t.Errorf("without a home directory: %s", path)
	}
}

// kubectl uses the cluster of "minikcm up", unless KUBECONFIG selects a minikcm cluster or the
// arguments select another one.
func TestChooseKubeconfig(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	standard := filepath.Join(home, ".minikcm", "kubeconfig")
	if err := os.MkdirAll(filepath.Dir(standard), 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	write := func(path, context, server string) {
		t.Helper()
		text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: %[1]s, contexts: [{name: %[1]s, context: {cluster: a, user: a}}],
users: [{name: a, user: {}}], clusters: [{name: a, cluster: {server: "https://%[2]s"}}]}`, context, server)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ours, foreign, absent := filepath.Join(home, "ours"), filepath.Join(home, "foreign"), filepath.Join(home, "absent")
	write(ours, "minikcm", "127.0.0.1:1")
	write(foreign, "production", "127.0.0.1:1")
	broken := filepath.Join(home, "broken")
	if err := os.WriteFile(broken, []byte("clusters: {"), 0o600); err != nil {
		t.Fatal(err)
	}
	pods := []string{"get", "pods"}
	for _, test := range []struct {
		name, env            string
		running              bool
		args                 []string
		want, note, mistaken string
	}{
		{"nothing is set", "", true, pods, standard, "", ""},
		{"nothing runs", "", false, pods, standard, "", ""},
		{"ours", ours, true, pods, ours, "", ""},
		{"ours among others", foreign + ":" + ours, true, pods, standard, "not that of KUBECONFIG=" + foreign + ":" + ours, ""},
		{"ours first", ours + ":" + foreign, true, pods, ours + ":" + foreign, "", ""},
		{"foreign", foreign, true, pods, standard, `minikcm: using the cluster of "minikcm up" (` + standard + "), not that of KUBECONFIG=" + foreign, ""},
		{"absent", absent, true, pods, absent, "", "KUBECONFIG=" + absent + " does not exist"},
		{"foreign and absent", foreign + ":" + absent, true, pods, standard, "not that of KUBECONFIG=" + foreign + ":" + absent, ""},
		{"broken", broken, true, pods, broken, "", "KUBECONFIG=" + broken + " cannot be used"},
		{"broken, but no cluster is needed", broken, true, []string{"completion", "bash"}, broken, "", ""},
		{"foreign, and nothing runs", foreign, false, pods, foreign, "", "use minikcm kubectl --kubeconfig " + foreign + " ... for that cluster"},
		{"a file is named", foreign, true, []string{"--kubeconfig=x", "get", "pods"}, foreign, "", ""},
		{"a context is named", foreign, true, []string{"get", "pods", "--context", "production"}, foreign, "", ""},
		{"a context is named to another program", foreign, false, []string{"exec", "a", "--", "kubectl", "--context", "b"}, foreign, "", "is not a minikcm cluster"},
		{"no cluster is needed", foreign, false, []string{"completion", "bash"}, foreign, "", ""},
		{"help", foreign, false, []string{"get", "-h"}, foreign, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", test.env)
			server := "127.0.0.1:1"
			if test.running {
				server = listener.Addr().String()
			}
			write(standard, "minikcm", server)
			var errOut strings.Builder
			_, err := chooseKubeconfig(t.Context(), &errOut, test.args)
			switch {
			case test.mistaken != "" && (err == nil || !strings.Contains(err.Error(), test.mistaken)):
				t.Errorf("got error %v, want %s", err, test.mistaken)
			case test.mistaken == "" && err != nil:
				t.Error(err)
			}
			if got := os.Getenv("KUBECONFIG"); got != test.want {
				t.Errorf("KUBECONFIG is %s, want %s", got, test.want)
			}
			if got := errOut.String(); !strings.Contains(got, test.note) || (test.note == "") != (got == "") {
				t.Errorf("the note is %q, want %q", got, test.note)
			}
		})
	}
}

// A kubeconfig of another user of the cluster selects it, too.
func TestIsOurs(t *testing.T) {
	data, err := userKubeconfig(&rest.Config{Host: "https://127.0.0.1:1"}, "jane", "", &clientcmdapi.AuthInfo{Token: "x"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if !isOurs(file) || isOurs(filepath.Join(t.TempDir(), "none")) {
		t.Errorf("the kubeconfig of a user is ours: %v, one that does not exist: %v", isOurs(file), isOurs("none"))
	}
}
