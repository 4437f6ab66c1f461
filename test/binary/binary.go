package binary

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Path returns the path of the minikcm to test: the value of the environment variable MINIKCM, or
// else a binary that is built from this source and removed when the test ends.
func Path(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("MINIKCM"); path != "" {
		// That a test has read it keeps the go command from reusing the result that the test had
		// with another build: it cannot see the file itself.
		_ = os.Getenv("MINIKCM_BUILDID")
		return path
	}
	path := filepath.Join(t.TempDir(), "minikcm")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", path, "minikcm.dev/minikcm/cmd/minikcm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building minikcm: %v\n%s", err, out)
	}
	return path
}
