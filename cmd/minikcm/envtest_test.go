package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm"
)

func TestEnvtestFolder(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	want := filepath.Join(home, ".minikcm", "envtest")
	for range 2 { // the second call replaces the links
		p := launch(t, home, "run", "envtest")
		if code, out := p.end(); code != 0 || out != "export KUBEBUILDER_ASSETS="+want+"\n" {
			t.Fatalf("it ends with %d: %s%s", code, out, p.stderr.String())
		}
	}
	entries, err := os.ReadDir(want)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%v, %v", entries, err)
	}
	for i, entry := range entries {
		if name := []string{programEtcd, programAPIServer, programKubectl}[i]; entry.Name() != name {
			t.Errorf("got %s, want %s", entry.Name(), name)
		}
		if target, err := filepath.EvalSymlinks(filepath.Join(want, entry.Name())); err != nil || target != self(t) {
			t.Errorf("%s is %s, %v", entry.Name(), target, err)
		}
	}

	foreign := filepath.Join(t.TempDir(), programAPIServer)
	if err := os.WriteFile(foreign, []byte("upstream"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := launch(t, home, "run", "envtest", "--dir", filepath.Dir(foreign))
	if code, _ := p.end(); code != 1 || !strings.Contains(p.stderr.String(), "is not a link that minikcm made") {
		t.Errorf("beside other programs it ends with %d: %s", code, p.stderr.String())
	}
	if data, err := os.ReadFile(foreign); err != nil || string(data) != "upstream" {
		t.Errorf("the other program is now %q, %v", data, err)
	}
}

func TestNewRootFor(t *testing.T) {
	for program, want := range map[string]string{
		"/k8s/kube-apiserver": programAPIServer, "etcd": programEtcd, "./kubectl.exe": programKubectl, "minikcm": "minikcm", "minikcm-1.0": "minikcm",
	} {
		if got := newRootFor(program).Name(); got != want {
			t.Errorf("%s is %s, want %s", program, got, want)
		}
	}
}

// file writes a file into a new directory and returns its path.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestProgramsRefuse starts the programs with flags that cannot work.
func TestProgramsRefuse(t *testing.T) {
	const etcd = "--etcd-servers=http://127.0.0.1:1"
	certs := filepath.Dir(file(t, "apiserver.crt", "x"))
	if err := os.WriteFile(filepath.Join(certs, "apiserver.key"), []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		make func() *cobra.Command
		args []string
		want string
	}{
		"no etcd":                 {newKubeAPIServer, nil, "--etcd-servers must be specified"},
		"not upstream's":          {newKubeAPIServer, []string{etcd, "--nodes=3"}, "unknown flag: --nodes"},
		"not a bool":              {newKubeAPIServer, []string{etcd, "--watch-cache=maybe"}, "neither true nor false"},
		"port":                    {newKubeAPIServer, []string{etcd, "--secure-port=70000"}, "--secure-port 70000 must be between 1 and 65535"},
		"half a certificate":      {newKubeAPIServer, []string{etcd, "--tls-cert-file=x"}, "must be given together"},
		"bad certificates":        {newKubeAPIServer, []string{etcd, "--cert-dir=" + certs}, "cannot be used"},
		"no client authorities":   {newKubeAPIServer, []string{etcd, "--client-ca-file=" + certs + "/apiserver.key"}, "--client-ca-file must be a file with certificates in PEM"},
		"no signing key":          {newKubeAPIServer, []string{etcd, "--service-account-signing-key-file=" + certs + "/apiserver.key"}, "does not contain a valid RSA or ECDSA private key"},
		"no verifying key":        {newKubeAPIServer, []string{etcd, "--service-account-key-file=" + certs + "/none"}, "reading --service-account-key-file"},
		"authorization":           {newKubeAPIServer, []string{etcd, "--authorization-mode=RBAC", "--authorization-config=x"}, "remove --authorization-mode"},
		"no admission plugin":     {newKubeAPIServer, []string{etcd, "--disable-admission-plugins=Nonsense"}, "Nonsense"},
		"not etcd's":              {newEtcdServer, []string{"--nonsense"}, "unknown flag: --nonsense"},
		"no URL":                  {newEtcdServer, []string{"--listen-client-urls=localhost"}, "must be a URL such as"},
		"https":                   {newEtcdServer, []string{"--listen-client-urls=https://127.0.0.1:1"}, "https needs --cert-file and --key-file"},
		"members":                 {newEtcdServer, []string{"--initial-cluster=a=http://a:1,b=http://b:1"}, "names several members"},
		"a configuration file":    {newEtcdServer, []string{"--config-file=x"}, "--config-file is not supported"},
		"certificates of clients": {newEtcdServer, []string{"--client-cert-auth"}, "must be given together"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := run(test.make(), test.args, strings.NewReader(""), &out, &errOut)
			if code != 2 || !strings.Contains(errOut.String(), test.want) || out.Len() > 0 {
				t.Errorf("it ends with %d: %s%s", code, out.String(), errOut.String())
			}
		})
	}
}

