package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/storetest"
)

func createConfigMaps(t *testing.T, client kubernetes.Interface, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"name": name},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// configMaps returns the ConfigMaps that the cluster's controllers do not write, and the
// revision at which they were read.
func configMaps(t *testing.T, client kubernetes.Interface) (map[string]corev1.ConfigMap, int64) {
	t.Helper()
	list, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]corev1.ConfigMap{}
	for _, item := range list.Items {
		if item.Name != "kube-root-ca.crt" {
			found[item.Name] = item
		}
	}
	revision, err := strconv.ParseInt(list.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return found, revision
}

// transcript runs commands and records their output. Numbers that differ from run to run
// are masked.
func transcript(t *testing.T, dir string, commands ...[]string) string {
	t.Helper()
	var out strings.Builder
	for _, args := range commands {
		code, stdout, stderr := call(args...)
		fmt.Fprintf(&out, "$ minikcm %s\n%s%s[%d]\n", strings.Join(args, " "), stdout, stderr, code)
	}
	text := strings.ReplaceAll(out.String(), dir+"/", "")
	for _, figure := range []struct{ pattern, with string }{
		{`(?m)^[0-9a-f]{8} +\d+ +\d+ +\d+ kB +(<none>|3\S+)$`, "HHHHHHHH   N          N            N kB         V"},
		{`https://127\.0\.0\.1:\d+`, "https://ADDRESS"},
		{`\d+ keys`, "N keys"},
		{`revision \d+`, "revision N"},
		{`\d+ kB`, "N kB"},
		{`"(hash|revision|totalKey|totalSize)":\d+`, `"$1":N`},
		{`"version":"[^"]*"`, `"version":"V"`},
		{`SHA-256 is [0-9a-f]+, but [0-9a-f]+`, "SHA-256 is X, but Y"},
	} {
		text = regexp.MustCompile(figure.pattern).ReplaceAllString(text, figure.with)
	}
	return text
}

// A running cluster is saved and restored, and the restored cluster accepts new writes.
func TestEtcdSnapshot(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }

	p, kubeconfig := launchUp(t, t.TempDir(), "--nodes", "2", "--data-dir", file("data"))
	client := clientOf(t, kubeconfig)
	createConfigMaps(t, client, "a", "b")
	want, revision := configMaps(t, client)
	said := transcript(
		t, dir,
		[]string{"etcd-snapshot", "save", file("one.db"), "--kubeconfig", kubeconfig},
		[]string{"etcd-snapshot", "save", file("one.db"), "--kubeconfig", kubeconfig},
		[]string{"etcd-snapshot", "save", file("two.db"), "--data-dir", file("data")},
		[]string{"etcd-snapshot", "status", file("one.db")},
		[]string{"etcd-snapshot", "status", file("one.db"), "-o", "json"},
		[]string{"etcd-snapshot", "restore", file("one.db"), "--data-dir", file("data")},
		[]string{"etcd-snapshot", "restore", file("one.db"), "--data-dir", file("restored")},
		[]string{"etcd-snapshot", "restore", file("one.db"), "--data-dir", file("raised"), "--bump-revision", "1000000"},
	)
	createConfigMaps(t, client, "later")
	p.stop()
	damage(t, file("two.db"))
	said += transcript(
		t, dir,
		[]string{"etcd-snapshot", "save", file("stopped.db"), "--data-dir", file("data")},
		[]string{"etcd-snapshot", "save", file("three.db"), "--kubeconfig", kubeconfig},
		[]string{"etcd-snapshot", "save", file("three.db"), "--data-dir", file("nowhere")},
		[]string{"etcd-snapshot", "status", file("two.db")},
		[]string{"etcd-snapshot", "status", file("data")},
		[]string{"etcd-snapshot", "restore", file("two.db"), "--data-dir", file("four")},
		[]string{"etcd-snapshot", "restore", file("nowhere.db"), "--data-dir", file("four")},
		[]string{"up", "--from-snapshot", file("two.db")},
		[]string{"up", "--from-snapshot", file("one.db"), "--data-dir", file("data")},
	)
	golden.Compare(t, "testdata/etcd-snapshot.golden", said)

	for _, test := range []struct {
		args []string
		bump int64
	}{
		{[]string{"--data-dir", file("restored")}, 0},
		{[]string{"--data-dir", file("raised")}, 1_000_000},
		{[]string{"--from-snapshot", file("one.db")}, 0},
	} {
		p, kubeconfig := launchUp(t, t.TempDir(), append([]string{"--nodes", "2"}, test.args...)...)
		got, after := configMaps(t, clientOf(t, kubeconfig))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: (-saved +restored):\n%s", test.args, diff)
		}
		if after <= revision+test.bump {
			t.Errorf("%v: the revision is %d; it was %d and is raised by %d", test.args, after, revision, test.bump)
		}
		if n := nodesIn(t, kubeconfig); n != 2 {
			t.Errorf("%v: there are %d nodes, want 2", test.args, n)
		}
		p.stop()
	}
}

// damage flips a byte in the middle of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The content of an external etcd that a cluster uses can be saved.
func TestEtcdSnapshotOfEtcd(t *testing.T) {
	endpoint := storetest.StartEtcd(t, storetest.EtcdOptions{})
	p, kubeconfig := launchUp(t, t.TempDir(), "--etcd-servers", endpoint)
	createConfigMaps(t, clientOf(t, kubeconfig), "a")
	want, _ := configMaps(t, clientOf(t, kubeconfig))
	dir := t.TempDir()
	for name, args := range map[string][]string{
		"from etcd":        {"--etcd-servers", endpoint},
		"from the cluster": {"--kubeconfig", kubeconfig},
	} {
		file := filepath.Join(dir, name)
		if code, _, stderr := call(append([]string{"etcd-snapshot", "save", file}, args...)...); code != 0 {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
		}
		restored, kubeconfig := launchUp(t, t.TempDir(), "--from-snapshot", file)
		got, _ := configMaps(t, clientOf(t, kubeconfig))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-saved +restored):\n%s", name, diff)
		}
		restored.stop()
	}
	p.stop()
}
