package clients

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// assets returns a folder that "minikcm envtest" has prepared.
func assets(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "k8s")
	out, err := exec.CommandContext(t.Context(), minikcmBinary.path(t), "envtest", "--dir", dir).CombinedOutput()
	if err != nil || string(out) != "export KUBEBUILDER_ASSETS="+dir+"\n" {
		t.Fatalf("minikcm envtest: %v\n%s", err, out)
	}
	return dir
}

// startEnvironment starts an envtest.Environment whose programs are minikcm.
func startEnvironment(t testing.TB, env *envtest.Environment) *rest.Config {
	t.Helper()
	var log strings.Builder
	env.ControlPlane.GetAPIServer().Err = &log
	if env.BinaryAssetsDirectory == "" {
		env.BinaryAssetsDirectory = assets(t)
	}
	cfg, err := env.Start()
	if err != nil {
		t.Fatalf("starting: %v\n%s", err, log.String())
	}
	return cfg
}

// TestEnvironment runs a manager in an envtest.Environment with minikcm's programs: resources
// are defined, a controller reconciles, added users have the permissions of their groups, and
// Stop ends both programs.
func TestEnvironment(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	env := &envtest.Environment{CRDDirectoryPaths: []string{"testdata/crds"}, ErrorIfCRDPathMissing: true}
	cfg := startEnvironment(t, env)
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan reconcile.Request, 10)
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.Pod{}).Complete(reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
		seen <- r
		return reconcile.Result{}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(running) }()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}
	if err := mgr.GetClient().Create(ctx, pod); err != nil {
		t.Fatal(err)
	}
	if r := <-seen; r.Name != "a" {
		t.Errorf("reconciled %v", r)
	}
	wantUsers(ctx, t, env)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	wantNothingElse(ctx, t, cfg)
	if err := env.Stop(); err != nil {
		t.Error(err)
	}
	dead, err := client.New(rest.CopyConfig(cfg), client.Options{})
	if unreachable := (*url.Error)(nil); !errors.As(err, &unreachable) && err == nil {
		if err = dead.Get(ctx, client.ObjectKeyFromObject(pod), pod); !errors.As(err, &unreachable) {
			t.Errorf("after Stop: %v", err)
		}
	}
}

// wantUsers adds users to the environment.
func wantUsers(ctx context.Context, t *testing.T, env *envtest.Environment) {
	t.Helper()
	admin, err := env.AddUser(envtest.User{Name: "boss", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubectl, err := admin.Kubectl()
	if err != nil {
		t.Fatal(err)
	}
	out, errOut, err := kubectl.Run("get", "pods", "-o", "name")
	if text := readAll(t, out); err != nil || text != "pod/a\n" {
		t.Errorf("kubectl: %v %s%s", err, text, readAll(t, errOut))
	}
	guest, err := env.AddUser(envtest.User{Name: "guest"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	k, err := client.New(guest.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.List(ctx, &corev1.PodList{}); !apierrors.IsForbidden(err) {
		t.Errorf("a guest lists pods: %v", err)
	}
}

// wantNothingElse checks that no controller, scheduler or node runs.
func wantNothingElse(ctx context.Context, t *testing.T, cfg *rest.Config) {
	t.Helper()
	k, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	accounts, nodes, pod := &corev1.ServiceAccountList{}, &corev1.NodeList{}, &corev1.Pod{}
	if err := errors.Join(k.List(ctx, accounts), k.List(ctx, nodes), k.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, pod)); err != nil {
		t.Fatal(err)
	}
	if len(accounts.Items) > 0 || len(nodes.Items) > 0 || pod.Spec.NodeName != "" || pod.Spec.ServiceAccountName != "" {
		t.Errorf("there are %d accounts and %d nodes, and the pod is on %q with the account %q", len(accounts.Items), len(nodes.Items), pod.Spec.NodeName, pod.Spec.ServiceAccountName)
	}
}

// TestEnvironments runs many environments at once.
func TestEnvironments(t *testing.T) {
	const many = 10
	dir := assets(t)
	failures := make(chan error, many)
	for range many {
		go func() {
			env := &envtest.Environment{BinaryAssetsDirectory: dir, CRDDirectoryPaths: []string{"testdata/crds"}}
			_, err := env.Start()
			failures <- errors.Join(err, env.Stop())
		}()
	}
	for range many {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
}

// TestEnvtestSuite runs the test suite of an operator that contains nothing specific to minikcm,
// with KUBEBUILDER_ASSETS set.
func TestEnvtestSuite(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, websiteSuite.path(t), "-test.v")
	cmd.Dir, cmd.Env = "website", append(os.Environ(), "KUBEBUILDER_ASSETS="+assets(t), "MINIKCM_CONTROLLERS=*", "MINIKCM_NODES=1", "MINIKCM_SEED=1")
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestWebsite") {
		t.Errorf("the operator's test: %v\n%s", err, out)
	}
	t.Logf("in %v: %s", time.Since(began), out)
}

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
