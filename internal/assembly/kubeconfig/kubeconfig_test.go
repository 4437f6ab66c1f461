package kubeconfig

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const ours = `{apiVersion: v1, kind: Config, contexts: [{name: minikcm, context: {cluster: minikcm, user: minikcm}}]}`

// A kubeconfig is written over one of minikcm's only.
func TestWrite(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		old     string
		refused string
	}{
		"empty":          {"", ""},
		"ours":           {ours, ""},
		"foreign":        {strings.ReplaceAll(ours, "minikcm", "production"), "contexts that are not minikcm's"},
		"ours and other": {`{apiVersion: v1, kind: Config, contexts: [{name: minikcm}, {name: production}]}`, "contexts that are not minikcm's"},
		"no kubeconfig":  {"garbage", "is not a kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(path, []byte(test.old), 0o644); err != nil { // others may read it, before
				t.Fatal(err)
			}
			_, err := Write(path, []byte("new"))
			data, readErr := os.ReadFile(path)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) || !strings.Contains(err.Error(), path) || string(data) != test.old {
					t.Errorf("got %v, and the file is %q", err, data)
				}
				return
			}
			info, statErr := os.Stat(path)
			if err != nil || statErr != nil || string(data) != "new" || info.Mode().Perm() != 0o600 {
				t.Errorf("got %v, and the file is %q, %v, %v", err, data, info, statErr)
			}
		})
	}
}

// Only a file is replaced: a device, a socket, a directory stays what it is.
func TestWriteOverOtherThings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, path := range []string{dir, socket} {
		if _, err := Write(path, []byte("new")); err == nil || !strings.Contains(err.Error(), path+" is not a regular file") {
			t.Errorf("%s: got %v", path, err)
		}
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().IsRegular() {
		t.Errorf("the socket is %v, %v", info, err)
	}
}

// Remove keeps what another program has written meanwhile.
func TestRemove(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "config")
	file, err := Write(path, []byte("ours"))
	if err != nil {
		t.Fatal(err)
	}
	if err := (&File{path, []byte("another")}).Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("another one has been removed: %v", err)
	}
	for range 2 { // the second time, there is none
		if err := file.Remove(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
