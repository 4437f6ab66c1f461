package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minikcm.dev/minikcm/store"
)

// said calls the command and returns its output. It fails the test unless the exit code is
// want and the output has all texts.
func said(t *testing.T, want int, texts []string, args ...string) string {
	t.Helper()
	code, stdout, stderr := call(args...)
	if code != want {
		t.Errorf("%q: exit code %d, want %d", args, code, want)
	}
	for _, text := range texts {
		if !strings.Contains(stdout+stderr, text) {
			t.Errorf("%q does not say %q:\n%s%s", args, text, stdout, stderr)
		}
	}
	return stdout
}

// flip flips a bit of each occurrence of text in a file.
func flip(t *testing.T, path, text string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := []byte(text)
	flipped[0] ^= 1
	if err := os.WriteFile(path, bytes.ReplaceAll(content, []byte(text), flipped), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A damaged data directory is reported, down to the object, and repaired into a new one, which
// starts with all other objects.
func TestEtcdSnapshotRepair(t *testing.T) {
	dir := t.TempDir()
	data, repaired, snapshot := filepath.Join(dir, "data"), filepath.Join(dir, "repaired"), filepath.Join(dir, "one.db")
	p, kubeconfig := launchUp(t, t.TempDir(), "--nodes", "1", "--data-dir", data)
	client := clientOf(t, kubeconfig)
	createConfigMaps(t, client, "whole", "broken-one")
	said(t, 1, []string{"in use by another process", "etcd-snapshot save"}, "etcd-snapshot", "check", data)
	said(t, 0, nil, "etcd-snapshot", "save", snapshot, "--kubeconfig", kubeconfig)
	p.stop()
	said(t, 0, []string{"database pages", "write-ahead log", "consistent index", "stored objects"}, "etcd-snapshot", "check", data)
	said(t, 0, []string{"snapshot hash"}, "etcd-snapshot", "check", snapshot)

	// The value contains the name three times: in the metadata and in the data.
	flip(t, filepath.Join(data, "etcd", "member", "snap", "db"), "\x0a\x0abroken-one")
	key := "/registry/configmaps/default/broken-one"
	said(t, 1, []string{key, "checksum does not match"}, "etcd-snapshot", "check", data)
	report := store.CheckReport{}
	if err := json.Unmarshal([]byte(said(t, 1, nil, "etcd-snapshot", "check", data, "-o", "json")), &report); err != nil {
		t.Error(err)
	}
	if report.Healthy || len(report.Values) != 1 || report.Values[0].Key != key || !report.Values[0].Current {
		t.Errorf("%+v", report)
	}
	said(t, 2, []string{"[y/N]", "nothing was done"}, "etcd-snapshot", "repair", data, "--data-dir", repaired)
	if _, err := os.Stat(repaired); err == nil {
		t.Error("without an answer it was repaired")
	}
	said(t, 0, []string{key, "minikcm up --data-dir"}, "etcd-snapshot", "repair", data, "--data-dir", repaired, "--yes")
	said(t, 0, nil, "etcd-snapshot", "check", repaired)
	said(t, 1, []string{"certificates already"}, "etcd-snapshot", "repair", data, "--data-dir", repaired, "--yes")

	p, kubeconfig = launchUp(t, t.TempDir(), "--nodes", "1", "--data-dir", repaired)
	found, _ := configMaps(t, clientOf(t, kubeconfig))
	if _, ok := found["whole"]; !ok || len(found) != 1 {
		t.Errorf("after the repair: %v", found)
	}
	p.stop()
}

// A data directory that etcd would not survive is refused with what to do, and bad arguments
// with what is wrong.
func TestEtcdSnapshotCheckRefuses(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	p, _ := launchUp(t, t.TempDir(), "--nodes", "0", "--data-dir", data)
	p.stop()
	logs, err := filepath.Glob(filepath.Join(data, "etcd", "member", "wal", "*.wal"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	if err := os.Truncate(logs[0], 10_001); err != nil {
		t.Fatal(err)
	}
	said(t, 1, []string{logs[0], "etcd-snapshot check " + data, "nothing was changed"}, "up", "--data-dir", data)
	said(t, 1, []string{logs[0], "damaged"}, "etcd-snapshot", "check", data)
	said(t, 2, []string{"no such file"}, "etcd-snapshot", "check", filepath.Join(dir, "nowhere"))
	said(t, 1, []string{"neither a snapshot nor a data directory"}, "etcd-snapshot", "check", dir)
	said(t, 2, []string{"must be text or json"}, "etcd-snapshot", "check", data, "-o", "yaml")
	said(t, 2, []string{"--data-dir is missing"}, "etcd-snapshot", "repair", data)
}
