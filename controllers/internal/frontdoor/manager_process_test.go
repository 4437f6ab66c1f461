package controllers_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/controllers"
	process "minikcm.dev/minikcm/internal/controllerprocess"
	"minikcm.dev/minikcm/minikcmtest"
)

// runningManager is a manager that runs in the test's process.
type runningManager struct {
	t     *testing.T
	lines *bufio.Scanner
	stop  context.CancelFunc
	ended chan error
}

// runManager starts a manager with these flags against the cluster.
func runManager(t *testing.T, c *minikcmtest.Cluster, flags ...string) *runningManager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, c.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := process.NewOptions()
	opts.Kubeconfig = path
	for _, name := range opts.Flags().Order {
		fs := opts.Flags().FlagSets[name]
		fs.ParseErrorsAllowlist.UnknownFlags = true
		if err := fs.Parse(flags); err != nil {
			t.Fatal(err)
		}
	}
	read, write := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // then says fails
	r := &runningManager{t: t, lines: bufio.NewScanner(read), stop: cancel, ended: make(chan error, 1)}
	go func() {
		err := process.Run(ctx, opts, false, write)
		_ = write.Close()
		r.ended <- err
	}()
	return r
}

// says waits until the manager has printed the text, and returns the whole line.
func (r *runningManager) says(text string) string {
	r.t.Helper()
	for r.lines.Scan() {
		if strings.Contains(r.lines.Text(), text) {
			return r.lines.Text()
		}
	}
	r.t.Fatalf("it ended with %v without having said %q", <-r.ended, text)
	return ""
}

// end stops the manager.
func (r *runningManager) end() {
	r.t.Helper()
	r.stop()
	for r.lines.Scan() { // the manager's writes to the pipe block until they are read
	}
	if err := <-r.ended; err != nil {
		r.t.Errorf("Run() = %v", err)
	}
}

// visitor is a client of a manager's HTTPS server.
type visitor struct {
	t     *testing.T
	base  string
	token string
	http  *http.Client
}

func newVisitor(t *testing.T, served, token string, certificates ...tls.Certificate) *visitor {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}
	t.Cleanup(transport.CloseIdleConnections)
	address := regexp.MustCompile(`https://\S+:\d+`).FindString(served)
	return &visitor{t: t, base: address, token: token, http: &http.Client{Transport: transport}}
}

func (v *visitor) get(path string) (int, string) {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.base+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	if v.token != "" {
		request.Header.Set("Authorization", "Bearer "+v.token)
	}
	response, err := v.http.Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func tokenOf(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	if _, err := client.CoreV1().ServiceAccounts("kube-system").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "visitor"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request, err := client.CoreV1().ServiceAccounts("kube-system").CreateToken(t.Context(), "visitor", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func createDeployment(t *testing.T, c *minikcmtest.Cluster) {
	t.Helper()
	replicas, labels := int32(3), map[string]string{"app": "web"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}},
		},
	}
	if _, err := c.Client().AppsV1().Deployments("default").Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the Deployment to be available", func(ctx context.Context, client kubernetes.Interface) error {
		d, err := client.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != replicas {
			err = fmt.Errorf("status %+v", d.Status)
		}
		return err
	})
}