// TestProgramVersions asks the programs for the versions that they print as upstream's.
func TestProgramVersions(t *testing.T) {
	for want, program := range map[string]func() *cobra.Command{"Kubernetes v1.37.": newKubeAPIServer, "etcd Version: 3.7.": newEtcdServer} {
		var out, errOut bytes.Buffer
		if code := run(program(), []string{"--version"}, strings.NewReader(""), &out, &errOut); code != 0 || !strings.HasPrefix(out.String(), want) || errOut.Len() > 0 {
			t.Errorf("it ends with %d: %s%s, want %s", code, out.String(), errOut.String(), want)
		}
	}
}

// TestPortsInUse starts the programs on a port that another program listens on.
func TestPortsInUse(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var out, errOut bytes.Buffer
	code := run(newEtcdServer(), []string{"--data-dir", t.TempDir(), "--listen-client-urls", "http://" + listener.Addr().String()}, strings.NewReader(""), &out, &errOut)
	if code != 1 || !strings.Contains(errOut.String(), "choose another port with --listen-client-urls") {
		t.Errorf("etcd ends with %d: %s", code, errOut.String())
	}
}

func TestExtrasFromEnv(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		want minikcm.Options
		err  string
	}{
		"nothing":         {want: minikcm.Options{Controllers: minikcm.ControllerOptions{Selected: []string{"-*"}, NoScheduler: true}, Nodes: minikcm.NodeOptions{Count: -1, Manage: minikcm.ManageNone}}},
		"controllers":     {env: map[string]string{"MINIKCM_CONTROLLERS": "namespace, garbage-collector"}, want: minikcm.Options{Controllers: minikcm.ControllerOptions{Selected: []string{"namespace-controller", "garbage-collector-controller"}, NoScheduler: true}, Nodes: minikcm.NodeOptions{Count: -1, Manage: minikcm.ManageNone}}},
		"all but one":     {env: map[string]string{"MINIKCM_CONTROLLERS": "*,-deployment"}, want: minikcm.Options{Controllers: minikcm.ControllerOptions{Selected: []string{"*", "-deployment-controller"}, NoScheduler: true}, Nodes: minikcm.NodeOptions{Count: -1, Manage: minikcm.ManageNone}}},
		"nodes, a seed":   {env: map[string]string{"MINIKCM_NODES": "3", "MINIKCM_SEED": "7"}, want: minikcm.Options{Controllers: minikcm.ControllerOptions{Selected: []string{"-*"}}, Nodes: minikcm.NodeOptions{Count: 3}, Seed: 7}},
		"no controller":   {env: map[string]string{"MINIKCM_CONTROLLERS": "gizmo"}, err: `MINIKCM_CONTROLLERS=gizmo: "gizmo" is not a controller`},
		"no number":       {env: map[string]string{"MINIKCM_NODES": "many"}, err: "MINIKCM_NODES=many must be a number"},
		"a negative seed": {env: map[string]string{"MINIKCM_SEED": "-1"}, err: "MINIKCM_SEED=-1 must be a number"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := minikcm.Options{Controllers: minikcm.ControllerOptions{Selected: []string{"-*"}, NoScheduler: true}, Nodes: minikcm.NodeOptions{Count: -1, Manage: minikcm.ManageNone}}
			err := extrasFromEnv(&opts, func(name string) (string, bool) { value, ok := test.env[name]; return value, ok })
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %s", err, test.err)
				}
				return
			}
			if err != nil || !slices.Equal(opts.Controllers.Selected, test.want.Controllers.Selected) || opts.Nodes.Count != test.want.Nodes.Count || opts.Controllers.NoScheduler != test.want.Controllers.NoScheduler || opts.Nodes.Manage != test.want.Nodes.Manage || opts.Seed != test.want.Seed {
				t.Errorf("got %+v, %v", opts, err)
			}
		})
	}
}

