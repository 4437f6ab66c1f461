package binary

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Build returns the path of a minikcm that is built of this source. The file is removed when
// the test ends.
func Build(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "minikcm")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "minikcm.dev/minikcm/cmd/minikcm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building minikcm: %v\n%s", err, out)
	}
	return path
}