func TestServing(t *testing.T) {
	c := minikcmtest.New(t, minikcmtest.WithHTTPS(), minikcmtest.WithControllers("-*"), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Security.AuthorizationModes = []string{"AlwaysAllow"} // the visitors have no roles
	}))
	m := runManager(t, c, "--bind-address=127.0.0.1", "--controllers=*,-cronjob", "--concurrent-deployment-syncs=3")
	served := m.says("Serving on")
	m.says("Running ")
	createDeployment(t, c)

	stranger := newVisitor(t, served, "")
	if code, body := stranger.get("/healthz?verbose"); code != http.StatusOK || !strings.Contains(body, "[+]deployment-controller ok\n") || strings.Contains(body, "cronjob") {
		t.Errorf("/healthz: %d\n%s", code, body)
	}
	if code, body := stranger.get("/livez/garbage-collector-controller"); code != http.StatusOK || body != "ok" {
		t.Errorf("/livez of a controller: %d\n%s", code, body)
	}
	for _, path := range []string{"/metrics", "/metrics/slis", "/configz", "/controllers", "/flagz", "/debug/controllers/garbage-collector-controller", "/debug/pprof/heap"} {
		if code, _ := stranger.get(path); code != http.StatusForbidden {
			t.Errorf("%s without credentials: %d, want 403", path, code)
		}
	}
	if code, _ := newVisitor(t, served, "nonsense").get("/metrics"); code != http.StatusUnauthorized {
		t.Errorf("/metrics with a wrong token: %d, want 401", code)
	}
	known := newVisitor(t, served, tokenOf(t, c.Client()))
	certificate, err := c.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate.CertData, certificate.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	certified := newVisitor(t, served, "", pair)
	// The manager reads the authority of client certificates from the cluster while it
	// already serves.
	for code := http.StatusForbidden; code == http.StatusForbidden; {
		code, _ = certified.get("/configz")
	}
	for credential, v := range map[string]*visitor{"token": known, "certificate": certified} {
		for path, want := range map[string]string{
			"/configz":                  `"ConcurrentDeploymentSyncs":3`,
			"/flagz":                    "concurrent-deployment-syncs[ =:]+3",
			"/statusz":                  "/controllers",
			"/metrics/slis":             `kubernetes_healthcheck{name="deployment-controller",type="healthz"} 1`,
			"/readyz?verbose":           `\[\+\]leaderElection ok`,
			"/debug/pprof/cmdline":      "test",
			"/debug/pprof/goroutine":    "",
			"/controllers":              `"state":"Running"`,
			"/debug/controllers/absent": "",
		} {
			code, body := v.get(path)
			status := http.StatusOK
			if path == "/debug/controllers/absent" {
				status = http.StatusNotFound
			}
			if code != status || !regexp.MustCompile(want).MatchString(body) {
				t.Errorf("%s by %s: %d, want %q in\n%.500s", path, credential, code, want, body)
			}
		}
	}
	_, metrics := known.get("/metrics")
	for _, want := range []string{
		`workqueue_adds_total{name="deployment-controller"} `, `workqueue_depth{name="replicaset-controller"} 0`,
		`workqueue_queue_duration_seconds_count{name="deployment-controller"} `, `workqueue_retries_total{name="deployment-controller"} `,
		`workqueue_work_duration_seconds_count{name="deployment-controller"} `, `workqueue_unfinished_work_seconds{name="deployment-controller"} `,
		`workqueue_longest_running_processor_seconds{name="deployment-controller"} `, `rest_client_request_duration_seconds_count{`,
		`running_managed_controllers{manager="kube-controller-manager",name="deployment-controller"} 1`,
		`rest_client_requests_total{code="201"`, `leader_election_master_status{name="kube-controller-manager"} 1`,
		`minikcm_controller_running{controller="deployment-controller"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
	if _, figures := known.get("/metrics/slis"); !strings.Contains(figures, `kubernetes_healthchecks_total{name="deployment-controller",status="success",type="readyz"} `) {
		t.Errorf("/metrics/slis does not count health checks:\n%s", figures)
	}
	if _, dot := known.get("/debug/controllers/garbage-collector-controller"); !regexp.MustCompile(`(?s)^strict digraph full \{.*"[-0-9a-f]+" \[label=.* kind="ReplicaSet" .*"[-0-9a-f]+" -> "[-0-9a-f]+";.*\}\n$`).MatchString(dot) {
		t.Errorf("the garbage collector's graph is\n%s", dot)
	}
	var all []controllers.Status
	_, body := known.get("/controllers")
	if err := json.NewDecoder(bytes.NewBufferString(body)).Decode(&all); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if want := controllers.Running; s.Name == "cronjob-controller" && s.State != controllers.Disabled || s.Name == "deployment-controller" && (s.State != want || s.Workers != 3 || s.Reconciles == 0) {
			t.Errorf("/controllers reports %+v", s)
		}
	}
	m.end()
}

// TestLeaderMigration checks that one process holds both leases and runs all controllers.
func TestLeaderMigration(t *testing.T) {
	c := minikcmtest.New(t, minikcmtest.WithHTTPS(), minikcmtest.WithControllers("-*"))
	config := filepath.Join(t.TempDir(), "migration.yaml")
	text := `apiVersion: controllermanager.config.k8s.io/v1
kind: LeaderMigrationConfiguration
leaderName: moving
controllerLeaders:
- {name: replicaset-controller, component: kube-controller-manager}
- {name: job-controller, component: other-manager}
`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m := runManager(t, c, "--secure-port=0", "--enable-leader-migration", "--leader-migration-config="+config)
	// One controller moves to this manager, and one to the other.
	ordinary := 0
	for _, d := range controllers.Descriptors() {
		if !d.DisabledByDefault && d.Gate == "" {
			ordinary++
		}
	}
	m.says(fmt.Sprintf("Running %d controllers ", ordinary-2))
	m.says("Running 1 controller ")
	createDeployment(t, c)
	for _, name := range []string{"kube-controller-manager", "moving"} {
		lease, err := c.Client().CoordinationV1().Leases("kube-system").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || *lease.Spec.HolderIdentity == "" {
			t.Errorf("lease %s: %+v, %v", name, lease.Spec, err)
		}
	}
	m.end()
}

// TestOwnAccounts checks that each controller writes as its own service account.
func TestOwnAccounts(t *testing.T) {
	c := minikcmtest.New(t, minikcmtest.WithHTTPS(), minikcmtest.WithControllers("-*"))
	m := runManager(t, c, "--secure-port=0", "--leader-elect=false", "--use-service-account-credentials")
	m.says("Running ")
	createDeployment(t, c)
	m.end()
	writers := map[string]string{}
	for _, w := range c.Writes().Writes(nil) {
		if w.Verb == "create" && w.Subresource == "" {
			writers[w.Resource.Resource] = w.Actor + " with " + w.UserAgent
		}
	}
	for resource, want := range map[string]string{
		"replicasets": "system:serviceaccount:kube-system:deployment-controller with minikcm/deployment-controller",
		"pods":        "system:serviceaccount:kube-system:replicaset-controller with minikcm/replicaset-controller",
	} {
		if writers[resource] != want {
			t.Errorf("%s were created by %q, want %q", resource, writers[resource], want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(o *process.Options)
		want   string
	}{
		"controller": {func(o *process.Options) { o.Generic.Controllers = []string{"nmespace"} }, `"nmespace" is not a controller`},
		"port":       {func(o *process.Options) { o.Serving.Port = 70000 }, "--secure-port=70000"},
		"address":    {func(o *process.Options) { o.Serving.BindAddress = "here" }, "--bind-address=here"},
		"key":        {func(o *process.Options) { o.Serving.CertFile = "a.pem" }, "belong together"},
		"lock":       {func(o *process.Options) { o.Generic.LeaderElection.ResourceLock = "endpoints" }, `must be "leases"`},
		"cipher":     {func(o *process.Options) { o.Serving.CipherSuites = []string{"ROT13"} }, "--tls-cipher-suites"},
		"kubeconfig": {func(o *process.Options) { o.Kubeconfig = "/does/not/exist" }, "reading the kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := process.NewOptions()
			tt.change(opts)
			if err := process.Run(t.Context(), opts, false, io.Discard); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Run() = %v, want %q", err, tt.want)
			}
		})
	}
}
