package main

import (
	"strings"
	"testing"
)

// A sample is listed, and its objects are loaded, more than once without a change.
func TestSample(t *testing.T) {
	t.Parallel()
	list := launch(t, t.TempDir(), "run", "sample")
	if code, out := list.end(); code != 0 || !strings.Contains(out, "\nshop ") {
		t.Errorf("the list ends with %d:\n%s", code, out)
	}
	home := t.TempDir()
	up, kubeconfig := launchUp(t, home)
	defer up.stop()
	for range 2 {
		p := launch(t, home, "run", "sample", "shop", "--kubeconfig", kubeconfig)
		if code, out := p.end(); code != 0 || strings.Count(out, "serverside-applied") != 20 {
			t.Errorf("loading ends with %d:\n%s%s", code, out, p.stderr.String())
		}
	}
	missing := launch(t, t.TempDir(), "run", "sample", "shop")
	if code, _ := missing.end(); code == 0 {
		t.Error("without a cluster, loading succeeds")
	}
}
