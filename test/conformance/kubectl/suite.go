package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// parts are the parts of k8s.io/kubernetes that the scripts need.
var parts = []string{"hack", "test/cmd", "test/fixtures", "test/e2e/testing-manifests", "third_party/forked/shell2junit"}

// stopTime bounds the cleanup of the scripts when they are interrupted.
const stopTime = 20 * time.Second

// suite is a copy of the scripts with the programs that they run.
type suite struct {
	root    string // the copy of k8s.io/kubernetes
	minikcm string
	port    int
	groups  []string
	log     io.Writer
}

// prepare copies the scripts and builds kubectl.
func (s *suite) prepare(ctx context.Context) error {
	source, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		return fmt.Errorf("finding k8s.io/kubernetes: %w", err)
	}
	for _, part := range parts {
		if err := copyTree(filepath.Join(strings.TrimSpace(string(source)), part), filepath.Join(s.root, part)); err != nil {
			return fmt.Errorf("copying the scripts: %w", err)
		}
	}
	version, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").Output()
	if err != nil {
		return fmt.Errorf("finding the version of k8s.io/kubernetes: %w", err)
	}
	const variable = "-X k8s.io/component-base/version.gitVersion="
	for _, program := range []string{"kubectl", "kubectl-convert"} {
		build := exec.CommandContext(ctx, "go", "build", "-ldflags", variable+strings.TrimSpace(string(version)), "-o", filepath.Join(s.root, "bin", program), "k8s.io/kubernetes/cmd/"+program)
		build.Stderr = s.log
		if err := build.Run(); err != nil {
			return fmt.Errorf("building %s: %w", program, err)
		}
	}
	return os.WriteFile(filepath.Join(s.root, "run.sh"), []byte(driver), 0o700)
}

// copyTree copies the files of a folder, which may then be written.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		case !entry.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o700) // a module does not keep what may be executed
	})
}

// run runs the scripts; their output is the log's. An error of theirs is only known from the
// output.
func (s *suite) run(ctx context.Context) error {
	script := exec.CommandContext(ctx, "bash", "run.sh")
	script.Dir = s.root
	script.Env = append(os.Environ(), "MINIKCM="+s.minikcm, fmt.Sprintf("SECURE_API_PORT=%d", s.port), "WHAT="+strings.Join(s.groups, " "), "KUBECONFIG=", "TERM=xterm")
	script.Stdout, script.Stderr = s.log, s.log
	script.Cancel = func() error { return script.Process.Signal(syscall.SIGTERM) }
	script.WaitDelay = stopTime
	err := script.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		return nil
	}
	return err
}

// driver starts a cluster with the settings that upstream starts its own with
// (hack/make-rules/test-cmd.sh), and runs the groups. Its processes run no containers, as
// upstream's, which has no kubelet.
const driver = `
set -o errexit -o nounset -o pipefail
export KUBE_ROOT=$PWD THIS_PLATFORM_BIN=$PWD/bin KUBE_TEMP=$PWD/temp TMPDIR=$PWD/temp KUBE_JUNIT_REPORT_DIR=$PWD/junit ALLOW_SKEW=1 SUPPORTED_RESOURCES='*'
export HOME=$KUBE_TEMP
mkdir -p "$KUBE_TEMP" "$KUBE_JUNIT_REPORT_DIR"
source hack/lib/logging.sh
source hack/lib/util.sh
source hack/lib/test.sh
source test/cmd/legacy-script.sh
kube::util::ensure-gnu-sed
"$MINIKCM" up --kubeconfig "$KUBE_TEMP/kubeconfig" --port "$SECURE_API_PORT" --nodes 0 --manage-all-nodes=false --service-cluster-ip-range 10.0.0.0/24 \
	--authorization-mode RBAC,AlwaysAllow --token-auth-file hack/testdata/auth-tokens.csv --client-ca-file hack/testdata/ca/ca.crt \
	--disable-admission-plugins ServiceAccount,DefaultStorageClass,DefaultTolerationSeconds,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,StorageObjectInUseProtection \
	> "$KUBE_TEMP/cluster.log" 2>&1 &
cluster=$!
trap 'kill $cluster; wait $cluster' EXIT
until curl -ks -o "$KUBE_TEMP/ready" "https://127.0.0.1:$SECURE_API_PORT/readyz"; do
	kill -0 $cluster || { cat "$KUBE_TEMP/cluster.log"; exit 1; }
	sleep 0.1
done
cp hack/testdata/ca/ca.crt "$KUBE_TEMP/apiserver.crt"
CONTEXT=test
kubectl config set-credentials test-admin --token admin-token
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:$SECURE_API_PORT"
kubectl config set-context "$CONTEXT" --user test-admin --cluster local
kubectl config use-context "$CONTEXT"
kubectl create -f - <<-END
	{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "127.0.0.1", "annotations": {"save-managers": "true"}}, "status": {"capacity": {"memory": "1Gi"}}}
END
runTests
`
