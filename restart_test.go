package minikcm_test

import (
	"bytes"
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// start starts a cluster that ends with the test, if the test has not ended it.
func start(t *testing.T, opts minikcm.Options) *minikcm.Cluster {
	t.Helper()
	c, err := minikcm.Start(t.Context(), opts)
	if err != nil {
		t.Fatalf("starting a cluster: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing the cluster: %v", err)
		}
	})
	return c
}

func createWeb(t *testing.T, client kubernetes.Interface, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": "web"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// podsOf returns the fields of every pod that must survive a restart.
func podsOf(t *testing.T, client kubernetes.Interface) map[string]corev1.PodStatus {
	t.Helper()
	list, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pods := map[string]corev1.PodStatus{}
	for _, pod := range list.Items {
		pods[pod.Name+" "+string(pod.UID)+" on "+pod.Spec.NodeName] = pod.Status
	}
	return pods
}

// advance lets time pass on a virtual clock.
func advance(t *testing.T, c *minikcm.Cluster, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Advance(ctx, d); err != nil {
		t.Fatal(err)
	}
}

// A data directory keeps objects and certificates over a restart, and whatever ran
// still runs: no pod is replaced or restarted, however long the cluster was down.
func TestRestartOnDataDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	opts := minikcm.Options{
		Storage: minikcm.StorageOptions{DataDir: dir},
		Nodes:   minikcm.NodeOptions{Count: 3},
		Clock:   minikcm.ClockOptions{Mode: clock.ModeVirtual},
		Seed:    1,
		API:     minikcm.APIOptions{KubeconfigPath: filepath.Join(dir, "kubeconfig")},
	}
	first := start(t, opts)
	createWeb(t, first.Client(), 4)
	advance(t, first, 10*time.Minute)
	before, kubeconfig := podsOf(t, first.Client()), first.Kubeconfig()
	if len(before) != 4 {
		t.Fatalf("there are %d pods, want 4", len(before))
	}
	for name, status := range before {
		if status.Phase != corev1.PodRunning {
			t.Errorf("pod %s is %s, want Running", name, status.Phase)
		}
	}
	ended := first.Clock().Now()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(opts.API.KubeconfigPath); err == nil {
		t.Error("the kubeconfig is left behind")
	}
	for _, down := range []time.Duration{time.Minute, 24 * time.Hour} {
		opts.Clock.Start = ended.Add(down)
		again := start(t, opts)
		advance(t, again, 20*time.Minute)
		if diff := cmp.Diff(before, podsOf(t, again.Client())); diff != "" {
			t.Errorf("pods differ after the cluster was down for %v (-before +after):\n%s", down, diff)
		}
		if !bytes.Equal(authorityIn(t, kubeconfig), authorityIn(t, again.Kubeconfig())) {
			t.Error("the certificate authority is another one")
		}
		talkWith(t, kubeconfig, again.Address())
		ended = again.Clock().Now()
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func authorityIn(t *testing.T, kubeconfig []byte) []byte {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return config.CAData
}

// talkWith uses the credentials of a kubeconfig at another address.
func talkWith(t *testing.T, kubeconfig []byte, address string) {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Host = address
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
		t.Errorf("an earlier kubeconfig is of no use any more: %v", err)
	}
}

// contents returns a directory's files but for locks.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A data directory that cannot be used is left as it is, and the error names what is
// wrong.
func TestDamagedDataDir(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		damage func(t *testing.T, dir string)
		want   []string // with DIR for the data directory
	}{
		"certificate": {
			func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "pki", "ca.crt"), "garbage") },
			[]string{"certificate authority in DIR/pki"},
		},
		"key": {
			func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "pki", "ca.key"), "garbage") },
			[]string{"certificate authority in DIR/pki"},
		},
		"key lost": {
			func(t *testing.T, dir string) {
				if err := os.Remove(filepath.Join(dir, "pki", "ca.key")); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"certificate authority's key", "DIR/pki/ca.key"},
		},
		"database": {
			func(t *testing.T, dir string) {
				writeFile(t, filepath.Join(dir, "etcd", "member", "snap", "db"), strings.Repeat("garbage ", 8<<10))
			},
			[]string{"DIR/etcd", "damaged"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			opts := minikcm.Options{Storage: minikcm.StorageOptions{DataDir: dir}, API: minikcm.APIOptions{NoHTTPS: true}}
			if err := start(t, opts).Close(); err != nil {
				t.Fatal(err)
			}
			test.damage(t, dir)
			before := contents(t, dir)
			_, err := minikcm.Start(t.Context(), opts)
			if err == nil {
				t.Fatal("the cluster has started")
			}
			for _, want := range test.want {
				if want := strings.ReplaceAll(want, "DIR", dir); !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
			if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
				t.Errorf("the directory has been changed")
			}
		})
	}
}

// Not every path can be a data directory, and one serves one cluster at a time.
func TestDataDirRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, "")
	if _, err := minikcm.Start(t.Context(), minikcm.Options{Storage: minikcm.StorageOptions{DataDir: file}}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file as data directory: %v", err)
	}
	opts := minikcm.Options{Storage: minikcm.StorageOptions{DataDir: filepath.Join(t.TempDir(), "data")}, API: minikcm.APIOptions{NoHTTPS: true}}
	c := start(t, opts)
	if _, err := minikcm.Start(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("a second cluster on the same directory: %v", err)
	}
	if _, err := c.Client().CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("the first cluster has suffered: %v", err)
	}
}

// A cluster with the identity of an earlier one accepts its kubeconfig, at the same port.
func TestIdentity(t *testing.T) {
	t.Parallel()
	first, err := minikcm.Start(t.Context(), minikcm.Options{Nodes: minikcm.NodeOptions{Count: -1}})
	if err != nil {
		t.Fatal(err)
	}
	old, err := first.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(first.Address())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	opts := minikcm.Options{Nodes: minikcm.NodeOptions{Count: -1}, Security: minikcm.SecurityOptions{Identity: first.Identity()}}
	if opts.API.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	second, err := minikcm.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := kubernetes.NewForConfigOrDie(old).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("with the first cluster's kubeconfig: %v", err)
	}
	if _, err := minikcm.Start(t.Context(), minikcm.Options{Security: minikcm.SecurityOptions{Identity: first.Identity()}, Storage: minikcm.StorageOptions{DataDir: t.TempDir()}}); err == nil {
		t.Error("an identity and a data directory are accepted together")
	}
}
