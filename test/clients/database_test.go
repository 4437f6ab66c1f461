package clients

import (
	"bytes"
	"encoding/base64"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
)

// databaseOperator is the operator of Databases on a cluster of its own, and what it needs to
// run: the port and the certificate of its webhooks.
type databaseOperator struct {
	*cluster
	port, certs string
}

// installDatabases starts a cluster and applies the operator's manifests, which name the
// webhooks by a URL.
func installDatabases(t *testing.T) *databaseOperator {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	o := &databaseOperator{cluster: startCluster(t), port: port, certs: t.TempDir()}
	cert, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(o.certs, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"rbac", "crd", "webhooks"} {
		content, err := os.ReadFile("testdata/database/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		manifest := strings.NewReplacer("WEBHOOKS", "https://127.0.0.1:"+port, "CABUNDLE", base64.StdEncoding.EncodeToString(cert)).Replace(string(content))
		o.must(manifest, kubectlBinary.path(t), "apply", "-f", "-")
	}
	o.kubectl("wait", "crd/databases.data.clients.example.com", "--for=condition=Established", "--timeout=2m")
	return o
}

// command returns the operator's command line.
func (o *databaseOperator) command() []string {
	return []string{databaseOperatorBinary.path(o.t), "--webhook-port", o.port, "--webhook-cert-dir", o.certs}
}

// kubeconfigOfAccount writes a kubeconfig with a token of the operator's service account.
func (o *databaseOperator) kubeconfigOfAccount() string {
	o.t.Helper()
	config, err := clientcmd.LoadFromFile(o.kubeconfig)
	if err != nil {
		o.t.Fatal(err)
	}
	token := strings.TrimSpace(o.kubectl("create", "token", "operator", "-n", "database-system"))
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	}
	path := filepath.Join(o.t.TempDir(), "operator.kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		o.t.Fatal(err)
	}
	return path
}

// serving is the line that the operator logs once its webhooks accept connections.
const serving = "Serving webhook server"

const oldDatabase = `
apiVersion: data.clients.example.com/v1alpha1
kind: Database
metadata: {name: NAME}
spec: {sizeGiB: SIZE}
`

func oldVersion(name string, size int) string {
	return strings.NewReplacer("NAME", name, "SIZE", strconv.Itoa(size)).Replace(oldDatabase)
}

// TestDatabaseOperator runs an operator with a defaulting, a validating and a conversion webhook
// as its service account.
func TestDatabaseOperator(t *testing.T) {
	t.Parallel()
	o := installDatabases(t)
	kubectl := kubectlBinary.path(t)
	running := startProcess(t, nil, append(o.command(), "--kubeconfig", o.kubeconfigOfAccount())...)
	running.wantLog(serving)

	o.must(oldVersion("orders", 10), kubectl, "apply", "-f", "-")
	o.kubectl("wait", "db/orders", "--for=jsonpath={.status.address}=orders.default.svc", "--timeout=2m")
	if got := o.kubectl("get", "databases.v1.data.clients.example.com", "orders", "-o", "jsonpath={.spec.engine} {.spec.size}"); got != "postgres 10Gi" {
		t.Errorf("in v1: %s", got)
	}
	if got := o.kubectl("get", "databases.v1alpha1.data.clients.example.com", "orders", "-o", "jsonpath={.spec.engine} {.spec.sizeGiB} {.status.address}"); got != "postgres 10 orders.default.svc" {
		t.Errorf("in v1alpha1: %s", got)
	}
	if got := o.kubectl("get", "cm", "orders", "-o", "jsonpath={.data.size} {.metadata.ownerReferences[0].kind}"); got != "10Gi Database" {
		t.Errorf("the settings: %s", got)
	}
	for name, test := range map[string]struct{ manifest, want string }{
		"too large": {
			oldVersion("huge", 2000),
			`Error from server (Forbidden): error when creating "STDIN": admission webhook "vdatabase.data.clients.example.com" denied the request: spec.size: 2000Gi is larger than 1Ti`,
		},
		"smaller": {
			oldVersion("orders", 5),
			`admission webhook "vdatabase.data.clients.example.com" denied the request: spec.size: 5Gi is smaller than 10Gi, the size before`,
		},
	} {
		if got := o.run(test.manifest, kubectl, "apply", "-f", "-"); got.code != 1 || !strings.Contains(got.err, test.want) {
			t.Errorf("%s: exit code %d: %s", name, got.code, got.err)
		}
	}

	// The operator may no longer create ConfigMaps.
	o.kubectl("patch", "clusterrole", "database-operator", "--type=json", "-p", `[{"op":"replace","path":"/rules/2/verbs","value":["get","list","watch","update"]}]`)
	o.must(oldVersion("users", 1), kubectl, "apply", "-f", "-")
	o.kubectl("wait", "db/users", "--for=jsonpath={.spec.engine}=postgres", "--timeout=2m")
	running.wantLog(`writing the settings: configmaps is forbidden: User \"system:serviceaccount:database-system:operator\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"default\"`)
	o.kubectl("patch", "clusterrole", "database-operator", "--type=json", "-p", `[{"op":"replace","path":"/rules/2/verbs","value":["get","list","watch","create","update"]}]`)
	o.kubectl("wait", "db/users", "--for=jsonpath={.status.address}=users.default.svc", "--timeout=2m")
	running.stop(syscall.SIGTERM)
	if code := running.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the operator ended with %d", code)
	}
}

// TestRecordDatabaseOperator records what the operator asks for, gives its account the printed
// role, and takes its own away.
func TestRecordDatabaseOperator(t *testing.T) {
	t.Parallel()
	o := installDatabases(t)
	kubectl := kubectlBinary.path(t)
	record := []string{minikcmBinary.path(t), "rbac", "record", "--kubeconfig", o.kubeconfig, "--serviceaccount", "database-system/operator", "--"}
	var roles bytes.Buffer
	recorded := startProcess(t, &roles, append(record, o.command()...)...)
	recorded.wantLog(serving)
	o.must(oldVersion("orders", 10), kubectl, "apply", "-f", "-")
	o.kubectl("wait", "db/orders", "--for=jsonpath={.status.address}=orders.default.svc", "--timeout=2m")
	o.kubectl("patch", "db/orders", "--type=merge", "-p", `{"spec":{"size":"20Gi"}}`)
	o.kubectl("wait", "cm/orders", "--for=jsonpath={.data.size}=20Gi", "--timeout=2m")
	recorded.stop(syscall.SIGTERM)
	if code := recorded.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	t.Logf("%s", roles.String())
	for _, want := range []string{"  - databases/status\n  verbs:\n  - update\n", "  - configmaps\n  verbs:\n  - list\n  - watch\n  - create\n  - update\n", "#     get secrets\n"} {
		if !strings.Contains(roles.String(), want) {
			t.Errorf("it does not print %q", want)
		}
	}

	o.kubectl("delete", "clusterrole,clusterrolebinding", "database-operator")
	o.must(roles.String(), kubectl, "apply", "-f", "-")
	o.kubectl("create", "clusterrolebinding", "recorded", "--clusterrole=operator", "--serviceaccount=database-system:operator")
	running := startProcess(t, nil, append(o.command(), "--kubeconfig", o.kubeconfigOfAccount())...)
	running.wantLog(serving)
	o.must(oldVersion("users", 1), kubectl, "apply", "-f", "-")
	o.kubectl("wait", "db/users", "--for=jsonpath={.status.address}=users.default.svc", "--timeout=2m")
	running.stop(syscall.SIGTERM)
}
