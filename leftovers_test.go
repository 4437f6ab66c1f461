package minikcm_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// descriptors lists the open files and sockets of this process. Only Linux lists them.
func descriptors(t *testing.T) []string {
	t.Helper()
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		if runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		return nil
	}
	var open []string
	for _, entry := range entries {
		// One of them was open only for reading the directory.
		if target, err := os.Readlink(filepath.Join(dir, entry.Name())); err == nil && target != "/proc/self/fd" && !strings.HasPrefix(target, "anon_inode:") {
			open = append(open, target)
		}
	}
	return open
}

// Whichever way a cluster ends, it leaves no goroutine, no file, no socket behind.
func TestNothingIsLeftBehind(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, c := range map[string]struct {
		opts minikcm.Options
		err  string // what the error of the start holds; empty: it starts
	}{
		"real":         {minikcm.Options{Nodes: minikcm.NodeOptions{Count: 2}, API: minikcm.APIOptions{KubeconfigPath: filepath.Join(temporary, "config")}}, ""},
		"virtual":      {minikcm.Options{Clock: minikcm.ClockOptions{Mode: clock.ModeVirtual}, API: minikcm.APIOptions{NoHTTPS: true}}, ""},
		"not waited":   {minikcm.Options{NoWait: true}, ""},
		"data dir":     {minikcm.Options{Storage: minikcm.StorageOptions{DataDir: filepath.Join(t.TempDir(), "data")}}, ""},
		"port in use":  {minikcm.Options{API: minikcm.APIOptions{Port: taken.Addr().(*net.TCPAddr).Port}}, "address already in use"},
		"no etcd":      {minikcm.Options{Sharing: minikcm.SharingOptions{Etcd: store.EtcdOptions{Endpoints: []string{"http://127.0.0.1:1"}, DialTimeout: 50 * time.Millisecond}}}, "etcd"},
		"no directory": {minikcm.Options{API: minikcm.APIOptions{KubeconfigPath: filepath.Join(os.DevNull, "config")}}, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			before, open := goleak.IgnoreCurrent(), descriptors(t)
			cluster, err := minikcm.Start(t.Context(), c.opts)
			switch {
			case err == nil && c.err != "":
				t.Errorf("it starts, and should not (%s)", c.err)
			case err != nil && (c.err == "" || !strings.Contains(err.Error(), c.err)):
				t.Errorf("the start ends with %q, want %q", err, c.err)
			}
			if cluster != nil {
				useAndClose(t, cluster)
			}
			goleak.VerifyNone(t, before)
			if after := descriptors(t); len(after) > len(open) {
				t.Errorf("open before:\n%s\nand after:\n%s", strings.Join(open, "\n"), strings.Join(after, "\n"))
			}
			left, err := os.ReadDir(temporary)
			if err != nil || len(left) > 0 {
				t.Errorf("left in the directory for temporary files: %v, %v", left, err)
			}
		})
	}
}

// useAndClose leaves the cluster with a connection, a watch and pods on their way.
func useAndClose(t *testing.T, cluster *minikcm.Cluster) {
	t.Helper()
	client := cluster.Client()
	if config, err := cluster.HTTPSConfig(); err == nil {
		if client, err = kubernetes.NewForConfig(config); err != nil {
			t.Fatal(err)
		}
	}
	watcher, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	for i := range 3 {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
		}
		// A namespace takes pods as soon as it has its service account.
		if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Logf("creating a pod: %v", err)
		}
	}
	address := cluster.Address()
	var closing sync.WaitGroup
	for range 3 {
		closing.Go(func() {
			if err := cluster.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
		})
	}
	closing.Wait()
	select {
	case <-cluster.Done():
	default:
		t.Error("Close has returned, and Done is open")
	}
	if err := cluster.Err(); err != nil {
		t.Errorf("a cluster that was closed has failed: %v", err)
	}
	for range watcher.ResultChan() { // it ends, as the server does
	}
	if address == "" {
		return
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("the port is still taken: %v", err)
	}
	_ = listener.Close()
}