func TestTaintNewNodes(t *testing.T) {
	const plugin = "TaintNodesByCondition"
	for name, test := range map[string]struct {
		opts    minikcm.Options
		enabled []string
	}{
		"as upstream":     {minikcm.Options{Nodes: minikcm.NodeOptions{Count: -1}}, []string{plugin}},
		"enabled by name": {minikcm.Options{Nodes: minikcm.NodeOptions{Count: -1}, Security: minikcm.SecurityOptions{EnableAdmissionPlugins: []string{plugin}}}, []string{plugin}},
		"disabled":        {minikcm.Options{Nodes: minikcm.NodeOptions{Count: -1}, Security: minikcm.SecurityOptions{DisableAdmissionPlugins: []string{plugin}}}, nil},
		"simulated nodes": {minikcm.Options{Nodes: minikcm.NodeOptions{Count: 2}}, nil},
	} {
		if taintNewNodes(&test.opts); !slices.Equal(test.opts.Security.EnableAdmissionPlugins, test.enabled) {
			t.Errorf("%s: %v are enabled, want %v", name, test.opts.Security.EnableAdmissionPlugins, test.enabled)
		}
	}
}

// freeAddress returns an address of this machine that was free.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestWritesFile(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct{ value, want, err string }{
		"unset":           {},
		"a file":          {value: filepath.Join(dir, "w.json"), want: filepath.Join(dir, "w.json")},
		"a folder":        {value: dir, want: filepath.Join(dir, fmt.Sprintf("kube-apiserver-6443-%d.json", os.Getpid()))},
		"no such folder":  {value: filepath.Join(dir, "no") + "/", err: "the folder does not exist"},
		"no parent":       {value: filepath.Join(dir, "no", "w.json"), err: "does not exist"},
		"neither of them": {value: os.DevNull, err: "must be a file or a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := writesFile(func(string) (string, bool) { return test.value, test.value != "" }, 6443)
			if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestPrograms runs both programs as envtest does, with a flag that has no effect.
func TestPrograms(t *testing.T) {
	t.Parallel()
	etcdURL, port := "http://"+freeAddress(t), strings.TrimPrefix(freeAddress(t), "127.0.0.1:")
	etcd := launch(t, t.TempDir(), "run-"+programEtcd, "--listen-client-urls", etcdURL, "--listen-peer-urls=http://127.0.0.1:0", "--data-dir", t.TempDir(), "--unsafe-no-fsync=true")
	if got := etcd.line(); got != "Serving "+etcdURL {
		t.Errorf("etcd prints %q", got)
	}
	writes := filepath.Join(t.TempDir(), "writes.json")
	server := launchWith(t, []string{"MINIKCM_WRITES=" + writes}, t.TempDir(), "run-"+programAPIServer, "--etcd-servers", etcdURL, "--secure-port", port, "--authorization-mode=RBAC", "--watch-cache=false")
	if want, got := "Serving https://127.0.0.1:"+port+" (seed ", server.line(); !strings.HasPrefix(got, want) {
		t.Errorf("kube-apiserver prints %q, want %q", got, want)
	}
	taken := launch(t, t.TempDir(), "run-"+programAPIServer, "--etcd-servers", etcdURL, "--secure-port", port)
	if code, _ := taken.end(); code != 1 || !strings.Contains(taken.stderr.String(), "is in use: choose another --secure-port") {
		t.Errorf("on a port in use it ends with %d: %s", code, taken.stderr.String())
	}
	server.stop()
	why := launch(t, t.TempDir(), "run", "why", "configmap/extension-apiserver-authentication", "-n", "kube-system", "--run", writes)
	if code, out := why.end(); code != 0 || !strings.Contains(out, "created") {
		t.Errorf("why ends with %d: %s%s", code, out, why.stderr.String())
	}
	if want := "kube-apiserver: --watch-cache has no effect: minikcm does not have what it configures\n"; server.stderr.String() != want {
		t.Errorf("stderr says %q, want %q", server.stderr.String(), want)
	}
	etcd.stop()
	if etcd.stderr.Len() > 0 {
		t.Errorf("etcd says %s", etcd.stderr.String())
	}
}

func TestSchedulerFlag(t *testing.T) {
	for arg, want := range map[string]bool{"--scheduler=false": true, "--scheduler": false} {
		var flags clusterFlags
		cmd := &cobra.Command{}
		flags.register(cmd)
		if err := cmd.ParseFlags([]string{arg}); err != nil {
			t.Fatal(err)
		}
		if opts, err := flags.options(); err != nil || opts.Controllers.NoScheduler != want {
			t.Errorf("%s: NoScheduler is %v, %v", arg, opts.Controllers.NoScheduler, err)
		}
	}
}
