package clients

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentedScenario runs the scenario of docs/operators.md with the operator.
func TestDocumentedScenario(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/operators.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(doc), "```yaml\n")
	scenario, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("there is no scenario")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "scenario.yaml"), []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "crds"), os.DirFS("testdata/crds")); err != nil {
		t.Fatal(err)
	}
	// The operator's User-Agent begins with the name of its executable.
	operator := filepath.Join(dir, "website-operator")
	if err := os.Symlink(operatorBinary.path(t), operator); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, minikcmBinary.path(t), "scenario", "run", filepath.Join(dir, "scenario.yaml"), "--set", "OPERATOR="+operator).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
