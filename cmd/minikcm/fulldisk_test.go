//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// smallDisk mounts a file system of the given size in kB. resize changes the size.
func smallDisk(t *testing.T, kilobytes int) (dir string, resize func(kilobytes int)) {
	t.Helper()
	dir = t.TempDir()
	size := func(n int) string { return fmt.Sprintf("size=%dk", n) }
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, size(kilobytes)); err != nil {
		t.Skipf("mounting a small disk needs rights that this process has not: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, func(n int) {
		t.Helper()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, size(n)); err != nil {
			t.Fatal(err)
		}
	}
}

// fill writes a file until its disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk fills the disk of a data directory. The process ends and reports the reason.
// On a larger disk, all acknowledged writes are present.
func TestFullDisk(t *testing.T) {
	disk, resize := smallDisk(t, 40_000)
	data := filepath.Join(disk, "data")
	p, kubeconfig := launchUp(t, t.TempDir(), "--data-dir", data)
	client := clientOf(t, kubeconfig)
	acknowledged := map[string]string{}
	for i := 0; ; i++ {
		name := fmt.Sprintf("big-%03d", i)
		created, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"x": strings.Repeat("x", 500_000)},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Logf("after %d objects: %v", i, err)
			if apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err) {
				t.Fatal("the process lives on")
			}
			break
		}
		acknowledged[name] = created.ResourceVersion
	}
	code, _ := p.end()
	t.Logf("%s", p.stderr.String())
	if code != 1 {
		t.Errorf("it ends with %d", code)
	}
	for _, want := range []string{"the store in " + data + " failed: ", "no space left on device", "start again with the same data directory"} {
		if !strings.Contains(p.stderr.String(), want) {
			t.Errorf("it does not say %q", want)
		}
	}

	// While the disk is full, the cluster does not start and reports the reason. A file fills
	// the space that the first process left free.
	fill(t, filepath.Join(disk, "rest"))
	full := launch(t, t.TempDir(), "run", "up", "--data-dir", data)
	if code, _ := full.end(); code == 1 {
		t.Logf("%s", full.stderr.String())
		if said := full.stderr.String(); !strings.Contains(said, "the disk is full") && !strings.Contains(said, "no space left on device") {
			t.Errorf("on a full disk it says\n%s", full.stderr.String())
		}
	} else {
		t.Errorf("on a full disk it ends with %d: %s", code, full.stderr.String())
	}

	resize(200_000)
	again, kubeconfig := launchUp(t, t.TempDir(), "--data-dir", data)
	list, err := clientOf(t, kubeconfig).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range list.Items {
		if acknowledged[found.Name] == found.ResourceVersion {
			delete(acknowledged, found.Name)
		}
	}
	if len(acknowledged) > 0 {
		t.Errorf("%d acknowledged objects are lost", len(acknowledged))
	}
	again.stop()
}

// TestStartOnFullDisk starts a cluster on disks that become full at different moments of the
// start. Every start ends with an error, and on a larger disk the cluster starts.
func TestStartOnFullDisk(t *testing.T) {
	for kilobytes := 7_000; kilobytes < 18_500; kilobytes += 1000 {
		disk, resize := smallDisk(t, kilobytes)
		data := filepath.Join(disk, "data")
		p := launch(t, t.TempDir(), "run", "up", "--data-dir", data)
		if line, err := p.out.ReadString('\n'); err == nil {
			t.Logf("%d kB are enough to become ready: %s", kilobytes, line)
			_ = p.Process.Signal(syscall.SIGTERM) // the disk may have become full since
			p.end()
		} else if code, _ := p.end(); code != 1 || !strings.Contains(p.stderr.String(), "no space left on device") {
			t.Errorf("with %d kB it ends with %d: %s", kilobytes, code, p.stderr.String())
		}
		resize(200_000)
		again, kubeconfig := launchUp(t, t.TempDir(), "--data-dir", data)
		if nodes := nodesIn(t, kubeconfig); nodes != 1 {
			t.Errorf("with %d kB at first, there are %d nodes later", kilobytes, nodes)
		}
		again.stop()
	}
}
