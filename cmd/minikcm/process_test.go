package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestUp(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p, kubeconfig := launchUp(t, home, "--nodes", "2")
	if want := filepath.Join(home, ".minikcm", "kubeconfig"); kubeconfig != want {
		t.Errorf("the kubeconfig is %s, want %s", kubeconfig, want)
	}
	if n := nodesIn(t, kubeconfig); n != 2 {
		t.Errorf("there are %d nodes, want 2", n)
	}

	// A second cluster gets its own port and kubeconfig and leaves the first one's alone.
	second, other := launchUp(t, home)
	if want := kubeconfig + "-" + strconv.Itoa(second.Process.Pid); other != want {
		t.Errorf("the second kubeconfig is %s, want %s", other, want)
	}
	list := launch(t, home, "run", "list")
	listed := regexp.MustCompile(`^NAME +CLOCK +NODES +AGE +SERVER +PAGE +KUBECONFIG +PID +DATA-DIR\ndefault +real +2/2 +\S+ +https://127\.0\.0\.1:\d+ +- +` + regexp.QuoteMeta(kubeconfig) + ` +(\d+) +-\ndefault-2 +real +1/1 +\S+ +https://127\.0\.0\.1:\d+ +- +` + regexp.QuoteMeta(other) + ` +(\d+) +-\n$`)
	if code, rest := list.end(); code != 0 || !listed.MatchString(rest) {
		t.Errorf("list ends with %d: %s%s", code, rest, list.stderr.String())
	}
	second.signal(os.Interrupt)
	if code, rest := second.end(); code != 0 || rest != "" {
		t.Errorf("after SIGINT the second ends with %d: %q\n%s", code, rest, second.stderr.String())
	}

	// The built-in kubectl needs neither KUBECONFIG nor an installed kubectl.
	get := launch(t, home, "run", "kubectl", "get", "nodes", "-o", "name")
	if code, rest := get.end(); code != 0 || rest != "node/node-0\nnode/node-1\n" {
		t.Errorf("kubectl ends with %d: %s%s", code, rest, get.stderr.String())
	}

	taken := launch(t, home, "run", "up", "--port", strconv.Itoa(portOf(t, kubeconfig)))
	if code, rest := taken.end(); code != 1 || rest != "" || !strings.Contains(taken.stderr.String(), "the port is in use; choose another with --port") {
		t.Errorf("up on a port in use ends with %d: %s%s", code, rest, taken.stderr.String())
	}
	if n := nodesIn(t, kubeconfig); n != 2 {
		t.Errorf("there are %d nodes, want 2", n)
	}

	p.signal(syscall.SIGTERM)
	if code, rest := p.end(); code != 0 || rest != "" {
		t.Errorf("after SIGTERM it ends with %d, and there is more on stdout: %q", code, rest)
	}
	if !regexp.MustCompile(`^2 nodes ready at https://127\.0\.0\.1:\d+ in \S+ \(seed \d+\)\. Stop it with Ctrl-C\.\nStopping\.\n$`).MatchString(p.stderr.String()) {
		t.Errorf("stderr says\n%s", p.stderr.String())
	}
	if left, err := os.ReadDir(filepath.Dir(kubeconfig)); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

func TestUpOnDataDir(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "my data")
	p, kubeconfig := launchUp(t, home, "--data-dir", dir)
	if want := "'" + filepath.Join(dir, "kubeconfig") + "'"; kubeconfig != want {
		t.Errorf("the kubeconfig is %s, want %s", kubeconfig, want)
	}
	second := launch(t, home, "run", "up", "--data-dir", dir)
	if code, rest := second.end(); code != 1 || rest != "" || !strings.Contains(second.stderr.String(), "is in use by another process") {
		t.Errorf("a second process on the directory ends with %d: %s%s", code, rest, second.stderr.String())
	}
	if n := nodesIn(t, strings.Trim(kubeconfig, "'")); n != 1 {
		t.Errorf("there are %d nodes, want 1", n)
	}
	p.stop()
}

// A kubeconfig that minikcm did not write is not overwritten.
func TestUpSparesKubeconfigs(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	const foreign = "apiVersion: v1\nkind: Config\ncontexts: [{name: production, context: {cluster: c, user: u}}]\n"
	if err := os.WriteFile(file, []byte(foreign), 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, t.TempDir(), "run", "up", "--kubeconfig", file)
	if code, rest := p.end(); code != 1 || rest != "" || !strings.Contains(p.stderr.String(), file+" holds contexts that are not minikcm's") {
		t.Errorf("it ends with %d: %s%s", code, rest, p.stderr.String())
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != foreign {
		t.Errorf("the file is now %s, %v", data, err)
	}
}

// A second signal ends the process without a clean shutdown.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := launch(t, t.TempDir(), "stubborn")
		for _, want := range []string{"ready", "asked"} {
			if got := p.line(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			p.signal(s)
		}
		if code, _ := p.end(); code != 128+int(s) {
			t.Errorf("after two signals it ends with %d, want %d", code, 128+int(s))
		}
	}
}

