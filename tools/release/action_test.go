package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// runner is a CI runner for the script of the action.
type runner struct {
	t    *testing.T
	temp string
	env  []string
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program of this test is a shell script")
	}
	temp := t.TempDir()
	r := &runner{t: t, temp: temp, env: append(os.Environ(), "RUNNER_TEMP="+temp)}
	for _, name := range []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT"} {
		write(t, filepath.Join(temp, name), nil)
		r.env = append(r.env, name+"="+filepath.Join(temp, name))
	}
	return r
}

// run runs a script of packaging/action.
func (r *runner) run(script string, env ...string) (output string, err error) {
	cmd := exec.Command("sh", filepath.Join("..", "..", "packaging", "action", script))
	cmd.Env = append(r.env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// file returns the content of a file of the runner; "" if there is none.
func (r *runner) file(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.temp, filepath.FromSlash(name)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return string(data)
}

// recorder stands for minikcm: it notes how it is called.
const recorder = `#!/bin/sh
echo "$@" >>"$RUNNER_TEMP/calls"
[ "$1" != up ] || : >"$RUNNER_TEMP/minikcm/kubeconfig"
`

// releaseArchive writes the archive of a release for this machine to a folder, and returns its name.
func releaseArchive(t *testing.T, dir string) string {
	t.Helper()
	r := &release{}
	plain, err := r.tarOf([]entry{{name: "minikcm", mode: 0o755, data: []byte(recorder)}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := compress(plain)
	if err != nil {
		t.Fatal(err)
	}
	name := "minikcm_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	write(t, filepath.Join(dir, name), data)
	write(t, filepath.Join(dir, "checksums.txt"), []byte("00  other.tar.gz\n"+sumOf(data)+"  "+name+"\n"))
	return name
}

func TestActionStartsCluster(t *testing.T) {
	r, downloads := newRunner(t), t.TempDir()
	releaseArchive(t, filepath.Join(downloads, "v1.2.3"))
	server := httptest.NewServer(http.FileServer(http.Dir(downloads)))
	defer server.Close()
	if out, err := r.run("start.sh", "MINIKCM_DOWNLOADS="+server.URL, "MINIKCM_VERSION=v1.2.3", "MINIKCM_ARGS=--nodes 3"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	kubeconfig := filepath.Join(r.temp, "minikcm", "kubeconfig")
	for name, want := range map[string]string{
		"GITHUB_ENV":    "KUBECONFIG=" + kubeconfig + "\n",
		"GITHUB_PATH":   filepath.Join(r.temp, "minikcm", "bin") + "\n",
		"GITHUB_OUTPUT": "kubeconfig=" + kubeconfig + "\n",
		"calls":         "version\nup -d --kubeconfig " + kubeconfig + " --nodes 3\n",
	} {
		if got := r.file(name); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	if out, err := r.run("record.sh"); err != nil || !strings.Contains(r.file("calls"), "writes --kubeconfig "+kubeconfig+" --refused -o json\n") {
		t.Errorf("saving the record: %v\n%s", err, out)
	}
}

func TestActionPreparesEnvtest(t *testing.T) {
	r, dir := newRunner(t), t.TempDir()
	archive := filepath.Join(dir, releaseArchive(t, dir))
	if out, err := r.run("start.sh", "MINIKCM_ARCHIVE="+archive, "MINIKCM_START=envtest"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := "KUBEBUILDER_ASSETS=" + filepath.Join(r.temp, "minikcm", "envtest") + "\nMINIKCM_WRITES=" + filepath.Join(r.temp, "minikcm-writes") + "\n"
	if got := r.file("GITHUB_ENV"); got != want {
		t.Errorf("the environment has %q, want %q", got, want)
	}
}

// TestActionRefuses checks that nothing runs that is not what the release has.
func TestActionRefuses(t *testing.T) {
	downloads := t.TempDir()
	name := releaseArchive(t, filepath.Join(downloads, "v1.2.3"))
	releaseArchive(t, filepath.Join(downloads, "v1.2.4"))
	write(t, filepath.Join(downloads, "v1.2.3", name), []byte("something else"))
	damaged := filepath.Join(downloads, "damaged.tar.gz")
	write(t, damaged, []byte("something else"))
	server := httptest.NewServer(http.FileServer(http.Dir(downloads)))
	defer server.Close()
	for want, env := range map[string][]string{
		"does not have the sum":                     {"MINIKCM_VERSION=v1.2.3"},
		"/v1.2.4/":                                  {"MINIKCM_VERSION=v1.2.4"}, // no archive of that version
		`version is "main": give a release`:         {"MINIKCM_VERSION=main"},
		"cluster, envtest and nothing are possible": {"MINIKCM_VERSION=v1.2.3", "MINIKCM_START=all"},
		"damaged.tar.gz cannot be unpacked":         {"MINIKCM_ARCHIVE=" + damaged},
	} {
		r := newRunner(t)
		program := filepath.Join(r.temp, "minikcm", "bin", "minikcm")
		write(t, program, []byte("an earlier one"))
		out, err := r.run("start.sh", append(env, "MINIKCM_DOWNLOADS="+server.URL)...)
		if err == nil || !strings.Contains(out, want) || r.file("calls") != "" {
			t.Errorf("with %v: %v, calls %q\n%s\nwant %q", env, err, r.file("calls"), out, want)
		}
		if data, err := os.ReadFile(program); err != nil || string(data) != "an earlier one" {
			t.Errorf("with %v, the program that was there is %q, %v", env, data, err)
		}
	}
}

// TestActionPrintsCommands checks that a shell that evaluates the output fails if the script does.
func TestActionPrintsCommands(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, releaseArchive(t, dir))
	for _, test := range []struct{ setting, want string }{
		{"MINIKCM_ARCHIVE=" + archive, "0 $RUNNER_TEMP/minikcm/kubeconfig\n"},
		{"MINIKCM_ARCHIVE=" + archive + "-not", "1 \n"},
		{"MINIKCM_VERSION=v1.2.3", "1 \n"},
	} {
		r := newRunner(t)
		cmd := exec.Command("sh", "-c", `eval "$(sh ../../packaging/action/start.sh)"; echo $? "$KUBECONFIG"`)
		cmd.Env = append(r.env, "GITHUB_ENV=", "GITHUB_PATH=", "GITHUB_OUTPUT=", "KUBECONFIG=", test.setting)
		out, err := cmd.Output()
		if want := strings.ReplaceAll(test.want, "$RUNNER_TEMP", r.temp); err != nil || string(out) != want {
			t.Errorf("with %s: %q, %v, want %q", test.setting, out, err, want)
		}
	}
}
