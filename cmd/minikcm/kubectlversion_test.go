package main

import (
	"regexp"
	"strings"
	"testing"

	"minikcm.dev/minikcm/apiserver"
)

// The built-in kubectl reports its release version without -ldflags, which this test's binary
// lacks. The API server records its writes with kubectl's user agent.
func TestKubectlVersion(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	up, _ := launchUp(t, home)
	defer up.stop()
	version := launch(t, home, "run", "kubectl", "version")
	code, out := version.end()
	if want := regexp.MustCompile(`^Client Version: ` + regexp.QuoteMeta(apiserver.DefaultVersion) + "\nKustomize Version: v5[.0-9]+\nServer Version: " + regexp.QuoteMeta(apiserver.DefaultVersion) + "\n$"); code != 0 || version.stderr.Len() > 0 || !want.MatchString(out) {
		t.Errorf("kubectl version ends with %d:\n%s%s", code, out, version.stderr.String())
	}
	create := launch(t, home, "run", "kubectl", "create", "configmap", "a")
	if code, _ := create.end(); code != 0 {
		t.Fatalf("kubectl create ends with %d: %s", code, create.stderr.String())
	}
	writes := launch(t, home, "run", "kubectl", "get", "--raw", "/minikcm/v1/writes?resource=configmaps&name=a")
	if _, out := writes.end(); !strings.Contains(out, `"userAgent":"kubectl/`+apiserver.DefaultVersion+" (") {
		t.Errorf("the record says\n%s", out)
	}
	why := launch(t, home, "run", "why", "cm/a")
	if code, out := why.end(); code != 0 || !strings.Contains(out, "configmap/a was created by kubectl (kubernetes-admin)  [") || strings.Contains(out, "no write woke it") {
		t.Errorf("why ends with %d:\n%s%s", code, out, why.stderr.String())
	}
}
