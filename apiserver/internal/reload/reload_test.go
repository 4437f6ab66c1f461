package reload

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// follow follows a file for as long as the test lives. It returns what becomes of content:
// "ok X" or "failed". Content that begins with "bad" is not valid.
func follow(t *testing.T, path string) <-chan string {
	t.Helper()
	results := make(chan string, 100)
	var tries atomic.Int32
	loaded, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Follow(File{
		Name: "test config", Path: path, Loaded: loaded, Logger: klog.Background(),
		retryAfter: time.Millisecond,
		Apply: func(_ context.Context, content []byte) error {
			if string(content) == "later" && tries.Add(1) < 3 {
				return Temporary(errors.New("not yet"))
			}
			if len(content) >= 3 && string(content[:3]) == "bad" {
				return errors.New("not valid")
			}
			return nil
		},
		Succeeded: func(content []byte) { results <- "ok " + string(content) },
		Failed:    func() { results <- "failed" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return results
}

// replace replaces a file as editors do.
func replace(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, results <-chan string, expected string) {
	t.Helper()
	timeout := clock.Real().NewTimer(30 * time.Second)
	defer timeout.Stop()
	select {
	case got := <-results:
		if got != expected {
			t.Fatalf("got %q, want %q", got, expected)
		}
	case <-timeout.C():
		t.Fatalf("nothing was applied, want %q", expected)
	}
}

func TestReplacedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	replace(t, path, "1")
	results := follow(t, path)
	replace(t, path, "2")
	want(t, results, "ok 2")
	replace(t, path, "bad")
	want(t, results, "failed")
	replace(t, path, "2") // the content in effect, after another one
	want(t, results, "ok 2")
	replace(t, path, "later")
	want(t, results, "failed")
	want(t, results, "failed")
	want(t, results, "ok later")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	replace(t, path, "3")
	want(t, results, "ok 3")
}

// TestWrittenFile writes into the file instead of replacing it.
func TestWrittenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	replace(t, path, "1")
	results := follow(t, path)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("2"); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, results, "ok 12")
}

// TestConfigMapVolume replaces the file as kubelet does in the volume of a ConfigMap:
// config -> ..data/config, and ..data -> a folder for each version.
func TestConfigMapVolume(t *testing.T) {
	volume := t.TempDir()
	publish := func(version, content string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(volume, version), 0o700); err != nil {
			t.Fatal(err)
		}
		replace(t, filepath.Join(volume, version, "config"), content)
		if err := os.Symlink(version, filepath.Join(volume, "..new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(volume, "..new"), filepath.Join(volume, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	publish("v1", "1")
	path := filepath.Join(volume, "config")
	if err := os.Symlink("..data/config", path); err != nil {
		t.Fatal(err)
	}
	results := follow(t, path)
	publish("v2", "2")
	want(t, results, "ok 2")
	replace(t, filepath.Join(volume, "v2", "config"), "3") // where the links lead to
	want(t, results, "ok 3")
}

func TestNoFolder(t *testing.T) {
	f, err := Follow(File{Name: "test config", Path: filepath.Join(t.TempDir(), "missing", "config"), Logger: klog.Background()})
	if err == nil {
		f.Close()
		t.Error("it is followed")
	}
}
