package clients

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// minors are the newest releases of the last ten minor versions of controller-runtime.
var minors = []string{"v0.16.1", "v0.17.2", "v0.18.5", "v0.19.4", "v0.20.4", "v0.21.0", "v0.22.5", "v0.23.3", "v0.24.1", "v0.25.2"}

// Each version takes minutes to build, so the test only runs when asked for: "make operators".
var operators = flag.String("operators", "", `versions of controller-runtime to build an operator with, separated by commas, such as v0.16.1,v0.25.2; "all": the last ten minor versions`)

// TestOperatorVersions builds an operator, and a test of it that uses the module client, with
// versions of controller-runtime and the versions of client-go that belong to them.
func TestOperatorVersions(t *testing.T) {
	if *operators == "" {
		t.Skip("-operators has no versions")
	}
	versions := minors
	if *operators != "all" {
		versions = strings.Split(*operators, ",")
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			dir := operatorModule(t, version)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			run := func(args ...string) string {
				t.Helper()
				cmd := exec.CommandContext(ctx, "go", args...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "CGO_ENABLED=0", "MINIKCM="+minikcmBinary.path(t))
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
				}
				return string(out)
			}
			run("mod", "tidy")
			libraries := run("list", "-m", "k8s.io/client-go")
			out := run("test", "-vet=off", "-count=1", "-v", ".")
			if !strings.Contains(out, "--- PASS: TestReplicator") {
				t.Errorf("%s", out)
			}
			lines := strings.Split(strings.TrimSpace(out), "\n")
			t.Logf("controller-runtime %s, %s: %s", version, strings.TrimSpace(libraries), lines[len(lines)-1])
		})
	}
}

// operatorModule returns a folder with a module of the operator that requires a version of
// controller-runtime.
func operatorModule(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/replicator")); err != nil {
		t.Fatal(err)
	}
	client, err := filepath.Abs("../../client")
	if err != nil {
		t.Fatal(err)
	}
	module := fmt.Sprintf("module example.com/replicator\n\ngo 1.24.0\n\nrequire (\n\tminikcm.dev/minikcm/client v0.0.0\n\tsigs.k8s.io/controller-runtime %s\n)\n\nreplace minikcm.dev/minikcm/client => %s\n", version, client)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(module), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The last ten minor versions end with the one that this module requires.
func TestMinors(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "sigs.k8s.io/controller-runtime").Output()
	if err != nil {
		t.Fatal(err)
	}
	if required := strings.TrimSpace(string(out)); !slices.Contains(minors, required) || len(minors) != 10 {
		t.Errorf("%q should be ten versions, the last of them %s", minors, required)
	}
}
