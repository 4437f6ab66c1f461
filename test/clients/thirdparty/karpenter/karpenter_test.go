package thirdparty

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"minikcm.dev/minikcm/client"
)

const nodePool = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
      - {key: kubernetes.io/os, operator: In, values: [linux]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  limits: {cpu: 1000}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 1s}
`

const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: web, image: nginx, resources: {requests: {cpu: "2"}}}]
`

// TestKarpenter lets Karpenter's kwok provider create the nodes of a cluster that has none, and
// remove them when their pods are gone.
func TestKarpenter(t *testing.T) {
	mk := client.Start(t, client.Nodes(0), client.RealClock(), client.Seed(1))
	c := &kubectl{t: t, kubeconfig: mk.Kubeconfig}
	source := strings.TrimSpace(command(t, "", "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/karpenter"))
	c.run("", "apply", "-f", filepath.Join(source, "pkg/apis/crds"), "-f", filepath.Join(source, "kwok/apis/crds"))
	karpenter := filepath.Join(t.TempDir(), "karpenter")
	command(t, "", "go", "build", "-o", karpenter, "sigs.k8s.io/karpenter/kwok")
	c.start(karpenter, "--metrics-port=0", "--health-probe-port=0", "--disable-leader-election=true", "--batch-idle-duration=100ms")

	c.run(nodePool, "apply", "-f", "-")
	c.run("", "wait", "--for=condition=Ready", "nodepool/default", "--timeout=1m")
	c.run(workload, "apply", "-f", "-")
	c.run("", "rollout", "status", "deployment/web", "--timeout=2m")
	nodes := c.run("", "get", "nodes", "-l", "karpenter.sh/nodepool=default", "-o", "name")
	if nodes == "" || c.run("", "get", "nodes", "-o", "name") != nodes {
		t.Errorf("Karpenter's nodes are %q", nodes)
	}
	c.run("", "scale", "deployment/web", "--replicas=0")
	c.run("", "wait", "--for=delete", "nodes", "-l", "karpenter.sh/nodepool=default", "--timeout=2m")
	if left := c.run("", "get", "nodes,nodeclaims", "-o", "name"); left != "" {
		t.Errorf("left: %s", left)
	}
}

// kubectl is minikcm's own, for one cluster.
type kubectl struct {
	t          *testing.T
	kubeconfig string
}

func (c *kubectl) run(stdin string, args ...string) string {
	c.t.Helper()
	binary := os.Getenv("MINIKCM")
	if binary == "" {
		binary = "minikcm"
	}
	return command(c.t, stdin, binary, append([]string{"kubectl", "--kubeconfig", c.kubeconfig}, args...)...)
}

// start runs a program beside the cluster until the test ends.
func (c *kubectl) start(program string, args ...string) {
	c.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "SYSTEM_NAMESPACE=kube-system")
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); c.t.Failed() {
			c.t.Logf("%s: %v\n%s", filepath.Base(program), err, out)
		}
	})
}

// command runs a command and returns its standard output.
func command(t *testing.T, stdin, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(name), strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String()
}

// output keeps what a program prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
