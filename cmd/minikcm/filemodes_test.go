package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesArePrivate checks that files with keys and secrets are readable by their owner only:
// the files of a data directory, kubeconfigs and audit logs. Certificates are public.
func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	policy := filepath.Join(home, "policy.yaml")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(home, "data")
	p, kubeconfig := launchUp(t, home, "--data-dir", data, "--audit-policy-file", policy, "--audit-log-path", filepath.Join(home, "logs", "audit.log"))
	user := launch(t, home, "run", "user", "add", "alice", "--kubeconfig", kubeconfig, "--output", filepath.Join(home, "alice.yaml"))
	if code, out := user.end(); code != 0 {
		t.Errorf("user add ends with %d: %s%s", code, out, user.stderr.String())
	}
	seen := 0
	err := filepath.WalkDir(home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == home || filepath.Ext(path) == ".crt" {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		seen++
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || seen < 10 {
		t.Errorf("%d files and folders: %v", seen, err)
	}
	p.stop()
}

// TestBadAuditPolicy checks that "up" ends with the exit code of bad input and names file and
// field.
func TestBadAuditPolicy(t *testing.T) {
	t.Parallel()
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, t.TempDir(), "run", "up", "--audit-policy-file", policy)
	if code, _ := p.end(); code != 2 || !strings.Contains(p.stderr.String(), policy) || !strings.Contains(p.stderr.String(), "rules[0].level") {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}
