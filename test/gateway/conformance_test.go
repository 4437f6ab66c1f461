package gateway

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
)

// class is a GatewayClass of the simulated data plane.
const class = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: simulated}
spec: {controllerName: minikcm.dev/simulated}
`

// TestConformance runs the suite with the features that the GatewayClass declares. The suite's own flags come after -args: -run-test=NAME
// runs one test, -all-features those of all features, which fail where a feature is missing.
func TestConformance(t *testing.T) {
	cluster := start(t)
	cluster.kubectl(t, "", "apply", "--server-side", "-f", definitions(t))
	cluster.kubectl(t, "", "wait", "--for=condition=Established", "customresourcedefinitions", "--all")
	cluster.kubectl(t, "", "apply", "-f", "images")
	cluster.kubectl(t, class, "apply", "-f", "-")
	cluster.kubectl(t, "", "wait", "--for=condition=Accepted", "gatewayclass/simulated")

	t.Setenv("KUBECONFIG", cluster.kubeconfig)
	opts := conformance.DefaultOptions(t)
	opts.GatewayClassName, opts.CleanupBaseResources = "simulated", false
	if len(opts.ConformanceProfiles) == 0 {
		opts.ConformanceProfiles = []suite.ConformanceProfileName{suite.GatewayHTTPConformanceProfileName}
	}
	all, err := suite.NewConformanceTestSuite(opts)
	if err != nil {
		t.Fatal(err)
	}
	results := map[string][]string{}
	t.Cleanup(func() { // when the parallel tests have ended, too
		for _, result := range []string{"failed", "not run"} {
			slices.Sort(results[result])
			t.Logf("%s: %s", result, strings.Join(results[result], " "))
		}
		passed, failed := len(results["passed"]), len(results["failed"])
		t.Logf("%d of %d tests passed, %d were not run", passed, passed+failed, len(results["not run"]))
	})
	var mu sync.Mutex
	all.Hook = func(t *testing.T, test suite.ConformanceTest, _ *suite.ConformanceTestSuite) {
		result := "passed"
		switch {
		case t.Failed():
			result = "failed"
		case t.Skipped():
			result = "not run"
		}
		mu.Lock()
		defer mu.Unlock()
		results[result] = append(results[result], test.ShortName)
	}
	all.Setup(t, tests.ConformanceTests)
	if err := all.Run(t, tests.ConformanceTests); err != nil {
		t.Error(err)
	}
}

// definitions returns the folder with the definitions of the suite's version.
func definitions(t *testing.T) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "standard")
}

// cluster is a minikcm process.
type cluster struct{ minikcm, kubeconfig string }

// start starts a cluster whose load balancers have addresses of this machine, until the test ends.
func start(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{minikcm: os.Getenv("MINIKCM"), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if c.minikcm == "" {
		c.minikcm = filepath.Join(t.TempDir(), "minikcm")
		build := exec.Command("go", "build", "-o", c.minikcm, "./cmd/minikcm")
		build.Dir = filepath.Join("..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building minikcm: %v\n%s", err, out)
		}
	}
	cmd := exec.Command(c.minikcm, "up", "--publish", "--kubeconfig", c.kubeconfig)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	// It prints the kubeconfig once it serves requests.
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("minikcm did not start: %v %q", err, line)
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return c
}

// kubectl runs a command of kubectl with an input.
func (c *cluster) kubectl(t *testing.T, input string, args ...string) {
	t.Helper()
	cmd := exec.Command(c.minikcm, append([]string{"kubectl", "--kubeconfig", c.kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
