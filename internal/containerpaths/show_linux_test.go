package containerpaths_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"minikcm.dev/minikcm/internal/containerpaths"
)

func TestMain(m *testing.M) {
	containerpaths.Enter()
	os.Exit(m.Run())
}

// show runs a script that finds the files of a folder at their paths, or skips the test where that
// is not permitted.
func show(t *testing.T, root string, paths []string, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	if err := containerpaths.Show(cmd, root, paths); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	for _, missing := range []string{syscall.EPERM.Error(), syscall.EACCES.Error()} {
		if err != nil && strings.Contains(err.Error()+string(out), missing) {
			t.Skipf("no right to mount: %v\n%s", err, out)
		}
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestShow shows a folder at a path whose first part does not exist on this machine, one in a
// folder that exists, one behind a symbolic link, and a file in the root.
func TestShow(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	existing := filepath.Join(dir, "machine")
	link := filepath.Join(dir, "link")
	for _, path := range []string{filepath.Join(existing, "kept"), filepath.Join(root, "minikcm-test/a"), filepath.Join(root, existing, "certs"), filepath.Join(root, link, "secrets/token")} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, content := range map[string]string{
		"minikcm-test/a/one": "1", filepath.Join(existing, "certs/tls.crt"): "2", filepath.Join(link, "secrets/token/jwt"): "3", "minikcm-test.yaml": "4",
	} {
		if err := os.WriteFile(filepath.Join(root, path), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(existing, link); err != nil {
		t.Fatal(err)
	}
	paths := []string{"/minikcm-test/a", "/minikcm-test.yaml", filepath.Join(existing, "certs"), filepath.Join(link, "secrets/token")}
	out := show(t, root, paths, "pwd; cat /minikcm-test/a/one "+existing+"/certs/tls.crt "+link+"/secrets/token/jwt /minikcm-test.yaml; ls "+existing+"; id -u; touch /minikcm-test/a/written "+existing+"/kept/written")
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	id, err := exec.CommandContext(t.Context(), "id", "-u").Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := wd + "\n1234certs\nkept\nsecrets\n" + string(id); out != want {
		t.Errorf("the command saw\n%s\nwant\n%s", out, want)
	}
	// Writes reach the folders of this machine, which have no new entries.
	for _, path := range []string{filepath.Join(root, "minikcm-test/a/written"), filepath.Join(existing, "kept/written")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{"/minikcm-test", "/minikcm-test.yaml", filepath.Join(existing, "certs"), filepath.Join(existing, "secrets")} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
