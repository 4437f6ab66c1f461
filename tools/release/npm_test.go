package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// registry serves the packages of a folder as npm's registries do, and notes what is downloaded.
func registry(t *testing.T, dir, version string) (address string, downloads func() []string) {
	t.Helper()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := strings.TrimPrefix(req.URL.Path, "/")
		if file, found := strings.CutPrefix(name, "files/"); found {
			asked = append(asked, file)
			http.ServeFile(w, req, filepath.Join(dir, filepath.Base(file)))
			return
		}
		file := strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-") + "-" + version + ".tgz"
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			http.NotFound(w, req)
			return
		}
		text, err := fromTar(data, "package/package.json")
		var described map[string]any
		if err := errors.Join(err, json.Unmarshal(text, &described)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		described["dist"] = map[string]any{"tarball": "http://" + req.Host + "/files/" + file}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "dist-tags": map[string]any{"latest": version}, "versions": map[string]any{version: described}})
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string { return asked }
}

// TestNPX runs the packages as a user does, from a registry on this machine: npm installs the
// package for the platform and no other, and the program gets the arguments.
func TestNPX(t *testing.T) {
	npx, err := exec.LookPath("npx")
	if err != nil {
		t.Skip("npx is not installed")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the program of this test is a shell script")
	}
	r := fakeRelease(t)
	archives, err := r.archives()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.writeNPM(archives); err != nil {
		t.Fatal(err)
	}
	address, downloads := registry(t, filepath.Join(r.dist, "npm"), r.version)
	home := t.TempDir()
	cmd := exec.Command(npx, "--yes", "--registry", address, "minikcm", "up", "--nodes", "3")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "npm_config_cache="+filepath.Join(home, "cache"), "npm_config_update_notifier=false", "npm_config_audit=false")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || !strings.Contains(string(out), "runs with: up --nodes 3") {
		t.Errorf("npx ends with %v\n%s", err, out)
	}
	want := fmt.Sprintf("minikcm-%s-%s-%s.tgz", npmName(runtime.GOOS), npmName(runtime.GOARCH), r.version)
	if got := downloads(); len(got) != 2 || !strings.Contains(strings.Join(got, " "), want) {
		t.Errorf("npm has downloaded %v, want the main package and %s", got, want)
	}
}
