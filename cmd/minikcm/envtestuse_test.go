package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestVersionSelectors(t *testing.T) {
	for text, test := range map[string]struct{ yes, no string }{
		"1.33":           {"1.33.0 1.33.13", "1.34.0 1.3.3"},
		"1.33.x":         {"1.33.0 1.33.13", "1.32.9"},
		"1.33.*":         {"1.33.7", "2.33.7"},
		"1.33.x!":        {"1.33.7", "1.34.7"},
		"v1.33.2":        {"1.33.2", "1.33.1 1.33.3"},
		"~1.33.2":        {"1.33.2 1.33.9", "1.33.1 1.34.2"},
		"~1.33":          {"1.33.0", "1.34.0"},
		"<1.33":          {"1.32.9 0.40.0", "1.33.0 1.33.1 1.34.0"},
		"<=1.33":         {"1.32.9 1.33.0 1.33.9", "1.34.0"},
		"<=1.33.1":       {"1.33.1", "1.33.2"},
		">=1.33":         {"1.33.0 1.34.0 2.0.0", "1.32.9"},
		">1.33":          {"1.34.0", "1.33.9"},
		">1.33.1":        {"1.33.2", "1.33.1"},
		"latest":         {"1.0.0", ""},
		"latest-on-disk": {"1.0.0", ""},
		"":               {"9.9.9", ""},
	} {
		s, err := parseVersionSelector(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for versions, want := range map[string]bool{test.yes: true, test.no: false} {
			for version := range strings.FieldsSeq(versions) {
				v, ok := parsePatchVersion(version)
				if got := s.matches(v); !ok || got != want {
					t.Errorf("%q matches %s: %v", text, version, got)
				}
			}
		}
	}
	for _, text := range []string{"1", "x", "1.x", "1.33.-1", "^1.33", "1.33!!", "1.33.0-rc.1", "1.033", strings.Repeat("1", 400)} {
		if s, err := parseVersionSelector(text); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
}

// TestEnvtestUse runs the commands of setup-envtest in one folder.
func TestEnvtestUse(t *testing.T) {
	t.Parallel()
	home, bin := t.TempDir(), filepath.Join(t.TempDir(), "it's bin")
	platform := "-" + runtime.GOOS + "-" + runtime.GOARCH
	folder := func(version string) string { return filepath.Join(bin, "k8s", version+platform) }
	own := runtime.GOOS + "/" + runtime.GOARCH
	for _, test := range []struct {
		args []string
		code int
		want string // of the output, or part of the error
	}{
		{[]string{"list", "-i"}, 0, ""},
		{[]string{"use", "-i", "1.33"}, 2, "no applicable on-disk versions for " + own},
		{[]string{"use", "1.33", "-p", "path"}, 0, folder("1.33.13")},
		{[]string{"use", "1.33.1", "-p", "path"}, 0, folder("1.33.1")},
		{[]string{"-i", "use", "-p", "path", "1.33.x"}, 0, folder("1.33.13")},
		{[]string{"use", "~1.33.1!", "-p", "env"}, 0, "export KUBEBUILDER_ASSETS='" + strings.ReplaceAll(folder("1.33.13"), "'", `'"'"'`) + "'\n"},
		{[]string{"use", ">=1.30", "--print=path"}, 0, folder("1.33.13")},
		{[]string{"use", ">=1.34"}, 0, "Version: 1.37.2\nOS/Arch: " + own + "\nPath: " + folder("1.37.2") + "\n"},
		{[]string{"use", "latest-on-disk", "-p", "path"}, 0, folder("1.37.2")},
		{[]string{"list", "-i"}, 0, "(installed)  v1.37.2   " + own + "\n(installed)  v1.33.13  " + own + "\n(installed)  v1.33.1   " + own + "\n"},
		{[]string{"list", "1.30", "--os", "*", "--arch", "*", "--index", "https://example.com"}, 0, "(available)  v1.30.14  " + own + "\n"},
		{[]string{"list", "--os", "plan9"}, 0, ""},
		{[]string{"cleanup", "1.33.1"}, 0, "removed 1.33.1 (" + own + ")\n"},
		{[]string{"cleanup", "<1.37"}, 0, "removed 1.33.13 (" + own + ")\n"},
		{[]string{"use", "-i", "1.33.13"}, 2, "no such version (1.33.13) exists on disk for this architecture (" + own + ")"},
		{[]string{"use", "1.29"}, 2, "minikcm serves Kubernetes 1.30 to 1.37"},
		{[]string{"use", "1.29.3"}, 2, "1.30 to 1.37"},
		{[]string{"use", "one"}, 2, `version "one" must be X.Y.Z`},
		{[]string{"use", "1.33", "--os", "plan9"}, 2, "unable to find a version that was supported for platform plan9/"},
		{[]string{"use", "1.33", "--os", "*"}, 2, "you must have a concrete platform"},
		{[]string{"use", "1.33", "-p", "json"}, 2, "use one of overview|path|env"},
		{[]string{"use", "1.33", "1.34"}, 2, "accepts at most 1 arg"},
		{[]string{"sideload", "1.33.0"}, 2, "minikcm does not unpack programs"},
		{[]string{"version"}, 0, "setup-envtest version: minikcm "},
	} {
		p := launch(t, home, "run", append([]string{"envtest", "--bin-dir", bin}, test.args...)...)
		code, out := p.end()
		switch {
		case code != test.code:
			t.Errorf("%q ends with %d: %s%s", test.args, code, out, p.stderr.String())
		case code == 0 && out != test.want && (test.args[0] != "version" || !strings.HasPrefix(out, test.want)):
			t.Errorf("%q prints %q, want %q", test.args, out, test.want)
		case code != 0 && (!strings.Contains(p.stderr.String(), test.want) || out != ""):
			t.Errorf("%q says %q, want %q", test.args, p.stderr.String(), test.want)
		}
	}
	assets := folder("1.37.2")
	p := launchWith(t, []string{"KUBEBUILDER_ASSETS=" + assets, "ENVTEST_USE_ENV=true"}, home, "run", "envtest", "use", "1.30", "-p", "path")
	if code, out := p.end(); code != 0 || out != assets {
		t.Errorf("with --use-env it ends with %d: %s", code, out)
	}
	p = launch(t, home, "run", "envtest", "use", "1.35", "-p", "path")
	if code, out := p.end(); code != 0 || out != filepath.Join(home, ".minikcm", "envtest", "k8s", "1.35.4"+platform) {
		t.Errorf("without --bin-dir it ends with %d: %s", code, out)
	}
}

// TestEnvtestOfAVersion starts the programs in the folder of a version.
func TestEnvtestOfAVersion(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "1.32.0")
	if err := prepareVersion(dir, patchVersion{1, 32, 0}); err != nil {
		t.Fatal(err)
	}
	if got := versionOfFolder(filepath.Join(dir, programAPIServer)); got != "1.32.0" {
		t.Errorf("the folder is of version %q", got)
	}
	if got := versionOfFolder(programAPIServer); got != "" {
		t.Errorf("a program that was found in PATH is of version %q", got)
	}
	etcdURL, port := "http://"+freeAddress(t), strings.TrimPrefix(freeAddress(t), "127.0.0.1:")
	etcd := launch(t, t.TempDir(), "run-"+programEtcd, "--listen-client-urls", etcdURL, "--listen-peer-urls=http://127.0.0.1:0", "--data-dir", t.TempDir(), "--unsafe-no-fsync=true")
	etcd.line()
	defer etcd.stop()
	server := exec.CommandContext(t.Context(), filepath.Join(dir, programAPIServer), "--etcd-servers", etcdURL, "--secure-port", port, "--authorization-mode=RBAC",
		"--feature-gates=JobManagedBy=false,AnyVolumeDataSource=true", "--runtime-config=flowcontrol.apiserver.k8s.io/v1beta3=true")
	server.Env = append(os.Environ(), asCommand+"=run-"+programAPIServer, "HOME="+t.TempDir())
	var stderr strings.Builder
	server.Stderr = &stderr
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || !strings.HasPrefix(line, "Serving ") {
		t.Fatalf("it prints %q, %v: %s", line, err, stderr.String())
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // its certificate is new
	answer, err := client.Get("https://127.0.0.1:" + port + "/version")
	if err != nil {
		t.Fatal(err)
	}
	version, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(version), `"gitVersion": "v1.32.13"`) {
		t.Errorf("the version is %s, %v", version, err)
	}
	if err := errors.Join(answer.Body.Close(), server.Process.Signal(os.Interrupt), server.Wait()); err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()
	if want := "flowcontrol.apiserver.k8s.io/v1beta3 is not served"; !strings.Contains(stderr.String(), want) {
		t.Errorf("stderr says %q, want %q", stderr.String(), want)
	}
}

// TestMakefiles runs "make test" with Makefiles as kubebuilder writes them: the recipe of the test asks
// $(ENVTEST) for the folder. In the second one, $(ENVTEST) is also a file that make would install.
func TestMakefiles(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("there is no make")
	}
	programs := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s=run exec '%s' \"$@\"\n", asCommand, self(t))
	if err := os.WriteFile(filepath.Join(programs, "minikcm"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, options := range map[string][]string{"plain.mk": nil, "installing.mk": {"-o", "envtest"}} {
		project := t.TempDir()
		makefile, err := filepath.Abs(filepath.Join("testdata", "kubebuilder", file))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "make", append([]string{"-s", "-f", makefile, "test", "ENVTEST=minikcm envtest", "GO=echo tested with $$KUBEBUILDER_ASSETS:"}, options...)...)
		cmd.Dir = project
		cmd.Env = append(os.Environ(), "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		assets := filepath.Join(project, "bin", "k8s", "1.33.13-"+runtime.GOOS+"-"+runtime.GOARCH)
		if err != nil || !strings.Contains(string(out), "tested with "+assets+": test ./...") || !hasPrograms(assets) {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}