func TestInterruptedStart(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // accepts connections but never responds
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p := launch(t, t.TempDir(), "run", "up", "--etcd-servers", "http://"+listener.Addr().String())
	conn, err := listener.Accept() // the process has begun to start the cluster
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p.signal(os.Interrupt)
	if code, _ := p.end(); code != 1 || p.stderr.String() != "minikcm: interrupted before the cluster was ready\n" {
		t.Errorf("it ends with %d: %s", code, p.stderr.String())
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		code   int
		out    string
	}{
		"success":    {"echo out; echo err >&2", 0, "out\n"},
		"exit code":  {"exit 7", 7, ""},
		"terminated": {"kill -TERM $$", 143, ""},
		"killed":     {"kill -KILL $$", 137, ""},
		"kubeconfig": {`"$SELF" kubectl get nodes -o name`, 0, "node/node-0\nnode/node-1\n"},
		"example":    {`"$SELF" example discoveryclient | grep -c "^deployments.*get"`, 0, "3\n"},
		"not found":  {`"$SELF" kubectl get node node-9`, 1, ""},
		"no kind":    {`"$SELF" kubectl get noodles`, 1, ""},
		"difference": {`printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n' | "$SELF" kubectl diff -f - >/dev/null`, 1, ""},
		"stdin":      {"cat", 0, ""},
		"modes":      {`stat -c %a "$KUBECONFIG"`, 0, "600\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temporary := t.TempDir()
			cmd := exec.CommandContext(t.Context(), self(t), "exec", "--nodes", "2", "sh", "-c", test.script)
			cmd.Env = append(os.Environ(), asCommand+"=run", "SELF="+self(t), "HOME="+t.TempDir(), "TMPDIR="+temporary)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			code := 0
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				code = exit.ExitCode()
			}
			if code != test.code || string(out) != test.out {
				t.Errorf("exit code %d, want %d; on stdout %q, want %q; on stderr\n%s", code, test.code, out, test.out, stderr.String())
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("files are left: %v, %v", left, err)
			}
		})
	}
}

// minikcm forwards signals to the command and returns the command's exit code.
func TestExecPassesSignalsOn(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		p := launch(t, t.TempDir(), "run", "exec", "--", "sh", "-c", `trap 'echo heard; exit 5' TERM HUP INT; echo ready; while :; do read -r _ || sleep 0.01; done`)
		if got := p.line(); got != "ready" {
			t.Errorf("got %s", got)
		}
		p.signal(s)
		if code, rest := p.end(); code != 5 || rest != "heard\n" {
			t.Errorf("after %v it ends with %d: %q\n%s", s, code, rest, p.stderr.String())
		}
	}
}

// Without a running cluster, kubectl prints how to start one and does not use other clusters.
func TestKubectlWithoutCluster(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".kube"), 0o700); err != nil {
		t.Fatal(err)
	}
	foreign := "apiVersion: v1\nkind: Config\ncurrent-context: production\ncontexts: [{name: production, context: {cluster: c, user: u}}]\n"
	if err := os.WriteFile(filepath.Join(home, ".kube", "config"), []byte(foreign), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{[]string{"get", "nodes"}, 1, "", `start a cluster with "minikcm up", or give a kubeconfig with --kubeconfig.`},
		{[]string{"config", "get-contexts", "-o", "name"}, 0, "", ""},
		{[]string{"config", "get-contexts", "-o", "name", "--kubeconfig", filepath.Join(home, ".kube", "config")}, 0, "production\n", ""},
		{[]string{"create", "deployment", "web", "--image=nginx", "--dry-run=client", "-o", "name"}, 0, "deployment.apps/web\n", ""},
		{[]string{"gte"}, 1, "", "unknown command \"gte\" for \"kubectl\"\n\nDid you mean this?\n\tget\n"},
		{[]string{"get", "--foo"}, 1, "", "unknown flag: --foo"},
	} {
		p := launch(t, home, "run", append([]string{"kubectl"}, test.args...)...)
		code, out := p.end()
		if code != test.code || out != test.stdout || !strings.Contains(p.stderr.String(), test.stderr) {
			t.Errorf("%v: exit code %d, %q\n%s", test.args, code, out, p.stderr.String())
		}
	}
}
